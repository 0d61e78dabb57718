"""The theorems of Jiang and Chakravarthy where they hold, and examples of where they do not.

All tests use the fluid model, in which every tuple costs exactly its expected cost.

Theorem 1 (pcs, latency) counts each input tuple once. It needs all tuples to be present at once, with no later
arrivals, and paths that are not interrupted. Theorem 3 (segment, memory) compares releases, not trajectories, and
assumes that Chain's pieces are the segments. Where they are, and nothing arrives later, segments are the optimal blocks
of a schedule under precedence chains, and the theorem follows for both peak and mean.
"""

from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from headgate.application.checked import RunLimits
from headgate.metrics.stats import DeclaredStats
from headgate.plan.paths import find_paths
from headgate.runtime.simulated import simulate
from headgate.scheduling.progress_chart import lower_envelope, progress_chart
from headgate.scheduling.segments import operator_release, partition, path_steps, segment_release
from tests.conformance.plans import make_app, make_plan, recorded, select
from tests.tiers import examples

IDLE = RunLimits(until_idle=True)
some = settings(
    max_examples=examples(20, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def run(plan, policy, folder, **parameters):
    return simulate(make_app(plan, policy, parameters, folder=folder, simulator={"fluid": True}), IDLE, trace=True)


def paths_of(folder, arrivals, steps):
    """Independent paths p0, p1, ...: arrival times, and (cost, selectivity, bytes of an output) of each operator."""
    streams, operators, roots = {}, [], {}
    for number, (times, path) in enumerate(zip(arrivals, steps, strict=True)):
        gaps = [after - before for before, after in zip([0, *times], times, strict=False)]
        name = f"p{number}"
        streams[name] = recorded(folder, name, *gaps) | {"bytes": 8}
        for at, (cost, passed, size) in enumerate(path):
            source = f"{name}/{at - 1}" if at else name
            operators.append(select(f"{name}/{at}", source, cost, passed, tuple_bytes=size))
        roots[name] = f"{name}/{len(path) - 1}"
    return make_plan(streams, operators, roots)


def input_latency(result):
    """The mean over input tuples: in the fluid model each gives one result, however small its weight."""
    return fmean(event.time - event.arrival for event in result.trace.results)


COSTS = st.floats(0.1, 10.0)
STEP = st.tuples(COSTS, st.floats(0.05, 1.0), st.just(8.0))
GROWING_STEP = st.tuples(COSTS, st.floats(0.1, 2.0), st.floats(1.0, 16.0))
COUNTS = st.integers(1, 5)


@st.composite
def bursts(draw, step):
    """Up to four paths with a few tuples each, all at time 0."""
    steps = draw(st.lists(st.lists(step, min_size=1, max_size=4), min_size=1, max_size=4))
    return [[0.0] * draw(COUNTS) for _ in steps], steps


# Theorem 1 -------------------------------------------------------------------------------------------------------


@some
@given(burst=bursts(STEP))
def test_pcs_has_the_least_latency_of_path_based_policies(tmp_path, burst):
    plan = paths_of(tmp_path, *burst)
    ours = input_latency(run(plan, "pcs", tmp_path))
    for policy, parameters in (("fifo", {}), ("rr", {"unit": "path", "quantum": None}), ("threshold", {"memory": 1.0})):
        assert ours <= input_latency(run(plan, policy, tmp_path, **parameters)) * (1 + 1e-9), policy


@some
@given(burst=bursts(STEP))
def test_pcs_is_shortest_job_first(tmp_path, burst):
    """T = sum of (k - i + 1) / C_i over the tuples in the order of their capacities: the optimum of the theorem."""
    arrivals, steps = burst
    costs = []
    for times, path in zip(arrivals, steps, strict=True):
        cost, reach = 0.0, 1.0
        for own, passed, _ in path:
            cost, reach = cost + reach * own, reach * passed
        costs += [cost] * len(times)
    ordered = sorted(costs)
    total = sum((len(ordered) - at) * cost for at, cost in enumerate(ordered))
    assert input_latency(run(paths_of(tmp_path, *burst), "pcs", tmp_path)) == pytest.approx(total / len(ordered))


def test_pcs_is_not_optimal_with_later_arrivals(tmp_path):
    """pcs runs the tuple of 2 s, then begins the one of 3 s; ten short ones arrive at 2.5 s and wait until 5. In the
    opposite order they would wait half a second. rr by path happens to use that order."""
    plan = paths_of(tmp_path, [[0.0], [2.5] * 10, [0.0]], [[(3.0, 1.0, 8.0)], [(0.1, 1.0, 8.0)], [(2.0, 1.0, 8.0)]])
    pcs = input_latency(run(plan, "pcs", tmp_path))
    other = input_latency(run(plan, "rr", tmp_path, unit="path", quantum=None))
    assert pcs == pytest.approx((2 + 5 + sum(2.5 + 0.1 * n for n in range(1, 11))) / 12)
    assert pcs > other == pytest.approx((3 + 6 + sum(0.5 + 0.1 * n for n in range(1, 11))) / 12)


def test_pcs_is_not_optimal_when_paths_are_interrupted(tmp_path):
    """prb stops the long tuple for the short one."""
    plan = paths_of(tmp_path, [[0.0], [1.0]], [[(10.0, 1.0, 8.0)], [(1.0, 1.0, 8.0)]])
    assert input_latency(run(plan, "pcs", tmp_path)) == (10 + 10) / 2
    assert input_latency(run(plan, "prb", tmp_path)) == (11 + 1) / 2


# Theorem 2 -------------------------------------------------------------------------------------------------------


def level(result, time):
    """Bytes in queues just after a time."""
    return next((held for at, held in reversed(result.trace.memory) if at <= time + 1e-7), 0.0)


@some
@given(burst=bursts(STEP).map(lambda burst: (burst[0], [path[:1] for path in burst[1]])))
def test_pcs_holds_the_least_memory_of_path_based_policies_at_any_instant(tmp_path, burst):
    """For paths of one operator, equal sizes and a burst: the shortest first leaves the fewest tuples."""
    plan = paths_of(tmp_path, *burst)
    ours = run(plan, "pcs", tmp_path)
    for policy, parameters in (("fifo", {}), ("rr", {"unit": "path", "quantum": None})):
        other = run(plan, policy, tmp_path, **parameters)
        for time in {at for result in (ours, other) for at, _ in result.trace.memory}:
            assert level(ours, time) <= level(other, time) + 1e-9, policy


def test_pcs_can_hold_more_memory_with_tuples_of_different_sizes(tmp_path):
    """pcs takes the small tuple of 1 s first, so after 2 s the large one is still there; fifo has finished it."""
    plan = paths_of(tmp_path, [[0.0], [0.0]], [[(2.0, 1.0, 8.0)], [(1.0, 1.0, 8.0)]])
    plan.streams["p0"].source["bytes"] = 100
    assert level(run(plan, "pcs", tmp_path), 2.0) == 100
    assert level(run(plan, "fifo", tmp_path), 2.0) == 8


# Theorem 3 -------------------------------------------------------------------------------------------------------


def paths_steps(plan):
    stats = DeclaredStats(plan)
    return [path_steps(plan, stats, path) for path in find_paths(plan)]


def same_pieces(plan):
    """Whether Chain's pieces are the segments, with releases so far apart that no order depends on rounding."""
    releases = []
    for steps in paths_steps(plan):
        segments = partition([operator_release(step) for step in steps])
        if segments != lower_envelope(progress_chart(steps)):
            return False
        releases += [segment_release(steps[first:end]) for first, end in segments]
    releases.sort()
    return all(b - a > 1e-6 for a, b in pairwise(releases))


@some
@given(st.lists(GROWING_STEP, min_size=1, max_size=6))
def test_a_segment_releases_no_more_slowly_than_its_first_operator(tmp_path_factory, path):
    """The sound core of the proof: a run of non-decreasing releases has at least the release of its first operator."""
    (steps,) = paths_steps(paths_of(tmp_path_factory.getbasetemp(), [[0.0]], [path]))
    for first, end in partition([operator_release(step) for step in steps]):
        own = operator_release(steps[first])
        assert segment_release(steps[first:end]) >= own - 1e-9 * abs(own)


@some
@given(burst=bursts(GROWING_STEP))
def test_segment_holds_no_more_memory_than_chain(tmp_path, burst):
    """Peak and mean, also with operators that make tuples larger."""
    plan = paths_of(tmp_path, *burst)
    assume(same_pieces(plan))
    ours, chain = (run(plan, policy, tmp_path).report["memory"] for policy in ("segment", "chain"))
    assert ours["max"] <= chain["max"] * (1 + 1e-9)
    assert ours["mean"] <= chain["mean"] * (1 + 1e-9)


def test_segment_can_hold_less_than_chain(tmp_path):
    """Each tuple grows from 8 to 16 bytes and then vanishes: Chain lets all of them grow first."""
    plan = paths_of(tmp_path, [[0.0] * 3], [[(1.0, 1.0, 16.0), (1.0, 1.0, 8.0)]])
    assert run(plan, "segment", tmp_path).report["memory"]["max"] == 3 * 8 + 8
    assert run(plan, "chain", tmp_path).report["memory"]["max"] == 3 * 16


def test_segment_can_hold_more_than_chain_with_later_arrivals(tmp_path):
    """One path: O1 halves a tuple in 1 s, then O2 and O3 take 20 s each. A burst arrives while O2 runs: Chain turns to
    the burst after O2 and shrinks it first, segment only after O3."""
    steps = [[(1.0, 0.5, 8.0), (20.0, 1.0, 7.0), (20.0, 1.0, 8.0)]]
    plan = paths_of(tmp_path, [[0.0, 2.0, 2.0, 2.0, 12.0, 12.0]], steps)
    assert same_pieces(plan)
    segment, chain = (run(plan, policy, tmp_path).report["memory"] for policy in ("segment", "chain"))
    assert segment["mean"] > chain["mean"]
    assert segment["max"] > chain["max"]


def test_segment_can_hold_more_than_chain_when_the_pieces_differ(tmp_path):
    """T5's last row, followed by a last operator: Chain's piece {1,2,3} has slope 0.7333, the segments {1,2} 0.7 and
    {3} 0.8. A path with 0.72 goes before {1,2} and after {1,2,3}."""
    t5 = [(1.0, 1.0, 9.5), (1.0, 1.0, 8.6), (1.0, 1.0, 7.8), (100.0, 1.0, 8.0)]
    other = [(1.0, 1.0, 8 - 0.72), (1000.0, 1.0, 8.0)]
    plan = paths_of(tmp_path, [[0.0], [0.0]], [t5, other])
    plan.streams["p0"].source["bytes"] = 10
    assert not same_pieces(plan)
    segment, chain = (run(plan, policy, tmp_path).report["memory"] for policy in ("segment", "chain"))
    assert segment["mean"] > chain["mean"]
