"""Typed rows without those that do not fit, which are put aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from headgate.connect.sources.limits import Limit
from headgate.connect.sources.rejects import Reject, Rejects
from headgate.connect.sources.rows import Rows


class GoodRows(NamedTuple):
    """Typed rows, and for each of them and for the end its number among all, also the bad ones."""

    table: pa.Table
    numbers: Sequence[int]


def good_rows(found: Rows, limits: Sequence[Limit], rejects: Rejects, first: int = 0, skip: int = 0) -> GoodRows:
    """Row 0 of them has the number `first`; the first `skip` of them do not count, they were read before."""
    table = found.table.slice(skip)
    first += skip
    beyond = {at - skip: Reject(*one) for at, one in found.bad.items() if at >= skip}
    for limit in limits:
        beyond |= limit.beyond(table, beyond)
    for at, reject in sorted(beyond.items()):
        rejects.add(first + at, reject, str(reject.value))
    if not beyond:
        return GoodRows(table, range(first, first + table.num_rows + 1))
    good = [at for at in range(table.num_rows) if at not in beyond]
    return GoodRows(table.take(pa.array(good, pa.int64())), [first + at for at in [*good, table.num_rows]])
