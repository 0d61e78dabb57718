"""The server's SQLite file: what was registered, tokens, and the audit trail. Any thread may use it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headgate.errors import ApplicationError

VERSION = 2  # of the tables; a file of a newer version is refused
_TABLES = """
CREATE TABLE sections (
    key TEXT NOT NULL, name TEXT NOT NULL, section TEXT NOT NULL, started INTEGER NOT NULL DEFAULT 1,
    since REAL NOT NULL DEFAULT 0, PRIMARY KEY (key, name)
);
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE tokens (name TEXT PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, created TEXT NOT NULL);
CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL,
    outcome TEXT NOT NULL
);
"""
_FROM_1 = "ALTER TABLE sections ADD COLUMN since REAL NOT NULL DEFAULT 0"


class Database:
    """One connection, used by one thread at a time. Each statement is durable once it returns."""

    def __init__(self, path: Path) -> None:
        """Opens the file, or makes it, readable by its owner alone. ApplicationError: it is not ours, or not usable."""
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._set_up(path)
        except (OSError, sqlite3.Error) as error:
            remedy = "name another folder with --data"
            raise ApplicationError(str(path), f"cannot be used as the server's database: {error}", remedy) from error

    def _set_up(self, path: Path) -> None:
        connection = self._connection
        connection.execute("PRAGMA journal_mode = WAL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        elif version == 1:
            connection.executescript(f"BEGIN; {_FROM_1}; PRAGMA user_version = {VERSION}; COMMIT;")
        elif version != VERSION:
            problem = f"the database has version {version}, and this server knows version {VERSION}"
            raise ApplicationError(str(path), problem, "use the Headgate that wrote it, or another folder with --data")

    def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; returns how many rows it changed."""
        with self._lock:
            return self._connection.execute(statement, values).rowcount

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that a query finds."""
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


@contextmanager
def open_database(folder: Path) -> Iterator[Database]:
    """The database in the server's folder, closed at the end of the block."""
    database = Database(folder / "headgate.db")
    try:
        yield database
    finally:
        database.close()
