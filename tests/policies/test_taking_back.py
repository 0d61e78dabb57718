"""Where calls have a fixed cost, frequencies come back once a disturbance is over, and chance does not add up."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headgate as hg
from headgate.policies.mbd import MultiBroadcastDisk
from headgate.policies.repair_pace import TakingBack
from tests.conformance.plans import feeder, make_plan, project
from tests.policies.boards import TimedHarness

PRIORITIES = {"high": 12, "low": 1}
STEP_S = 0.01


def harness(policy: str) -> Any:
    plan = make_plan(
        {"s": feeder(), "t": feeder()},
        [project("a/x", "s", 0.001), project("b/y", "t", 0.001)],
        {"a": "a/x", "b": "b/y"},
        PRIORITIES,
        {"a": "high", "b": "low"},
    )
    return TimedHarness(plan, policy, call_fixed_s=0.001)


def go_on(run: Any, seconds: float, busy: bool, high_s: float, low_s: float) -> list[int]:
    """Call both queries by turns, with input left over after every call or with none. Returns the frequencies."""
    run.latencies = {"high": high_s, "low": low_s}
    for at in range(round(seconds / STEP_S)):
        for operator in ("a/x", "b/y") if busy else (("a/x", "b/y")[at % 2],):
            run.feed(operator)
        run.run(STEP_S)
    return list(run.policy.frequencies)


@pytest.mark.parametrize("policy", ["mbd", "abd"])
def test_the_repair_of_a_disturbance_does_not_outlive_it(policy: str) -> None:
    run = harness(policy)
    disturbed = go_on(run, 20.0, busy=True, high_s=0.5, low_s=0.1)
    assert disturbed[0] > 40 * disturbed[1]
    after = go_on(run, 30.0, busy=False, high_s=0.1, low_s=0.1)
    assert after[0] <= 12 + 3


@pytest.mark.parametrize("policy", ["mbd", "abd"])
def test_while_tuples_always_wait_a_repair_stays(policy: str) -> None:
    run = harness(policy)
    repaired = go_on(run, 20.0, busy=True, high_s=0.5, low_s=0.1)
    assert go_on(run, 60.0, busy=True, high_s=0.1, low_s=0.5) == repaired


@pytest.mark.parametrize("policy", ["mbd", "abd"])
def test_what_is_slower_without_need_does_not_drive_frequencies_up(policy: str) -> None:
    """The more important class is always slower, as with windows, though nothing ever waits behind anything."""
    frequencies = go_on(harness(policy), 300.0, busy=False, high_s=0.5, low_s=0.1)
    assert 12 < frequencies[0] < 12 + 100


class Watched(MultiBroadcastDisk):
    """Remembers the longest round that it has made."""

    name = "watched_mbd"
    longest = 0

    def _rebuild(self) -> None:
        super()._rebuild()
        Watched.longest = max(Watched.longest, len(self.base_schedule))


def test_classes_that_are_alike_keep_a_short_round() -> None:
    """Two slots that are busy for a third of the time: which class is slower is chance, and changes all the time."""
    app = hg.Application(policy=Watched, slots=2, seed=1, simulator={"call": "3 ms"})
    for class_name, priority in PRIORITIES.items():
        app.add_class(class_name, priority)
        source = {"kind": "feeder", "rate": 100.0, "arrivals": "poisson", "rows": 12_000}
        app.stream(f"s_{class_name}", "k INT, v DOUBLE", source=source)
        cost = {"where": {"cost": "5 us", "selectivity": 0.9}}
        app.query(f"q_{class_name}", f"SELECT k FROM s_{class_name} WHERE v > 0.1", in_class=class_name, stats=cost)
    Watched.longest = 0
    app.simulate()
    assert 13 <= Watched.longest < 13 + 60


FREQUENCIES = st.lists(st.integers(1, 4_000), min_size=1, max_size=6, unique=True).map(lambda f: sorted(f)[::-1])


@given(FREQUENCIES, st.data(), st.integers(0, 50), st.integers(0, 50))
def test_frequencies_come_back_in_order_and_never_pass_the_first_ones(
    current: list[int], data: st.DataObject, busy: int, dry: int
) -> None:
    first = data.draw(
        st.lists(st.integers(1, 4_000), min_size=len(current), max_size=len(current), unique=True).map(
            lambda f: sorted(f)[::-1]
        )
    )
    taking_back = TakingBack(0.0)
    for _ in range(busy + dry):
        taking_back.finished()
    for _ in range(dry):
        taking_back.ran_dry()

    class View:
        now, call_fixed_s = 2.0, 0.001

    view: Any = View()
    found = taking_back.frequencies(view, current, first, first)
    assert all(a > b for a, b in pairwise(found))
    for was, start, now in zip(current, first, found, strict=True):
        assert min(was, start) <= now <= max(was, start)
    if not dry:
        assert found == current
