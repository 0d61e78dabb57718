"""A PostgreSQL server of our own, for tests and benches."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

PASSWORD = "not-a-secret"
_SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "postgresql.sh"
_START_S = 30.0


class NoPostgreSQL(Exception):
    """There are no programs to start it with; the message says what to install."""


class PostgreSQLServer:
    """A server in a folder of its own, reached through a Unix socket there with `url` and the password `PASSWORD`.

    PostgreSQL refuses to run as root, so root starts it as the user `postgres` or `nobody`.
    """

    def __init__(self) -> None:
        self._bin = _programs()
        self._user = _user()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="headgate-pg-"))  # a short name: it is part of the socket's
        self.url = f"postgresql://headgate@/postgres?host={self._folder}"
        try:
            if self._user is not None:
                shutil.chown(self._folder, self._user)
            self._initialize()
            self.start()
        except BaseException:
            self.remove()
            raise

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {
            "unix_socket_directories": self._folder,
            "listen_addresses": "",
            "fsync": "off",
            "shared_buffers": "16MB",
        }
        said = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        with (self._folder / "log").open("ab") as log:
            command = [str(self._bin / "postgres"), "-D", str(self._folder / "data"), *said]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, user=self._user, cwd="/")
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self, at_once: bool = False) -> None:
        """Stop it: connections are cut, and with `at_once` it has no time to tidy up either."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
            self._process.wait()
            self._process = None

    def remove(self) -> None:
        """Stop it, and remove its folder."""
        self.stop(at_once=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, password=PASSWORD).close()
        except psycopg.OperationalError:
            return False
        return True

    def _initialize(self) -> None:
        words = self._folder / "password"
        words.write_text(PASSWORD)
        if self._user is not None:
            shutil.chown(words, self._user)
        said = ["--username=headgate", "--auth=scram-sha-256", f"--pwfile={words}", "--no-sync", "--encoding=UTF8"]
        command = [str(self._bin / "initdb"), "-D", str(self._folder / "data"), *said, "--locale=C.UTF-8"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, user=self._user, cwd="/")
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stderr[-2000:]}")


def _programs() -> Path:
    found = subprocess.run([_SCRIPT, "--find"], capture_output=True, text=True, check=False)
    if found.returncode:
        raise NoPostgreSQL(found.stderr.strip())
    return Path(found.stdout.strip())


def _user() -> str | None:
    """The user to start it as; None: this one."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"
