"""The tables of a run that are read again while it goes on."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from headgate.connect.sources import read_table
from headgate.errors import ApplicationError
from headgate.plan.model import Table
from headgate.runtime.spark.calls.spread_tables import SpreadTables
from headgate.runtime.spark.calls.table_versions import TableVersions
from headgate.runtime.spark.internals.leaf import Leaf

log = logging.getLogger("headgate.spark")
Stamps = tuple[tuple[int, int], ...]


class ChangingTables:
    """All tables of a run that are read again, and the places in Spark where their rows are."""

    def __init__(self, spread: SpreadTables) -> None:
        self._spread = spread
        self._tables: dict[str, tuple[ChangingTable, Leaf | None]] = {}
        self.on_add: Callable[[], None] = lambda: None  # called when there is another one

    def add(self, table: ChangingTable, leaf: Leaf | None) -> None:
        """Another one; its leaf is what prepared plans read. Without one, it keeps its first rows."""
        if leaf is None:
            log.error("table %s is not read again: its rows cannot be replaced on this Spark", table.name)
        self._tables[table.name] = (table, leaf)
        self.on_add()

    def all(self) -> list[ChangingTable]:
        """Those whose rows can be replaced."""
        return [table for table, leaf in list(self._tables.values()) if leaf is not None]

    def frames(self) -> dict[str, DataFrame]:
        """The same, in one partition."""
        return {name: leaf.frame for name, (_, leaf) in list(self._tables.items()) if leaf is not None}

    def send(self, table: ChangingTable, versions: TableVersions) -> Callable[[], None]:
        """Get rows ready, which takes long with many. What is returned puts them in the place of those before; a call
        in flight may find either: both have what its tuples need."""
        found, leaf = self._tables.get(table.name, (None, None))
        if found is not table or leaf is None:  # it was removed meanwhile
            return lambda: None
        sent = leaf.sent(versions.content())

        def put() -> None:
            table.versions = versions
            leaf.hold(sent)
            self._spread.replace(table.name, sent.table)

        return put

    def newest(self, name: str) -> pa.Table | None:
        """The rows for tuples that arrive now. None: it does not change."""
        found = self._tables.get(name)
        return None if found is None else found[0].versions.newest

    def forget(self, name: str) -> None:
        """A table was removed, if it is one of these."""
        self._tables.pop(name, None)


class ChangingTable:
    """A table whose file is read again when it has changed. ApplicationError: it cannot be read the first time."""

    def __init__(self, table: Table, folder: Path) -> None:
        assert table.reload_s is not None
        self.name = table.name
        self.every_s = table.reload_s
        self._table = table
        self._folder = folder
        self._stamps = self._look()  # before it is read, so that no change goes unnoticed
        self.versions = TableVersions.first(read_table(table, folder))

    def read_again(self) -> pa.Table | None:
        """The rows, if they have changed. None: they have not, or they cannot be read, which is logged."""
        stamps = self._look()
        if stamps == self._stamps:
            return None
        try:
            rows = read_table(self._table, self._folder)
        except (ApplicationError, OSError, pa.ArrowException) as error:
            self._stamps = stamps  # said once for each change
            log.error("table %s keeps its rows, it cannot be read again: %s", self.name, error)
            return None
        if self._look() != stamps:
            return None  # it is being written; the next look finds it whole
        self._stamps = stamps
        return None if rows.equals(self.versions.newest) else rows

    def _look(self) -> Stamps:
        """What tells whether the file is another one; nothing if it is not there."""
        try:
            found = [os.stat(self._folder / file) for file in getattr(self._table.connector, "files", ())]
        except OSError:
            return ()
        return tuple((one.st_size, one.st_mtime_ns) for one in found)
