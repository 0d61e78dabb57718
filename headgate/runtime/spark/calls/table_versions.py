"""Tables that change while a run goes on: all versions that tuples may still be joined with, in one table.

A tuple is joined with the version that was current when it arrived, whenever its call is made. So rows carry the
arrivals for which they count, and the join compares: no answer depends on which version a call finds in the table, as
long as its tuples' versions are among them.
"""

from __future__ import annotations

import pyarrow as pa

VALID_FROM = "\x1ffrom"  # the first arrival for which a row counts
VALID_UNTIL = "\x1funtil"  # the first after that for which it does not
_BEGINNING = -(2**63)
_END = 2**63 - 1


class TableVersions:
    """The versions of one table, oldest first. Not changed in place: others may be reading it."""

    def __init__(self, versions: tuple[tuple[int, pa.Table], ...]) -> None:
        self._versions = versions

    @classmethod
    def first(cls, rows: pa.Table) -> TableVersions:
        """The version that counts for all tuples, until there is another."""
        return cls(((_BEGINNING, rows),))

    def __len__(self) -> int:
        return len(self._versions)

    @property
    def newest(self) -> pa.Table:
        return self._versions[-1][1]

    def followed_by(self, rows: pa.Table, since_us: int) -> TableVersions:
        """With another version, for the tuples that arrive at a time or later."""
        return TableVersions((*self._versions, (since_us, rows)))

    def from_on(self, arrival_us: int) -> TableVersions:
        """Without the versions that no tuple needs which arrives at a time or later."""
        ends = [since for since, _ in self._versions[1:]] + [_END]
        return TableVersions(tuple(one for one, end in zip(self._versions, ends, strict=True) if end > arrival_us))

    def content(self) -> pa.Table:
        """All rows, with the arrivals for which they count."""
        ends = [since for since, _ in self._versions[1:]] + [_END]
        return pa.concat_tables(
            [
                rows.append_column(VALID_FROM, _same(since, rows)).append_column(VALID_UNTIL, _same(end, rows))
                for (since, rows), end in zip(self._versions, ends, strict=True)
            ]
        )


def _same(value: int, rows: pa.Table) -> pa.Array:
    return pa.array([value], pa.int64()).take(pa.array([0] * rows.num_rows, pa.int64()))
