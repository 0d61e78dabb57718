"""Reads tables again at their intervals, and replaces their rows for the tuples that arrive from then on."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Collection

import pyarrow as pa

from headgate.runtime.spark.calls.changing_tables import ChangingTable, ChangingTables
from headgate.scheduling.core import Core

log = logging.getLogger("headgate.spark")
_AHEAD_S = 0.05  # how long before a version counts it should be in place; doubled if that was too short
_MANY = 100  # versions of one table that are worth a warning


class TableReloads:
    """The thread that reads tables again; it runs while a table of the run asks for it.

    `changed` guards the core. A version counts for tuples that arrive at some time or later, and it is in place before
    any of them is delivered: it is put there under the lock, before that time.
    """

    def __init__(
        self, changing: ChangingTables, core: Core, changed: threading.Condition, now: Callable[[], float]
    ) -> None:
        self._changing = changing
        self._core = core
        self._changed = changed
        self._now = now
        self._complete: dict[str, float] = {}  # stream -> up to when all of its tuples were delivered
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        changing.on_add = self._start
        self._start()

    def _start(self) -> None:
        """Begin, if there is a table to read again."""
        if self._changing.all() and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="headgate-tables", daemon=True)
            self._thread.start()

    def delivered(self, complete: Collection[str], upto: float) -> None:
        """All tuples of these streams up to a time have been delivered; called under the lock."""
        self._complete.update(dict.fromkeys(complete, upto))

    def close(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        due: dict[str, float] = {}
        while not self._stopping.wait(self._rest_s(due)):
            now = self._now()
            for table in self._changing.all():
                if now >= due.setdefault(table.name, now + table.every_s):
                    due[table.name] = now + table.every_s
                    try:
                        self.look_at(table)
                    except Exception:
                        log.exception("table %s keeps its rows, reading it again failed", table.name)

    def _rest_s(self, due: dict[str, float]) -> float:
        left = [due.get(table.name, 0.0) - self._now() for table in self._changing.all()]
        return max(0.001, min(left, default=1.0))

    def look_at(self, table: ChangingTable) -> None:
        """Read a table again if it has changed, and forget versions that nothing needs any more."""
        rows = table.read_again()
        if rows is not None:
            self._put(table, rows)

    def _put(self, table: ChangingTable, rows: pa.Table) -> None:
        ahead_s = _AHEAD_S
        while True:
            since_us = round((self._now() + ahead_s) * 1e6)
            versions = table.versions.from_on(self._oldest_us()).followed_by(rows, since_us)
            put = self._changing.send(table, versions)
            with self._changed:
                if round(self._now() * 1e6) < since_us:
                    put()
                    break
            ahead_s *= 2
        log.info("table %s has %d rows for tuples from %.6f s on", table.name, rows.num_rows, since_us / 1e6)
        if len(versions) > _MANY:
            log.warning("table %s keeps %d versions, because tuples wait for older ones", table.name, len(versions))

    def _oldest_us(self) -> int:
        """No tuple that arrived before this will be processed any more. While any waits, that is not known."""
        with self._changed:
            if any(self._core.unfinished().values()):
                return -(2**63)
            upto = min((self._complete.get(name, -math.inf) for name in self._core.time.open), default=self._now())
        return -(2**63) if upto == -math.inf else int(upto * 1e6)
