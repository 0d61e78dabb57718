"""The applications of `headgate bench twin`: five shapes, each with three classes of unequal importance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import headgate as hg
from headgate.application.checked import CheckedApplication

PRIORITIES = {"vital": 10, "normal": 3, "bulk": 1}
LATENCY_S = {"vital": 0.1, "normal": 0.5, "bulk": 5.0}  # promised
SEED = 5
Make = Callable[[float, str], CheckedApplication]


def filters(load: float, policy: str) -> CheckedApplication:
    """Twelve selections; those of the lower classes compute expensive hashes."""
    app = _application(policy)
    for number in range(12):
        name = _class_of(number)
        condition = "v > 0.5" if name == "vital" else _expensive(30 if name == "normal" else 60)
        _stream(app, f"s{number}", 3000.0 * load)
        app.query(f"q{number}", f"SELECT k, v FROM s{number} WHERE {condition}", **_promised(name))
    return app.checked()


def windows(load: float, policy: str) -> CheckedApplication:
    """Nine queries: every third selects, the others count over windows of one and two seconds."""
    app = _application(policy)
    for number in range(9):
        name = _class_of(number)
        _stream(app, f"s{number}", 2500.0 * load)
        counted = f"SELECT k, count(*) AS n, sum(v) AS total FROM s{number} [RANGE {{}} SECOND SLIDE 1 SECOND]"
        where = f" WHERE {_expensive(45)} GROUP BY k"
        kinds = (
            f"SELECT k, v FROM s{number} WHERE {_expensive(45)}",
            f"RSTREAM({counted.format(1)}{where})",
            f"RSTREAM({counted.format(2)}{where})",
        )
        app.query(f"q{number}", kinds[number // 3], **_promised(name))
    return app.checked()


def shared(load: float, policy: str) -> CheckedApplication:
    """One stream that nine queries read: an arrival is work for all of them at once."""
    app = _application(policy)
    _stream(app, "s", 3500.0 * load)
    for number in range(9):
        name = _class_of(number)
        cost = {"vital": 5, "normal": 30, "bulk": 60}[name]
        app.query(f"q{number}", f"SELECT k, v FROM s WHERE {_expensive(cost)} AND v > 0.{number}", **_promised(name))
    return app.checked()


def joins(load: float, policy: str) -> CheckedApplication:
    """Six queries: joins of two streams over a second for two classes, selections for the least important."""
    app = _application(policy)
    for number in range(6):
        name = _class_of(number)
        _stream(app, f"a{number}", 550.0 * load)
        _stream(app, f"b{number}", 550.0 * load)
        joined = (
            f"SELECT a{number}.k, a{number}.v FROM a{number} [RANGE 1 SECOND], b{number} [RANGE 1 SECOND] "
            f"WHERE a{number}.k = b{number}.k"
        )
        selected = f"SELECT k, v FROM a{number} WHERE {_expensive(60)}"
        app.query(f"q{number}", selected if name == "bulk" else joined, **_promised(name))
    return app.checked()


def many(load: float, policy: str) -> CheckedApplication:
    """Thirty selections of one cost, a third of them important: most of the time goes to calls."""
    app = _application(policy)
    for number in range(30):
        _stream(app, f"s{number}", 400.0 * load)
        app.query(f"q{number}", f"SELECT k FROM s{number} WHERE {_expensive(20)}", **_promised(_class_of(number)))
    return app.checked()


APPLICATIONS: dict[str, Make] = {
    "filters": filters,
    "windows": windows,
    "shared": shared,
    "joins": joins,
    "many": many,
}


def _application(policy: str) -> hg.Application:
    settings = {"name": policy, "unit": "query"} if policy in ("rr", "fifo") else {"name": policy}
    app = hg.Application(
        policy=settings, slots=2, seed=SEED, rehearse=True, optimizer={"selection": "none", "linger": False}
    )
    for name, priority in PRIORITIES.items():
        app.add_class(name, priority)
    return app


def _class_of(number: int) -> str:
    return list(PRIORITIES)[number % len(PRIORITIES)]


def _stream(app: hg.Application, name: str, rate: float) -> None:
    values = {"k": "uniform 0 1000", "v": "uniform 0 1"}
    app.stream(name, "k INT, v DOUBLE", source={"kind": "feeder", "rate": rate, "values": values})


def _promised(name: str) -> dict[str, Any]:
    points = [[0, LATENCY_S[name]], [60, LATENCY_S[name]]]
    return {
        "in_class": name,
        "sink": hg.sinks.Nothing(),
        "qos": {"latency": {"priority": "must", "points": points}},
    }


def _expensive(microseconds: int) -> str:
    """A condition that is true for all tuples and takes about so long: a hash of a long text."""
    return f"length(sha2(repeat(CAST(v AS STRING), {20 * microseconds}), 512)) > 0"
