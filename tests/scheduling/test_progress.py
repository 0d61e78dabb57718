"""Progress, step by step: which instants a call may evaluate, and who has to be run when only time has passed."""

from __future__ import annotations

from headgate.plan.model import Plan
from headgate.plan.operators import Port
from headgate.scheduling.progress import BEGINNING, Bounds, Progress, timed_operators
from headgate.sql.schema import FOREVER
from tests.scheduling.timed import Edge, Queue, Row, plan_of

COUNT = {"q": "SELECT k, count(*) AS n FROM s [RANGE 3] WHERE k > 0 GROUP BY k"}
WHERE, GROUP, CHANGES = "q/where", "q/group", "q/changes"
PAIRS = {"q": "SELECT s.k FROM s [RANGE 3], r [RANGE 3] WHERE s.k = r.k"}


class Bench:
    """A Progress with queues, and streams whose latest times the test says."""

    def __init__(self, queries: dict[str, str]) -> None:
        self.plan: Plan = plan_of(queries)
        self.queues = {edge: Queue() for edge in self.plan.edges}
        self.reached: dict[str, int] = {}
        self.progress = Progress(self.plan, self.queues, self.reached.get)

    def arrive(self, stream: str, *times: int) -> list[str]:
        """Tuples in order, without slack."""
        self.reached[stream] = max(times)
        for edge in self.plan.consumers[Port(stream)]:
            self.queues[edge].put([Row(time) for time in times])
        return self.advance(stream, max(times) - 1)

    def advance(self, stream: str, to: int) -> list[str]:
        self.progress.advance(Port(stream), to)
        return self.progress.settle((stream,)).due

    def call(self, *operators: str, take: int = 100, gives: int = 0, event: int = FOREVER) -> dict[str, Bounds]:
        """A whole call: its last operator gives some rows to whoever reads it."""
        bounds = self.begin(*operators, take=take)
        for port in self.plan.operators[operators[-1]].ports:
            for edge in self.plan.consumers[port]:
                self.queues[edge].put([Row(0)] * gives)
        self.progress.finish(bounds, dict.fromkeys(bounds, event))
        self.end(*operators)
        return bounds

    def begin(self, *operators: str, take: int = 100) -> dict[str, Bounds]:
        for edge, queue in self.queues.items():
            if edge.operator in operators:
                queue.take(take)
        return self.progress.begin(operators)

    def end(self, *operators: str) -> list[str]:
        self.progress.end(operators)
        return self.progress.settle(operators).due


def test_only_operators_that_lead_to_state_are_timed() -> None:
    plan = plan_of({**COUNT, "plain": "SELECT k FROM s WHERE k > 0"})
    assert set(timed_operators(plan)) == {WHERE, "q/select", GROUP, CHANGES, "q/select2"} & set(plan.operators)
    progress = Progress(plan_of({"plain": "SELECT k FROM s"}), {}, {}.get)
    assert not progress.tracks


def test_progress_stays_behind_the_rows_it_speaks_of() -> None:
    bench = Bench(PAIRS)
    bench.arrive("s", 5)
    bench.arrive("r", 7)
    assert bench.call("q/join", take=0) == {"q/join": Bounds(BEGINNING, BEGINNING)}
    assert bench.call("q/join") == {"q/join": Bounds(BEGINNING, 4)}
    bench.arrive("s", 9)
    assert bench.call("q/join") == {"q/join": Bounds(4, 6)}


def test_taking_a_part_gets_as_far_as_the_marks_in_it() -> None:
    bench = Bench(PAIRS)
    bench.arrive("r", 100)
    bench.call("q/join")
    for time in (3, 6, 9):
        bench.arrive("s", time)
    assert bench.call("q/join", take=2)["q/join"].end == 5
    assert bench.call("q/join", take=0)["q/join"] == Bounds(5, 5)
    assert bench.call("q/join", take=1)["q/join"] == Bounds(5, 8)


def test_a_long_batch_has_marks_inside() -> None:
    bench = Bench(PAIRS)
    bench.arrive("r", 100)
    bench.queues[Edge("q/join", 0)].put([Row(t) for t in range(1, 11)])
    bench.reached["s"] = 10
    bench.progress.advance(Port("s"), 4, behind=5)
    bench.progress.advance(Port("s"), 9)
    assert bench.call("q/join", take=4)["q/join"].end == BEGINNING
    assert bench.call("q/join", take=1)["q/join"].end == 4
    assert bench.call("q/join")["q/join"].end == 9


def test_progress_never_goes_back() -> None:
    bench = Bench(PAIRS)
    bench.arrive("s", 9)
    bench.arrive("r", 9)
    assert bench.call("q/join")["q/join"].end == 8
    bench.progress.advance(Port("s"), 3)
    assert bench.call("q/join")["q/join"] == Bounds(8, 8)


def test_an_operator_waits_for_the_slowest_input() -> None:
    bench = Bench(PAIRS)
    bench.arrive("s", 50)
    assert bench.call("q/join")["q/join"].end == BEGINNING  # nothing is known of r
    bench.arrive("r", 3)
    assert bench.call("q/join")["q/join"].end == 2
    bench.advance("r", FOREVER)
    assert bench.call("q/join")["q/join"].end == 49
    bench.advance("s", FOREVER)
    assert bench.call("q/join")["q/join"].end == 50, "time ends at the last event of all inputs"


def test_state_stops_progress_until_it_has_been_evaluated() -> None:
    bench = Bench(COUNT)
    where, *_, changes = bench.plan.queries["q"].operators
    bench.arrive("s", 5)
    bench.call(where, gives=1)
    assert bench.begin(changes)[changes].end == BEGINNING
    bench.end(changes)
    for name in bench.plan.queries["q"].operators[1:-1]:
        bench.call(name, gives=1, event=8)
    assert bench.call(changes)[changes].end == 4


def test_time_alone_makes_an_operator_due_at_its_next_event() -> None:
    bench = Bench({"q": "ISTREAM(SELECT k FROM s [RANGE 3])"})
    (name,) = [n for n, o in bench.plan.operators.items() if o.stateful]
    for before in bench.plan.queries["q"].operators:
        if before != name:
            bench.arrive("s", 5)
            bench.call(before, gives=1)
    if not bench.queues[Edge(name, 0)].count:
        bench.arrive("s", 5)
    bench.call(name, event=8)
    assert bench.advance("s", 7) == []
    bench.reached["s"] = 9
    assert bench.advance("s", 8) == [name]
    assert bench.begin(name)[name].end == 8
    assert bench.progress.settle(("s",)).due == [], "it flies already"


def test_a_stream_concerns_only_the_queries_that_read_it() -> None:
    """And what comes after an operator that they share with others, since it goes on when their streams do."""
    bench = Bench(
        {
            "a": "SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k",
            "b": "SELECT k, count(*) AS n FROM r [RANGE 3] GROUP BY k",
            "c": "SELECT s.k FROM s [RANGE 3], r [RANGE 3] WHERE s.k = r.k",
        }
    )
    owners, concerned = bench.plan.owners, bench.progress._concerned
    assert {query for name in concerned(("s",)) for query in owners[name]} == {"a", "c"}
    assert {query for name in concerned(("r",)) for query in owners[name]} == {"b", "c"}
    last = bench.plan.queries["a"].root.node
    assert concerned((last,)) == ((last,) if last in timed_operators(bench.plan) else ())


def test_a_failed_call_evaluated_nothing() -> None:
    bench = Bench(PAIRS)
    bench.arrive("s", 5)
    bench.arrive("r", 7)
    rows = {edge: list(queue.rows) for edge, queue in bench.queues.items()}
    assert bench.begin("q/join")["q/join"].end == 4
    bench.arrive("s", 6)
    for edge, own in rows.items():
        bench.queues[edge].rows[:0] = own  # its input goes back to the head
    bench.end("q/join")
    assert bench.call("q/join", take=0)["q/join"] == Bounds(BEGINNING, BEGINNING)
    assert bench.call("q/join", take=1)["q/join"] == Bounds(BEGINNING, 4)
    assert bench.call("q/join", take=1)["q/join"] == Bounds(4, 5)


def test_rows_that_wait_inside_a_unit_hold_progress_back() -> None:
    bench = Bench(COUNT)
    chain = bench.plan.queries["q"].operators
    before, group = chain[: chain.index(GROUP)], GROUP
    bench.arrive("s", 5, 6)
    bench.call(*before, gives=2)
    bench.arrive("s", 9)
    assert bench.begin(*before, group, take=1)[group].end <= 4, "a row of 6 waits in front of the aggregate"
    bench.end(*before, group)
    assert bench.begin(*before, group)[group].end == 8


def test_within_a_unit_progress_passes_from_operator_to_operator() -> None:
    bench = Bench(COUNT)
    bench.arrive("s", 5)
    bounds = bench.call(*bench.plan.queries["q"].operators)
    assert {name: b.end for name, b in bounds.items()} == {GROUP: 4, CHANGES: 4}


def test_a_shared_operator_goes_on_to_the_last_event_of_all_its_queries() -> None:
    queries = {"a": "SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k", "b": "SELECT a.k FROM a, r WHERE a.k = r.k"}
    for stopped, last in (((), 20), (("b",), 5)):
        bench = Bench(queries)
        bench.arrive("s", 5)
        bench.arrive("r", 20)
        bench.advance("s", FOREVER)
        rest = bench.plan.without(stopped)
        bench.progress.set_plan(rest, {e: queue for e, queue in bench.queues.items() if e.operator in rest.operators})
        unit = [name for name in rest.queries["a"].operators if name != "a/changes"]
        assert bench.begin(*unit)["a/group"].end == last
        assert bench.progress.last_of(bench.progress.streams_of("a")) == 5
        assert bench.progress.streams_of("b") == (() if stopped else ("s", "r"))


def test_without_any_event_nothing_is_evaluated() -> None:
    bench = Bench(PAIRS)
    bench.advance("s", FOREVER)
    bench.advance("r", FOREVER)
    assert bench.call("q/join")["q/join"] == Bounds(BEGINNING, BEGINNING)


def test_a_call_tells_where_progress_came() -> None:
    bench = Bench({**COUNT, "other": "SELECT k, count(*) AS n FROM r [RANGE 3] GROUP BY k"})
    bench.arrive("s", 5)
    bench.arrive("r", 5)
    bench.begin(WHERE)
    bench.progress.end([WHERE])
    moved = bench.progress.settle([WHERE]).moved
    assert Edge(GROUP, 0) in moved
    assert {edge.operator.split("/")[0] for edge in moved} == {"q"}
    assert bench.progress.settle([WHERE]).moved == set()


def test_of_time_that_passes_while_rows_wait_only_the_latest_is_kept() -> None:
    bench = Bench(COUNT)
    bench.arrive("s", 5)
    for time in range(5, 1000):
        bench.reached["s"] = time
        bench.advance("s", time)
    assert len(bench.progress._marks[Edge(WHERE, 0)]) == 1
    bench.call(WHERE)
    assert bench.call(GROUP)[GROUP].end == 999


def test_a_query_may_stop_while_its_streams_are_asked_for() -> None:
    class Stopping(Progress):
        """The plan is another one each time it is looked at."""

        plans: list[Plan]

        @property
        def _plan(self) -> Plan:
            return self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]

        @_plan.setter
        def _plan(self, plan: Plan) -> None:
            self.plans = [plan]

    plan = plan_of(COUNT)
    progress = Stopping(plan, {edge: Queue() for edge in plan.edges}, {"s": 7}.get)
    progress.plans = [plan, plan.without(["q"])]
    assert progress.streams_of("q") == ("s",)
    assert progress.last_of(("s",)) == 7
    assert progress.streams_of("q") == ()
