"""The queries of `bench classes`, their tuples, and both as a Headgate application.

Queries are dealt in turn to three classes of priority 6, 3 and 1, and each class cycles through the kinds: filters,
counts and averages over tumbling windows of a second, and joins of two streams with windows of a second. Each query
reads streams of its own. A join gets half of its rate on each of its two streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.application.checked import CheckedApplication
from headgate.connect.sources import make_source
from headgate.sql.schema import ARRIVAL
from headgate_lab.sections import checked

Kind = Literal["filter", "count", "average", "join"]

MASTER = "local[2]"  # for every side
PRIORITIES = {"class1": 6, "class2": 3, "class3": 1}
KINDS: tuple[Kind, ...] = ("filter", "count", "average", "join", *(("filter", "count", "average") * 2))
KEYS = 20  # of filters and windows; a join has as many as tuples per second, so that half of the tuples find a partner
SEED = 11
SCHEMA = "k INT, v DOUBLE"


class BenchQuery(NamedTuple):
    name: str
    class_name: str
    kind: Kind
    streams: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """A number of queries, the tuples per second of each, and for how many seconds they run."""

    name: str
    queries: int
    rate: float
    seconds: float
    warm_s: float = 5.0  # results of tuples that arrive before this do not count
    linger_s: float | None = None  # under Headgate; None: its default

    def members(self) -> list[BenchQuery]:
        """All queries of the workload."""
        return [_query(number) for number in range(self.queries)]

    def rate_of(self, query: BenchQuery) -> float:
        """The tuples per second on each stream of a query."""
        return self.rate / len(query.streams)

    def keys_of(self, query: BenchQuery) -> int:
        """The number of different keys on the streams of a query."""
        return max(KEYS, round(self.rate)) if query.kind == "join" else KEYS

    def sources(self) -> dict[str, dict[str, Any]]:
        """Stream -> the settings of its feeder."""
        return {stream: self._feeder(query) for query in self.members() for stream in query.streams}

    def _feeder(self, query: BenchQuery) -> dict[str, Any]:
        rate = self.rate_of(query)
        return {
            "kind": "feeder",
            "rate": rate,
            "arrivals": "poisson",
            "rows": round(rate * self.seconds * 1.1),  # more than arrive while it runs
            "values": {"k": f"uniform 0 {self.keys_of(query)}", "v": "uniform 0 1"},
        }


def _query(number: int) -> BenchQuery:
    kind = KINDS[number // len(PRIORITIES) % len(KINDS)]
    class_name = list(PRIORITIES)[number % len(PRIORITIES)]
    name = f"q{number:03d}_{kind}"
    streams = (f"s{number:03d}a", f"s{number:03d}b") if kind == "join" else (f"s{number:03d}",)
    return BenchQuery(name, class_name, kind, streams)


class Tuples(NamedTuple):
    """All tuples of a stream, in order of arrival."""

    arrivals: NDArray[np.float64]  # seconds since the run began
    k: NDArray[np.int32]
    v: NDArray[np.float64]


def tuples(workload: Workload) -> dict[str, Tuples]:
    """Stream -> its tuples, as Headgate's own feeder generates them."""
    app = application(workload, {"name": "fifo"})
    found = {}
    for name, stream in app.plan.streams.items():
        source = make_source(stream, app.folder, app.seed, 0, quiet=True)
        table = source.poll(workload.seconds)
        if table is None:
            raise ValueError(f"workload {workload.name} has no tuples on {name}")
        columns = [table.column(column).to_numpy() for column in (ARRIVAL, "k", "v")]
        found[name] = Tuples(columns[0] / 1e6, columns[1], columns[2])
    return found


def due(query: BenchQuery, workload: Workload, came: Mapping[str, Tuples]) -> int:
    """The number of a query's tuples that should be completed while the workload lasts, read in time or not.

    Tuples in the window that is open at the end are not due yet: no side can give the result of that window. (Until
    2026-11-19 they counted as input that was not completed, with their age.)
    """
    end = workload.seconds if query.kind in ("filter", "join") else np.ceil(workload.seconds) - 1
    return sum(int(np.searchsorted(came[stream].arrivals, end)) for stream in query.streams)


def application(workload: Workload, policy: dict[str, Any], slots: int = 2) -> CheckedApplication:
    """The workload as a Headgate application."""
    sections = {
        "streams": {name: {"schema": SCHEMA, "source": source} for name, source in workload.sources().items()},
        "classes": {name: {"priority": priority, "linger": workload.linger_s} for name, priority in PRIORITIES.items()},
        "queries": {
            query.name: {"class": query.class_name, "cql": cql(query), "sink": {"kind": "none"}}
            for query in workload.members()
        },
        "policy": policy,
        "slots": slots,
        "seed": SEED,
        "rehearse": True,
    }
    return checked(sections)


def cql(query: BenchQuery) -> str:
    first, last = query.streams[0], query.streams[-1]
    match query.kind:
        case "filter":
            return f"SELECT k, v FROM {first} WHERE v > 0.5"
        case "count":
            return f"RSTREAM(SELECT k, count(*) AS n FROM {first} [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k)"
        case "average":
            return f"RSTREAM(SELECT k, avg(v) AS mean FROM {first} [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k)"
        case "join":
            return (
                f"ISTREAM(SELECT a.k, a.v, b.v AS w FROM {first} [RANGE 1 SECOND] AS a, {last} [RANGE 1 SECOND] AS b "
                "WHERE a.k = b.k)"
            )
