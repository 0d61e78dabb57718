"""adaptive: tries every candidate, then draws by scores; and follows a change of the plan."""

import pytest

import headgate as hg
from headgate.application.checked import RunLimits
from headgate.policies.goal_scores import GoalScores
from headgate.policies.registry import make_policy
from headgate.runtime.simulated import simulate
from headgate.scheduling.policy import PolicyError
from tests.conformance.plans import feeder, make_app, make_plan, select
from tests.policies.boards import TimedHarness

ADD = GoalScores.add
LATENCY = [{"statistic": "latency", "weight": 1.0}]


def two_queries(rate=80.0, rows=2400):
    operators = [select("quick/a", "s", 0.002, 0.5), select("slow/a", "t", 0.02, 0.5)]
    streams = {"s": feeder(rate, rows), "t": feeder(rate / 2, rows // 2)}
    return make_plan(streams, operators, {"quick": "quick/a", "slow": "slow/a"})


def run(monkeypatch, seconds=30.0, seed=1, **parameters):
    """The candidates in the order in which they ran for a period, by their numbers."""
    ran = []

    def add(self, candidate, measured):
        ran.append(candidate)
        ADD(self, candidate, measured)

    monkeypatch.setattr(GoalScores, "add", add)
    app = make_app(two_queries(), "adaptive", {"goals": LATENCY, **parameters}, seed=seed)
    simulate(app, RunLimits(seconds=seconds))
    return ran


def test_every_candidate_runs_once_in_order_before_any_is_chosen(monkeypatch):
    ran = run(monkeypatch, candidates=["fifo", "hr", "rr", "mtiq"])
    assert ran[:4] == [0, 1, 2, 3]
    assert len(ran) == 30
    assert set(ran[4:]) == {0, 1, 2, 3}


def test_the_greedy_one_stays_with_the_best(monkeypatch):
    """hr has a lower mean latency than any of the others on this plan: it serves the quick query first."""
    ran = run(monkeypatch, candidates=["mtiq", "hr"], selection="greedy", decay=1.0)
    assert ran.count(1) > 0.7 * len(ran)


def test_the_same_seed_gives_the_same_run(monkeypatch):
    first, second, other = (run(monkeypatch, seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert first != other


def test_no_result_depends_on_the_choices():
    plan, limits = two_queries(), RunLimits(until_idle=True)

    def results(policy, parameters=None):
        found = simulate(make_app(plan, policy, parameters), limits, trace=True)
        return sorted((one.query, one.arrival, one.key) for one in found.trace.results)

    assert results("adaptive", {"period": 0.05}) == results("fifo")


def test_goals_of_the_application_are_used_unless_the_policy_has_its_own():
    memory = [{"statistic": "memory", "weight": 1.0}]
    app = hg.Application(policy="adaptive", goals=memory)
    app.stream("s", "k INT", source=hg.sources.Feeder(rate=1, rows=1))
    app.query("q", "SELECT k FROM s", policy="adaptive", goals=LATENCY)
    checked = app.checked()
    assert make_policy(checked.policy.name, checked.policy.parameters).goals[0].statistic == "memory"
    own = checked.plan.queries["q"].policy
    assert make_policy(own.name, own.parameters).goals[0].statistic == "latency"
    explicit = app.with_settings(policy={"name": "adaptive", "goals": LATENCY}).checked()
    assert make_policy(explicit.policy.name, explicit.policy.parameters).goals[0].statistic == "latency"


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"candidates": []}, "must be a list"),
        ({"candidates": "rr"}, "must be a list"),
        ({"candidates": ["adaptive"]}, "cannot be one of the candidates"),
        ({"candidates": ["master"]}, "cannot be one of the candidates"),
        ({"candidates": ["nothing"]}, "there is no policy 'nothing'"),
        ({"candidates": [{"name": "rr", "quantum": -1}]}, "quantum"),
        ({"period": 0}, "period"),
        ({"decay": 1.5}, "decay"),
        ({"selection": "best"}, "selection"),
        ({"goals": [{"statistic": "memory", "weight": 2}]}, "weight"),
        ({"remember": 0}, "remember"),
    ],
)
def test_wrong_parameters_are_refused(parameters, said):
    with pytest.raises(PolicyError, match=said):
        make_policy("adaptive", parameters)


def test_queries_that_come_begin_a_new_history():
    plan = two_queries()
    harness = TimedHarness(plan, "adaptive", candidates=["rr", "hr"])
    policy = harness.policy
    for _ in range(12):
        harness.board.now = policy.review_at
        harness.board.review()
    assert policy.scores()
    harness.board.install(policy, plan.without(["quick"]))
    assert policy.scores() == {}
    assert policy.current.name == "rr"
