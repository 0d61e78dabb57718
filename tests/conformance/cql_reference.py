"""A small, slow CQL evaluator for tests: sqlite recomputes every relation at every instant.

Windows and stream functions become SELECTs of a marker column, so that what is left is plain SQL:
`s [NOW] AS x` is `(SELECT window_0 FROM s) AS x`, `ISTREAM(q)` is `(SELECT istream_ FROM (q) AS of_)`.
"""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import sqlglot
from sqlglot import exp

Values = tuple[Any, ...]
Changes = dict[int | None, Counter[tuple[str, Values]]]  # instant -> ('+' or '-', row), with multiplicities


class Tuple(NamedTuple):
    """One tuple of a stream. `time` is None if the tuple came too late or has no time."""

    time: int | None
    values: Values
    column_time: int | None  # the time in its column, late or not


@dataclass(frozen=True)
class Stream:
    """Tuples in sequence order. `change` (1 or -1 for each) makes it a relation, with its time in the last column."""

    columns: tuple[str, ...]
    tuples: Sequence[Tuple]
    change: Sequence[int] | None = None

    @cached_property
    def by_time(self) -> list[Tuple]:
        """The tuples with a time, ordered by time, then by sequence."""
        return sorted((t for t in self.tuples if t.time is not None), key=lambda t: t.time or 0)


@dataclass(frozen=True)
class Relation:
    """`at(t)` is its content at instant t, which changes only at `events`. RSTREAM outputs it at `output_times`."""

    columns: tuple[str, ...]
    at: Callable[[int], list[Values]]
    events: frozenset[int]
    output_times: frozenset[int]


def stream_of(
    columns: Sequence[str], rows: Iterable[Values], time: str, slack: int = 0, change: Sequence[int] | None = None
) -> Stream:
    """A base stream from its rows in sequence order. Late: before the latest time so far minus the slack."""
    at = list(columns).index(time)
    latest: int | None = None
    tuples: list[Tuple] = []
    for row in rows:
        column_time = row[at]
        late = column_time is None or (latest is not None and column_time < latest - slack)
        tuples.append(Tuple(None if late else column_time, tuple(row), column_time))
        latest = latest if column_time is None else max(column_time, column_time if latest is None else latest)
    return Stream(tuple(columns), tuples, change)


@dataclass
class Reference:
    """Streams, tables and the texts of named queries; `changes(name)` is what a query outputs."""

    streams: Mapping[str, Stream]
    tables: Mapping[str, tuple[tuple[str, ...], list[Values]]] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)

    def changes(self, name: str) -> Changes:
        found = _Evaluation(self, self.last(name)).named(name)
        if isinstance(found, Stream):
            result: Changes = {}
            for one in found.tuples:
                result.setdefault(one.column_time, Counter())[("+", one.values)] += 1
            return result
        return _differences(found, self.last(name))

    def last(self, name: str) -> int:
        """The last event time of all streams of a query, at which time ends."""
        times = [
            t.column_time for s in self._streams(name) for t in self.streams[s].tuples if t.column_time is not None
        ]
        return max(times, default=-(2**62))

    def _streams(self, name: str) -> set[str]:
        if name not in self.queries:
            return {name} if name in self.streams else set()
        tree, _ = _read(self.queries[name])
        return {s for table in tree.find_all(exp.Table) for s in self._streams(table.name)}


def _differences(relation: Relation, last: int) -> Changes:
    result: Changes = {}
    before: Counter[Values] = Counter()
    for instant in sorted(t for t in relation.events if t <= last):
        now = Counter(relation.at(instant))
        inserted = Counter({("+", row): n for row, n in (now - before).items()})
        deleted = Counter({("-", row): n for row, n in (before - now).items()})
        if inserted or deleted:
            result[instant] = inserted + deleted
        before = now
    return result


# Text ------------------------------------------------------------------------------------------------------------

_FUNCTION = re.compile(r"\b([IDR]STREAM)\s*\(", re.IGNORECASE)
_WINDOW = re.compile(r"\s*\[((?:NOW|RANGE|ROWS|PARTITION)\b[^\]]*)\](\s+AS\s+\w+)?", re.IGNORECASE)


def _read(text: str) -> tuple[exp.Expr, list[str]]:
    """The tree of a query in plain SQL, and its windows by number."""
    windows: list[str] = []
    while found := _WINDOW.search(text):
        start, end = _before(text, found.start()), found.end()
        inner, name = text[start : found.start()], found[2] or ""
        if not name and not inner.startswith("("):
            name = f" AS {inner}"
        text = f"{text[:start]}(SELECT window_{len(windows)} FROM {inner}){name}{text[end:]}"
        windows.append(" ".join(found[1].upper().split()))
    while found := _FUNCTION.search(text):
        closing = _closing(text, found.end() - 1)
        inside = text[found.end() : closing]
        text = f"{text[: found.start()]}(SELECT {found[1].lower()}_ FROM ({inside}) AS of_){text[closing + 1 :]}"
    return sqlglot.parse_one(text, read="spark"), windows


def _before(text: str, end: int) -> int:
    """Where the name or parenthesized text that ends at `end` begins."""
    if text[end - 1] != ")":
        found = re.search(r"\w+$", text[:end])
        assert found is not None
        return found.start()
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    raise ValueError(text)


def _closing(text: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    raise ValueError(text)


# Windows ---------------------------------------------------------------------------------------------------------


def _window(stream: Stream, text: str, last: int) -> Relation:
    """The content of a window on a stream at each instant, exactly as the design defines it."""
    tuples = stream.by_time
    times = frozenset(t.time for t in tuples if t.time is not None)
    words = text.split()
    if words[0] == "NOW":
        words = ["RANGE", "1"]
    if words[0] == "RANGE":
        length = None if words[1] == "UNBOUNDED" else int(words[1])
        slide = int(words[words.index("SLIDE") + 1]) if "SLIDE" in words else None

        def content(instant: int) -> list[Values]:
            at = instant if slide is None else instant // slide * slide
            return [t.values for t in tuples if t.time is not None and t.time <= at and _within(t.time, at, length)]

        events = times | ({t + length for t in times} if length is not None else set())
        if slide is None:
            return Relation(stream.columns, content, frozenset(events), times)
        first = min(times, default=last + 1)
        multiples = frozenset(range(-(-first // slide) * slide, last + 1, slide))
        return Relation(stream.columns, content, multiples, multiples)
    partition: list[str] = []
    if "BY" in words:
        partition = [c.strip().lower() for c in text[text.index("BY") + 2 : text.index("ROWS")].split(",")]
    count = int(words[words.index("ROWS") + 1])
    every = int(words[words.index("SLIDE") + 1]) if "SLIDE" in words else 1
    at = [[c.lower() for c in stream.columns].index(name) for name in partition]

    def rows(instant: int) -> list[Values]:
        so_far = [t.values for t in tuples if t.time is not None and t.time <= instant]
        so_far = so_far[: len(so_far) // every * every]
        groups: dict[Values, list[Values]] = {}
        for values in so_far:
            groups.setdefault(tuple(values[i] for i in at), []).append(values)
        return [values for group in groups.values() for values in group[-count:]]

    evaluated = frozenset(t.time for t in tuples[every - 1 :: every] if t.time is not None)
    return Relation(stream.columns, rows, times, evaluated)


def _within(time: int, at: int, length: int | None) -> bool:
    return length is None or time > at - length


def _as_relation(found: Stream | Relation, last: int) -> Relation:
    if isinstance(found, Relation):
        return found
    if found.change is None:
        return _window(found, "RANGE UNBOUNDED", last)
    pairs = [(t, n) for t, n in zip(found.tuples, found.change, strict=True) if t.time is not None]
    pairs.sort(key=lambda pair: pair[0].time or 0)

    def content(instant: int) -> list[Values]:
        rows: list[Tuple] = []
        for one, n in pairs:
            if one.time is None or one.time > instant:
                continue
            if n > 0:
                rows.append(one)
            else:  # remove a row that is equal except for the time: that is the time of the change
                rows.remove(next(row for row in rows if _untimed(row) == _untimed(one)))
        return [row.values for row in rows]

    times = frozenset(t.time for t, _ in pairs if t.time is not None)
    return Relation(found.columns, content, times, times)


def _untimed(one: Tuple) -> Values:
    return one.values[:-1]


# Queries ---------------------------------------------------------------------------------------------------------


@dataclass
class _Evaluation:
    """One query evaluated up to an instant."""

    reference: Reference
    last: int
    views: Mapping[str, Stream | Relation] = field(default_factory=dict)
    windows: Sequence[str] = ()

    def named(self, name: str) -> Stream | Relation:
        if name in self.views:
            return self.views[name]
        if name in self.reference.queries:
            tree, windows = _read(self.reference.queries[name])
            return _Evaluation(self.reference, self.last, {}, windows).query(tree)
        if name in self.reference.tables:
            columns, rows = self.reference.tables[name]
            return Relation(columns, lambda _: rows, frozenset(), frozenset())
        return self.reference.streams[name]

    def query(self, tree: exp.Expr) -> Stream | Relation:
        inner = self
        if with_ := tree.args.get("with_"):
            for view in with_.expressions:
                inner = replace(inner, views={**inner.views, view.alias: inner.query(view.this)})
        if isinstance(tree, exp.Table):
            return inner.named(tree.name)
        if isinstance(tree, exp.Subquery):
            return inner.query(tree.this)
        if isinstance(tree, exp.SetOperation):
            return inner.set(tree)
        assert isinstance(tree, exp.Select)
        marker = tree.expressions[0].name if len(tree.expressions) == 1 else ""
        below = tree.args["from_"].this
        if marker.startswith("window_"):
            stream = inner.query(below)
            assert isinstance(stream, Stream)
            window = inner.windows[int(marker[7:])]
            # The default, written out, changes nothing.
            return stream if window.split() == ["RANGE", "UNBOUNDED"] else _window(stream, window, self.last)
        if marker in ("istream_", "dstream_", "rstream_"):
            return self.to_stream(inner.query(below), marker)
        return inner.select(tree)

    def to_stream(self, found: Stream | Relation, marker: str) -> Stream:
        if isinstance(found, Stream) and found.change is None and marker == "istream_":
            return found
        relation = _as_relation(found, self.last)
        if marker == "rstream_":
            rows = [(t, row) for t in sorted(relation.output_times) if t <= self.last for row in relation.at(t)]
        else:
            sign = "+" if marker == "istream_" else "-"
            changed = _differences(relation, self.last)
            rows = [(t, row) for t, c in changed.items() if t is not None for (s, row) in c.elements() if s == sign]
        return Stream(relation.columns, [Tuple(t, row, t) for t, row in rows])

    def set(self, tree: exp.SetOperation) -> Stream | Relation:
        left, right = self.query(tree.this), self.query(tree.expression)
        distinct = bool(tree.args.get("distinct"))
        if isinstance(tree, exp.Union) and not distinct and isinstance(left, Stream) and isinstance(right, Stream):
            return Stream(left.columns, [*left.tuples, *right.tuples])
        a, b = _as_relation(left, self.last), _as_relation(right, self.last)

        def content(instant: int) -> list[Values]:
            x, y = Counter(a.at(instant)), Counter(b.at(instant))
            if isinstance(tree, exp.Union):
                return list(set(x) | set(y)) if distinct else list((x + y).elements())
            if distinct:
                return list(set(x) - set(y)) if isinstance(tree, exp.Except) else list(set(x) & set(y))
            return list((x - y if isinstance(tree, exp.Except) else x & y).elements())

        return Relation(a.columns, _cached(content), a.events | b.events, a.output_times | b.output_times)

    def select(self, tree: exp.Select) -> Stream | Relation:
        places = [tree.args["from_"].this, *(join.this for join in tree.args.get("joins") or [])]
        found = [self.query(place) for place in places]
        sql, names = _plain(tree, places)
        aggregates = any(tree.find_all(exp.AggFunc))
        streams = [one for one in found if isinstance(one, Stream)]
        tables = [p for p in places if isinstance(p, exp.Table) and p.name in self.reference.tables]
        simple = not aggregates and not tree.args.get("group") and not tree.args.get("distinct")
        if simple and len(streams) == 1 and streams[0].change is None and len(tables) == len(found) - 1:
            return self._tuple_by_tuple(streams[0], found, names, sql)
        items = [_as_relation(one, self.last) for one in found]
        events = frozenset(t for item in items for t in item.events if t <= self.last)
        output_times = frozenset(t for item in items for t in item.output_times if t <= self.last)
        run = _Sql(names, [item.columns for item in items])
        began: int | None = -(2**63)
        if aggregates and not tree.args.get("group"):  # one row, once there is a tuple
            below = _rows_below(tree, places)
            began = min((t for t in events if run(below, [item.at(t) for item in items])), default=None)

        def content(instant: int) -> list[Values]:
            if began is None or instant < began:
                return []
            return run(sql, [item.at(instant) for item in items])

        columns = run.columns(sql)
        return Relation(columns, _at_events(content, events), events, output_times)

    def _tuple_by_tuple(
        self, stream: Stream, found: Sequence[Stream | Relation], names: Sequence[str], sql: str
    ) -> Stream:
        """Selections, projections and table lookups turn a stream into a stream, late tuples included."""
        run = _Sql(names, [one.columns for one in found])
        tuples = [
            one._replace(values=row)
            for one in stream.tuples
            for row in run(sql, [[one.values] if item is stream else _table_rows(item) for item in found])
        ]
        return Stream(run.columns(sql), tuples)


def _table_rows(item: Stream | Relation) -> list[Values]:
    assert isinstance(item, Relation)
    return item.at(0)


def _cached(content: Callable[[int], list[Values]]) -> Callable[[int], list[Values]]:
    cache: dict[int, list[Values]] = {}

    def at(instant: int) -> list[Values]:
        if instant not in cache:
            cache[instant] = content(instant)
        return cache[instant]

    return at


def _at_events(content: Callable[[int], list[Values]], events: frozenset[int]) -> Callable[[int], list[Values]]:
    """`content` at the last event so far: it is constant between events, and empty before the first."""
    ordered = sorted(events)
    cached = _cached(content)

    def at(instant: int) -> list[Values]:
        position = bisect_right(ordered, instant)
        return cached(ordered[position - 1]) if position else []

    return at


# SQL -------------------------------------------------------------------------------------------------------------


def _plain(tree: exp.Select, places: Sequence[exp.Expr]) -> tuple[str, list[str]]:
    """A SELECT in sqlite's SQL, over tables with the contents of its FROM items, and the names of those tables."""
    copy = tree.copy()
    copy.set("with_", None)
    targets = [copy.args["from_"].this, *(join.this for join in copy.args.get("joins") or [])]
    names = []
    for number, (target, place) in enumerate(zip(targets, places, strict=True)):
        alias = place.alias_or_name
        names.append(f"item_{number}")
        target.replace(exp.alias_(exp.to_table(names[-1]), alias, table=True) if alias else exp.to_table(names[-1]))
    return copy.sql(dialect="sqlite"), names


def _rows_below(tree: exp.Select, places: Sequence[exp.Expr]) -> str:
    """The SELECT of the rows that an aggregate without groups reads."""
    below = tree.copy()
    below.set("having", None)
    below.set("expressions", [exp.Literal.number(1)])
    return _plain(below, places)[0]


class _Sql:
    """Runs SELECTs over tables with given contents."""

    def __init__(self, names: Sequence[str], columns: Sequence[Sequence[str]]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._names = names
        for name, own in zip(names, columns, strict=True):
            self._database.execute(f"CREATE TABLE {name} ({', '.join(f'[{column}]' for column in own)})")
        self._widths = [len(own) for own in columns]

    def __call__(self, sql: str, contents: Sequence[list[Values]]) -> list[Values]:
        for name, width, rows in zip(self._names, self._widths, contents, strict=True):
            self._database.execute(f"DELETE FROM {name}")
            self._database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * width)})", rows)
        return [tuple(row) for row in self._database.execute(sql)]

    def columns(self, sql: str) -> tuple[str, ...]:
        return tuple(column[0] for column in self._database.execute(sql).description)
