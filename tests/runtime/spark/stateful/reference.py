"""The meaning of the operators in the simplest form: relations evaluated instant by instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headgate.sql.schema import FOREVER

Values = tuple[Any, ...]
Interval = tuple[Values, int, int, int]  # values, time, until, change


def intervals(
    rows: Iterable[tuple[Any, ...]],
    users: int,
    length: int | None = None,
    slide: int | None = None,
    relation: bool = False,
) -> list[Interval]:
    """Input rows (user columns, arrival, sequence, time[, until, change]) as intervals, without late rows."""
    found = []
    for row in rows:
        values, time = row[:users], row[users + 2]
        if time is None:
            continue
        if relation:
            found.append((values, time, row[users + 3], row[users + 4]))
            continue
        step = slide or 1
        begin = -(-time // step) * step
        until = FOREVER if length is None else -(-(time + length) // step) * step
        found.append((values, begin, until, 1))
    return found


def at(rows: Iterable[Interval], instant: int) -> Counter[Values]:
    """The relation at an instant."""
    found: Counter[Values] = Counter()
    for values, time, until, change in rows:
        if time <= instant < until:
            found[values] += change
    assert all(n >= 0 for n in found.values())
    return +found


def text(relation: Counter[Values]) -> Counter[str]:
    return Counter({repr(list(values)): n for values, n in relation.items()})


def differences(
    relation: Callable[[int], Counter[Values]], instants: Sequence[int]
) -> dict[int, tuple[Counter[Values], Counter[Values]]]:
    """The rows added and the rows removed at each instant, compared with the tick before."""
    return {t: (relation(t) - relation(t - 1), relation(t - 1) - relation(t)) for t in instants}
