"""Pushes rows into a stream of a server, in as many requests as they need."""

from __future__ import annotations

import re
from typing import Any

from headgate.client.connection import Connection, path_of
from headgate.client.rows import PART_BYTES, parts_of
from headgate.errors import ApplicationError, ServerError

TOO_LARGE, NO_ROOM = 413, 503
LEAST_BYTES = 1024  # no server takes less
_ROW = re.compile(r"rows\[(\d+)\]")


def push(connection: Connection, stream: str, rows: Any, timeout_s: float) -> int:
    """Push rows, and return how many there were. The rows of one request are all taken, or none.

    ApplicationError: a row does not fit; its place counts from the first of all rows. TimeoutError: there was no room
    for `timeout_s` seconds. Both say how many rows were taken before, if any were.
    """
    rows = rows if hasattr(rows, "__len__") else list(rows)  # read again where a part turns out to be too large
    taken, part_bytes = 0, PART_BYTES
    while True:
        try:
            for part in parts_of(stream, _after(rows, taken), part_bytes):
                headers = {"Content-Type": part.content_type}
                path = path_of("streams", stream, "rows")
                connection.ask("POST", path, patience_s=timeout_s, content=part.content, headers=headers)
                taken += part.rows
            return taken
        except ServerError as error:
            if error.status == TOO_LARGE and part_bytes > LEAST_BYTES:
                part_bytes //= 2
                continue
            if error.status == NO_ROOM:
                raise TimeoutError(f"{error.problem}{_so_far(taken)}") from None
            raise ServerError(error.place, f"{error.problem}{_so_far(taken)}", error.remedy, error.status) from None
        except ApplicationError as error:
            raise _counted_from_the_first(error, taken) from None


def _after(rows: Any, taken: int) -> Any:
    """The rows that were not taken yet; frames and tables stay what they are."""
    if not taken:
        return rows
    if hasattr(rows, "slice"):  # Arrow
        return rows.slice(taken)
    return rows.iloc[taken:] if hasattr(rows, "iloc") else rows[taken:]


def _counted_from_the_first(error: ApplicationError, taken: int) -> ApplicationError:
    if not taken:
        return error
    place = _ROW.sub(lambda found: f"rows[{int(found[1]) + taken}]", error.place)
    return ApplicationError(place, error.problem, f"the {taken} rows before were taken; push those from there on again")


def _so_far(taken: int) -> str:
    return f" ({taken} rows were taken before)" if taken else ""
