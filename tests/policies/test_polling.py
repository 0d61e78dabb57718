"""What a decision inspects: queries and operators without input, and sources that are polled."""

import pytest

from headgate.application.checked import RunLimits
from headgate.policies.rotation import Rotation
from headgate.runtime.simulated import simulate
from headgate_lab.studies.aqsios.workload import application
from tests.conformance.plans import feeder, make_app, make_plan, project, recorded
from tests.policies.boards import TimedHarness
from tests.policies.test_class_based import queries

US = 1e-6
IN_TURN = ("rr", "wrr", "mrr", "morr", "mprr")


def one_class(*names):
    return queries(dict.fromkeys(names, 1.0), {"one": (1, list(names))})


def looked(harness, *fed):
    """Feed queries one after another, each followed by a call: (what ran, how many were inspected)."""
    found = []
    for name in fed:
        harness.feed(f"{name}/x")
        decision = harness.run()
        found.append((decision.unit.id[0], decision.inspected))
    return found


# In turn ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*IN_TURN, "pct", "pct-s"])
def test_units_without_input_are_counted(name):
    assert looked(TimedHarness(one_class(*"abcd"), name), *"acabb") == [
        ("a", 0),
        ("c", 1),
        ("a", 1),
        ("b", 0),
        ("b", 3),
    ]


@pytest.mark.parametrize("name", [*IN_TURN, "pct"])
def test_no_unit_is_skipped_when_all_have_input(name):
    harness = TimedHarness(one_class(*"abc"), name)
    for query in "abc":
        harness.feed(f"{query}/x", 2)
    assert [harness.run().inspected for _ in range(3)] == [0, 0, 0]


def test_a_thread_in_line_tries_all_its_queries_before_it_gives_up_its_slot():
    plan = queries(dict.fromkeys("abcxyz", 1.0), {"one": (2, list("abc")), "two": (1, list("xyz"))})
    harness = TimedHarness(plan, "pct")
    # Inspected after a: b and c to the end of the pass, then x and y. After z: x and y again, and nothing of the other
    # thread, which has no input.
    assert looked(harness, *"azz") == [("a", 0), ("z", 4), ("z", 2)]


def test_a_rotation_counts_up_to_its_end():
    harness = TimedHarness(one_class(*"abc"), "rr")
    rotation = Rotation(harness.board.units)
    harness.feed("b/x")
    rotation.add(harness.board.units[1])
    assert (rotation.next(), rotation.passed_over) == (harness.board.units[1], 1)
    assert (rotation.next(), rotation.passed_over) == (None, 0)
    assert (rotation.next(around=False), rotation.passed_over, rotation.next_place) == (None, 1, 0)


@pytest.mark.parametrize("name", [*IN_TURN, "pct"])
def test_the_simulator_charges_for_each(name, tmp_path):
    """A tuple for a at 0, for d at 10 s: b and c are inspected, 0.25 s each. At 100 s, a is."""
    gaps = {"a": (0.0,), "b": (100.0,), "c": (100.0,), "d": (10.0,)}
    streams = {f"s-{name}": recorded(tmp_path, f"s-{name}", *times) for name, times in gaps.items()}
    operators = [project(f"{name}/x", f"s-{name}", 1.0) for name in gaps]
    plan = make_plan(streams, operators, {name: f"{name}/x" for name in gaps})
    turns = {"quantum": 10.0} if name in ("rr", "wrr") else {}
    app = make_app(plan, name, turns, folder=tmp_path, simulator={"inspect_s": 0.25})
    result = simulate(app, RunLimits(until_idle=True), trace=True)
    ends = {event.query: event.time for event in result.trace.results}
    assert ends == pytest.approx({"a": 1.0, "d": 11.5, "b": 101.25, "c": 102.25})


# The study -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workload", "scheduler", "charge"),
    [
        ("A", "RR", 0.2),
        ("A", "HR", 0.2),
        ("A", "CQC single", 0.2),
        ("5G_4", "MORR", 0.2),
        ("5G_4", "MRR", 5.5),
        ("5G_4", "MPRR", 5.5),
        ("5G_4", "PCT", 5.5),
        ("3D_6", "PCT_S", 5.5),
    ],
)
def test_a_probe_costs_what_the_table_says(workload, scheduler, charge):
    """Spec 3.3: `c_poll` for an operator, `c_sched` and `c_lock` for a query, which costs a slot."""
    app = application({"workload": workload, "scheduler": scheduler, "tuples": 10, "seed": 1})
    assert app.simulator.inspect_s == pytest.approx(charge * US)


# Sources ---------------------------------------------------------------------------------------------------------


def polled(**members):
    """Classes of queries whose first operator reads a stream, as on a core that reads the sources itself."""
    names = [name for queries in members.values() for name in queries]
    operators = [o for n in names for o in (project(f"{n}/in", f"s-{n}", 1.0), project(f"{n}/x", f"{n}/in", 1.0))]
    priorities = {name: len(members) - at for at, name in enumerate(members)}
    owners = {query: name for name, queries in members.items() for query in queries}
    return make_plan({f"s-{n}": feeder() for n in names}, operators, {n: f"{n}/x" for n in names}, priorities, owners)


def outcome(decision):
    return decision.unit.id, decision.inspected, decision.switches


def test_cqc_polls_twice_and_passes_the_turn_on():
    """Example 5.3: nothing ready and no arrivals: exactly two polls of the class's sources, then the next class."""
    harness = TimedHarness(polled(high="ab", low="xyz"), "cqc", leaves="last", cycle=9.0)
    harness.feed("y/x")
    claim = harness.begin()
    assert outcome(claim.decision) == ("y/x", 2 * 2, 2)
    harness.feed("a/x")
    harness.end(claim, 0.1)
    assert outcome(harness.run(0.1)) == ("a/x", 2 * 3, 1)


def test_cqc_first_processes_what_a_poll_found():
    """Example 5.3: arrivals found by a poll are processed, then the count of polls restarts."""
    harness = TimedHarness(polled(high="ab", low="x"), "cqc", leaves="last", cycle=9.0)
    harness.feed("a/in")
    harness.feed("x/in")
    assert outcome(harness.run(0.1)) == ("a/in", 1, 1)  # b's source is found empty
    harness.feed("a/x")
    assert outcome(harness.run(0.1)) == ("a/x", 0, 0)
    harness.feed("b/in")
    assert outcome(harness.run(0.1)) == ("b/in", 1, 0)  # the turn continues
    harness.feed("b/x")
    assert outcome(harness.run(0.1)) == ("b/x", 0, 0)
    assert outcome(harness.run(0.1)) == ("x/in", 2 * 2, 1)


def test_cqc_stops_polling_once_its_time_is_used_up():
    harness = TimedHarness(polled(high="ab", low="x"), "cqc", leaves="last", cycle=9.0)  # slices of 6 and 3 s
    harness.feed("a/in")
    harness.feed("x/in")
    assert outcome(harness.run(6.0)) == ("a/in", 1, 1)
    assert outcome(harness.run(0.1)) == ("x/in", 0, 1)


def test_cqc_may_poll_only_once_per_turn():
    """The class has time left and more input at its sources, but has polled them: it passes its turn on."""
    harness = TimedHarness(polled(high="ab", low="x"), "cqc", leaves="last", cycle=9.0, polls=1)
    harness.feed("a/in")
    harness.feed("x/in")
    assert outcome(harness.run(0.1)) == ("a/in", 1, 1)
    harness.feed("a/x")
    harness.feed("b/in")
    assert outcome(harness.run(0.1)) == ("a/x", 0, 0)
    assert outcome(harness.run(0.1)) == ("x/in", 0, 1)
    assert outcome(harness.run(0.1)) == ("b/in", 1, 1)


def test_cqc_polls_again_in_the_next_turn_where_there_is_no_other_class():
    harness = TimedHarness(polled(only="ab"), "cqc", leaves="last", polls=1)
    for name in ("a/in", "b/in", "a/in"):
        harness.feed(name)
        assert harness.run(0.1).unit.id == name


def test_cqc_limits_the_train():
    """With at most 3 tuples per call, a class that has fallen behind does not hold up the other."""
    harness = TimedHarness(polled(high="a", low="x"), "cqc", cycle=9.0, train=3)
    harness.feed("x/x", 5)
    assert [harness.run(0.1).tuples, harness.run(0.1).tuples] == [3, 3]


def test_cqc_does_not_cut_a_poll_short():
    """Both sources of the class are read, though the first read uses up its time; the second is debt."""
    harness = TimedHarness(polled(high="ab", low="x"), "cqc", leaves="last", cycle=9.0)
    for name in "abx":
        harness.feed(f"{name}/in")
    assert [harness.run(seconds).unit.id for seconds in (6.0, 6.0, 1.0)] == ["a/in", "b/in", "x/in"]
    harness.feed("a/x")
    harness.feed("x/x")
    assert [harness.run(1.0).unit.id for _ in range(2)] == ["x/x", "a/x"]  # none of its 6 s is left, so it loses a turn


def test_cqc_does_not_poll_where_another_core_reads_the_sources():
    harness = TimedHarness(polled(high="ab", low="x"), "cqc", cycle=9.0)
    harness.feed("x/in")
    assert outcome(harness.run(0.1)) == ("x/in", 0, 2)


def test_hr_inspects_empty_sources_once_per_poll():
    harness = TimedHarness(polled(only="abcd"), "hr", leaves="last")
    harness.feed("b/in")
    harness.feed("d/in")
    assert [outcome(harness.run()) for _ in range(2)] == [("b/in", 2, 0), ("d/in", 0, 0)]
    harness.feed("b/x")
    assert outcome(harness.run()) == ("b/x", 0, 0)
    ranked = TimedHarness(polled(only="abcd"), "hr")
    ranked.feed("b/in")
    assert outcome(ranked.run()) == ("b/in", 0, 0)
