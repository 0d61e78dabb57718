"""Typed rows of a stored stream that say where they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa


class PlacedRows(NamedTuple):
    """A block of rows that a reader has read, and where reading would go on with each of them."""

    table: pa.Table
    # Called with the number of a row in the table, or with how many there are: where the reader goes on with that row,
    # or after all of them. A value that JSON can hold.
    place: Callable[[int], Any]
