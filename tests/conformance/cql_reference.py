"""A small, slow evaluator of CQL, for tests: every relation is computed anew at every instant, by sqlite.

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
Changes = dict[int | None, Counter[tuple[str, Values]]]  # instant -> ('+' or '-', row), each as often as it is there


class Tuple(NamedTuple):
    """One tuple of a stream. `time` is None when it came too late, or has none."""

    time: int | None
    values: Values
    said: int | None  # its time as its column says it, late or not


@dataclass(frozen=True)
class Stream:
    """Tuples in order of sequence. `change` (1 or -1 for each) makes it a relation, whose time is the last column."""

    columns: tuple[str, ...]
    tuples: Sequence[Tuple]
    change: Sequence[int] | None = None

    @cached_property
    def placed(self) -> list[Tuple]:
        """Those that have a place in time, in order of time, then sequence."""
        return sorted((t for t in self.tuples if t.time is not None), key=lambda t: t.time or 0)


@dataclass(frozen=True)
class Relation:
    """`at(t)` is what it holds at instant t; that changes at `events` only. RSTREAM speaks at `asked`."""

    columns: tuple[str, ...]
    at: Callable[[int], list[Values]]
    events: frozenset[int]
    asked: frozenset[int]


def stream_of(
    columns: Sequence[str], rows: Iterable[Values], time: str, slack: int = 0, change: Sequence[int] | None = None
) -> Stream:
    """A base stream from its rows in order of sequence. Late: before the latest time in front of it, less the slack."""
    at = list(columns).index(time)
    latest: int | None = None
    tuples: list[Tuple] = []
    for row in rows:
        said = row[at]
        late = said is None or (latest is not None and said < latest - slack)
        tuples.append(Tuple(None if late else said, tuple(row), said))
        latest = latest if said is None else max(said, said if latest is None else latest)
    return Stream(tuple(columns), tuples, change)


@dataclass
class Reference:
    """Streams, tables and the texts of named queries; `changes(name)` is what a query gives out."""

    streams: Mapping[str, Stream]
    tables: Mapping[str, tuple[tuple[str, ...], list[Values]]] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)

    def changes(self, name: str) -> Changes:
        found = _Evaluation(self, self.last(name)).named(name)
        if isinstance(found, Stream):
            result: Changes = {}
            for one in found.tuples:
                result.setdefault(one.said, Counter())[("+", one.values)] += 1
            return result
        return _differences(found, self.last(name))

    def last(self, name: str) -> int:
        """The last event of all streams of a query: time ends there."""
        times = [t.said for s in self._streams(name) for t in self.streams[s].tuples if t.said is not None]
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
        came = Counter({("+", row): n for row, n in (now - before).items()})
        went = Counter({("-", row): n for row, n in (before - now).items()})
        if came or went:
            result[instant] = came + went
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
    """Where the name or parenthesis that ends before `end` begins."""
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
    """What the window on a stream holds at each instant, word by word as the design defines it."""
    tuples = stream.placed
    times = frozenset(t.time for t in tuples if t.time is not None)
    words = text.split()
    if words[0] == "NOW":
        words = ["RANGE", "1"]
    if words[0] == "RANGE":
        length = None if words[1] == "UNBOUNDED" else int(words[1])
        slide = int(words[words.index("SLIDE") + 1]) if "SLIDE" in words else None

        def held(instant: int) -> list[Values]:
            at = instant if slide is None else instant // slide * slide
            return [t.values for t in tuples if t.time is not None and t.time <= at and _within(t.time, at, length)]

        events = times | ({t + length for t in times} if length is not None else set())
        if slide is None:
            return Relation(stream.columns, held, frozenset(events), times)
        first = min(times, default=last + 1)
        multiples = frozenset(range(-(-first // slide) * slide, last + 1, slide))
        return Relation(stream.columns, held, multiples, multiples)
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

    def held(instant: int) -> list[Values]:
        rows: list[Tuple] = []
        for one, n in pairs:
            if one.time is None or one.time > instant:
                continue
            if n > 0:
                rows.append(one)
            else:  # the row that goes is the one that is equal but for the time, which says when
                rows.remove(next(row for row in rows if _untimed(row) == _untimed(one)))
        return [row.values for row in rows]

    times = frozenset(t.time for t, _ in pairs if t.time is not None)
    return Relation(found.columns, held, times, times)


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
            # The default, said aloud, changes nothing.
            return stream if window.split() == ["RANGE", "UNBOUNDED"] else _window(stream, window, self.last)
        if marker in ("istream_", "dstream_", "rstream_"):
            return self.to_stream(inner.query(below), marker)
        return inner.select(tree)

    def to_stream(self, found: Stream | Relation, marker: str) -> Stream:
        if isinstance(found, Stream) and found.change is None and marker == "istream_":
            return found
        relation = _as_relation(found, self.last)
        if marker == "rstream_":
            rows = [(t, row) for t in sorted(relation.asked) if t <= self.last for row in relation.at(t)]
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

        def held(instant: int) -> list[Values]:
            x, y = Counter(a.at(instant)), Counter(b.at(instant))
            if isinstance(tree, exp.Union):
                return list(set(x) | set(y)) if distinct else list((x + y).elements())
            if distinct:
                return list(set(x) - set(y)) if isinstance(tree, exp.Except) else list(set(x) & set(y))
            return list((x - y if isinstance(tree, exp.Except) else x & y).elements())

        return Relation(a.columns, _remembered(held), a.events | b.events, a.asked | b.asked)

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
        asked = frozenset(t for item in items for t in item.asked if t <= self.last)
        run = _Sql(names, [item.columns for item in items])
        began: int | None = -(2**63)
        if aggregates and not tree.args.get("group"):  # one row, from the first tuple on
            below = _rows_below(tree, places)
            began = min((t for t in events if run(below, [item.at(t) for item in items])), default=None)

        def held(instant: int) -> list[Values]:
            if began is None or instant < began:
                return []
            return run(sql, [item.at(instant) for item in items])

        columns = run.columns(sql)
        return Relation(columns, _at_events(held, events), events, asked)

    def _tuple_by_tuple(
        self, stream: Stream, found: Sequence[Stream | Relation], names: Sequence[str], sql: str
    ) -> Stream:
        """Selections, projections and lookups in tables make a stream of a stream; late tuples are tuples too."""
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


def _remembered(held: Callable[[int], list[Values]]) -> Callable[[int], list[Values]]:
    known: dict[int, list[Values]] = {}

    def at(instant: int) -> list[Values]:
        if instant not in known:
            known[instant] = held(instant)
        return known[instant]

    return at


def _at_events(held: Callable[[int], list[Values]], events: frozenset[int]) -> Callable[[int], list[Values]]:
    """Nothing changes between two events, and nothing is there before the first."""
    ordered = sorted(events)
    known = _remembered(held)

    def at(instant: int) -> list[Values]:
        position = bisect_right(ordered, instant)
        return known(ordered[position - 1]) if position else []

    return at


# SQL -------------------------------------------------------------------------------------------------------------


def _plain(tree: exp.Select, places: Sequence[exp.Expr]) -> tuple[str, list[str]]:
    """One SELECT as sqlite's SQL over tables that hold what is in its FROM, and the names of those tables."""
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
    """The rows that an aggregate without groups is over."""
    below = tree.copy()
    below.set("having", None)
    below.set("expressions", [exp.Literal.number(1)])
    return _plain(below, places)[0]


class _Sql:
    """Runs SELECTs over given contents of tables."""

    def __init__(self, names: Sequence[str], columns: Sequence[Sequence[str]]) -> None:
        self._base = sqlite3.connect(":memory:")
        self._names = names
        for name, own in zip(names, columns, strict=True):
            self._base.execute(f"CREATE TABLE {name} ({', '.join(f'[{column}]' for column in own)})")
        self._widths = [len(own) for own in columns]

    def __call__(self, sql: str, contents: Sequence[list[Values]]) -> list[Values]:
        for name, width, rows in zip(self._names, self._widths, contents, strict=True):
            self._base.execute(f"DELETE FROM {name}")
            self._base.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * width)})", rows)
        return [tuple(row) for row in self._base.execute(sql)]

    def columns(self, sql: str) -> tuple[str, ...]:
        return tuple(column[0] for column in self._base.execute(sql).description)
