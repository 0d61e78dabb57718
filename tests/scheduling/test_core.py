"""The scheduling core under every policy: any order of events gives the same answer, and no tuple is lost.

No Spark: a caller of plain Python evaluates the calls. Hypothesis draws plans, rows and the order of arrivals, calls,
failures and changes; the reference evaluator, or one call of every operator over everything, says what must come out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.application.checked import PolicySettings
from headgate.plan.added_queries import plan_of_added
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Plan, QueryClass
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.policies.registry import make_policy
from headgate.scheduling.calls import Outcome
from headgate.scheduling.event_log import EventLog, describe_instruction, replay
from headgate.scheduling.events import (
    CallEnded,
    ClassAdded,
    ClassRemoved,
    PolicyReplaced,
    PriorityChanged,
    QueryClassChanged,
    QueryQosChanged,
    QueryToleranceChanged,
    SheddingChanged,
)
from tests.conformance.choices import ALL, label
from tests.conformance.plans import SCHEMA
from tests.conformance.reference import Row, evaluate
from tests.conformance.strategies import CLASSES, plans
from tests.scheduling.driven_core import DrivenCore
from tests.scheduling.plain_caller import TimedCaller, times_of, values_of
from tests.scheduling.timed import PLANS, in_one_go, plan_of, source_table
from tests.tiers import examples

TIMED = {name: plan_of(queries) for name, queries in PLANS.items()}
SCHEDULES = {"quick": 20, "nightly": 200}  # drawn by each case
EXAMPLES = settings(max_examples=examples(*SCHEDULES.values()), deadline=None, suppress_health_check=list(HealthCheck))
CHANCE = st.randoms(use_true_random=False)


class SlotEvents:
    """What may happen in slots, drawn: a free one asks for a call, a call ends well or badly."""

    chance: Random
    driven: DrivenCore

    def ask(self) -> None:
        free = [slot for slot in range(self.driven.slots) if slot not in self.driven.calls]
        if free:
            self.driven.ask(self.chance.choice(free))

    def finish(self) -> None:
        if slots := sorted(self.driven.calls):
            self.driven.finish(self.chance.choice(slots))

    def give_up(self) -> None:
        if slots := sorted(self.driven.calls):
            self.driven.give_up(self.chance.choice(slots))

    def fail(self) -> None:
        if (slots := sorted(self.driven.calls)) and self.chance.random() < 0.3:
            slot = self.chance.choice(slots)
            self.driven.fail(slot, self.chance.choice(self.driven.calls[slot].operators))


class Script(SlotEvents):
    """A run of a stateless plan: what happens next is drawn, until everything has arrived and been processed."""

    def __init__(self, plan: Plan, policy: PolicySettings, chance: Random) -> None:
        self.chance = chance
        self.whole = plan
        self.later = {name for name in plan.queries if chance.random() < 0.3}
        self.later -= {next(iter(plan.queries))}
        self.rows = {name: _rows(chance) for name in plan.streams}
        self.sent = dict.fromkeys(plan.streams, 0)
        self.began: dict[str, Mapping[str, int]] = dict.fromkeys(plan.queries, self.sent)  # rows sent before it
        slots, limit = chance.randint(1, 3), chance.choice([None, None, 500, 2000])
        first = plan.without(self.later)
        linger_s = chance.choice([0.0, 0.0, 0.2])
        self.driven = DrivenCore(first, policy.name, policy.parameters, slots, chance.randint(0, 9), limit, linger_s)
        self.began = {name: dict(self.sent) for name in first.queries}
        self.tolerated: set[str] = set()  # queries of which something may have been dropped

    def run(self) -> None:
        """Draw events until everything has been sent, then let everything end."""
        actions = [self.arrive] * 4 + [self.ask] * 5 + [self.finish] * 5
        actions += [self.give_up, self.fail, self.refuse, self.stop, self.set_priority, self.set_class]
        actions += [self.replace_policy, self.add, self.set_qos, self.set_tolerance, self.change_classes]
        for _ in range(self.chance.randint(5, 60)):
            self.driven.now += self.chance.choice([0.0, 0.001, 0.3])
            self.chance.choice(actions)()
        while self.later:
            self.add()
        while any(self.sent[name] < len(rows) for name, rows in self.rows.items()):
            self.arrive()
        for name in self.whole.streams:
            self.driven.end(name)
        self.driven.drain()

    def check(self) -> None:
        """Each query that is left, and never tolerated anything, has given what the reference evaluator says."""
        driven = self.driven
        assert driven.finished, "the run is over, and the core has said so"
        assert not any(driven.core.unfinished().values())
        assert driven.core.memory.waiting == driven.core.memory.used == driven.core.memory.spilled_bytes == 0
        assert not driven.shelf.tables, "no spilled batch is left behind"
        for name in driven.core.plan.queries.keys() - self.tolerated:
            since = {stream: rows[self.began[name][stream] :] for stream, rows in self.rows.items()}
            assert Counter(values_of(driven.results[name])) == evaluate(self.whole, since)[name], name

    # What may happen ----------------------------------------------------------------------------------------------

    def arrive(self) -> None:
        tables = {}
        for name, rows in self.rows.items():
            first, count = self.sent[name], self.chance.randint(0, 5)
            if part := rows[first : first + count]:
                tables[name] = _table(part, round(self.driven.now * 1e6))
                self.sent[name] += len(part)
        self.driven.arrive(tables, complete=self.chance.choice([[], list(self.rows)]))

    def refuse(self) -> None:
        if (slots := sorted(self.driven.calls)) and self.chance.random() < 0.3:
            slot = self.chance.choice(slots)
            self.driven.refuse(slot, self.chance.choice(self.driven.calls[slot].unit.queries))

    def stop(self) -> None:
        if (running := list(self.driven.core.plan.queries)) and self.chance.random() < 0.2:
            self.driven.stop([self.chance.choice(running)])

    def set_priority(self) -> None:
        name = self.chance.choice(list(CLASSES))
        self.driven.handle(PriorityChanged(self.driven.now, name, self.chance.randint(1, 9)))

    def set_class(self) -> None:
        if running := list(self.driven.core.plan.queries):
            name = self.chance.choice(list(CLASSES))
            self.driven.handle(QueryClassChanged(self.driven.now, self.chance.choice(running), name))

    def replace_policy(self) -> None:
        policy = self.chance.choice(ALL)
        self.driven.handle(PolicyReplaced(self.driven.now, policy.name, policy.parameters, "drawn"))

    def set_qos(self) -> None:
        if running := list(self.driven.core.plan.queries):
            graph = QosGraph(((0.0, self.chance.choice([0.01, 1.0])), (9.0, 1.0)))
            qos = self.chance.choice([(), (QosMeasure("latency", "must", graph),)])
            self.driven.handle(QueryQosChanged(self.driven.now, self.chance.choice(running), qos))

    def set_tolerance(self) -> None:
        """A query tolerates an error, and half of what comes may be dropped; or it tolerates none any more."""
        if running := list(self.driven.core.plan.queries):
            name, tolerance = self.chance.choice(running), self.chance.choice([None, 0.5])
            self.driven.handle(QueryToleranceChanged(self.driven.now, name, tolerance, None))
            mine = [edge for edge, one in self.driven.core.shedders.items() if one.query == name]
            assert tolerance or not mine
            for edge in mine:
                self.tolerated.add(name)
                self.driven.handle(SheddingChanged(self.driven.now, edge, 64))

    def change_classes(self) -> None:
        """A class comes, or goes again."""
        classes = self.driven.core.plan.classes
        event = ClassRemoved(self.driven.now, "new") if "new" in classes else None
        self.driven.handle(event or ClassAdded(self.driven.now, QueryClass("new", self.chance.randint(1, 9))))

    def add(self) -> None:
        if not self.later:
            return
        name = self.chance.choice(sorted(self.later))
        self.later.discard(name)
        self.began[name] = dict(self.sent)
        if self.chance.random() < 0.3 and self.driven.ended:  # a query that has ended is forgotten
            self.driven.remove(self.chance.choice(sorted(self.driven.ended)))
        self.driven.add(plan_of_added(self.whole, self.whole.queries.keys() - {name}))


def _rows(chance: Random) -> list[Row]:
    value = [None, *range(31)]
    return [(chance.choice([None, 0, 1, 2, 3]), chance.choice(value), at) for at in range(chance.randint(0, 25))]


def _table(rows: list[Row], now_us: int) -> pa.Table:
    columns = [[row[i] for row in rows] for i in (0, 1)] + [[now_us] * len(rows), [row[2] for row in rows]]
    schema = arrow_schema(SCHEMA)
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


@pytest.mark.parametrize("policy", ALL, ids=label)
@EXAMPLES
@given(plan=plans(max_operators=6), chance=CHANCE)
def test_any_order_of_events_gives_the_reference_answer(policy: PolicySettings, plan: Plan, chance: Random) -> None:
    script = Script(plan, policy, chance)
    script.run()
    script.check()


@EXAMPLES
@given(plan=plans(max_operators=4), policy=st.sampled_from(ALL), chance=CHANCE)
def test_a_recorded_run_can_be_replayed(
    tmp_path_factory: pytest.TempPathFactory, plan: Plan, policy: PolicySettings, chance: Random
) -> None:
    """From its events alone, every instruction is given once more."""
    script = Script(plan, policy, chance)
    script.run()
    path = tmp_path_factory.mktemp("log") / "events"
    log = EventLog(path, script.driven.settings, script.driven.limit_bytes)
    for event, _ in script.driven.steps:
        log.record(event)
    log.close()
    again = [[describe_instruction(one) for one in instructions] for _, instructions, _ in replay(path, make_policy)]
    assert again == [instructions for _, instructions in script.driven.steps]


@pytest.mark.parametrize("policy", ALL, ids=label)
def test_a_call_may_outlive_the_last_query(policy: PolicySettings) -> None:
    driven = DrivenCore(TIMED["chain"], policy.name, policy.parameters, caller=TimedCaller())
    driven.arrive({name: source_table([1, 2, 9], 0) for name in driven.plan.streams})
    assert driven.ask(0)
    driven.stop(list(driven.plan.queries))
    driven.now = 1.0
    driven.finish(0)
    assert driven.finished


def test_a_query_may_be_removed_during_its_call() -> None:
    driven = DrivenCore(TIMED["chain"], caller=TimedCaller())
    driven.arrive({name: source_table([1, 2, 9], 0) for name in driven.plan.streams})
    assert driven.ask(0)
    call = driven.calls.pop(0)
    result = driven.caller.run(call)
    for query in call.unit.queries:
        driven.remove(query)
    written = {query: [source_table([1], 0)] for query in call.unit.queries}  # handed out just before
    driven.handle(CallEnded(1.0, 0, Outcome([result]), written))
    assert not driven.core.monitor.queries & set(call.unit.queries)


class TimedScript(SlotEvents):
    """A run of a plan with state: times go up and down a little, some tuples are late, queries join and stop."""

    def __init__(self, plan: Plan, policy: PolicySettings, chance: Random) -> None:
        self.plan, self.chance = plan, chance
        self.sent: dict[str, list[int]] = {name: [] for name in plan.streams}
        self.clock = 0
        self.later = {name for name in list(plan.queries)[1:] if chance.random() < 0.3}
        self.since: dict[str, dict[str, int]] = {}
        first = plan.without(self.later)
        self.driven = DrivenCore(first, policy.name, policy.parameters, chance.randint(1, 3), caller=TimedCaller())

    def run(self) -> None:
        actions = [self.arrive] * 4 + [self.ask] * 5 + [self.finish] * 5
        actions += [self.give_up, self.fail, self.stop, self.join, self.set_qos]
        for _ in range(self.chance.randint(5, 60)):
            self.driven.now += self.chance.choice([0.0, 0.001, 0.3, 2.0])
            self.chance.choice(actions)()
        while self.later:
            self.join()
        for name in self.plan.streams:
            self.driven.end(name)
        self.driven.drain()

    def check(self) -> None:
        assert self.driven.finished
        wanted = in_one_go(self.plan, self.sent, self.since)
        for name in self.driven.core.plan.queries:
            assert Counter(times_of(self.driven.results[name])) == wanted[name], name

    def join(self) -> None:
        """A query joins, unless it would be the first to read a stream: that would then begin anew."""
        ready = [name for name in sorted(self.later) if self._streams(name) <= self.driven.core.time.open]
        if not ready:
            self.later.clear()  # the streams of what is left are not read any more
            return
        name = self.chance.choice(ready)
        self.later.discard(name)
        self.since[name] = {stream: len(times) for stream, times in self.sent.items()}
        self.driven.add(plan_of_added(self.plan, self.plan.queries.keys() - {name}))

    def set_qos(self) -> None:
        if running := list(self.driven.core.plan.queries):
            graph = QosGraph(((0.0, self.chance.choice([0.0001, 1.0])), (9.0, 1.0)))
            qos = (QosMeasure("latency", "must", graph),)
            self.driven.handle(QueryQosChanged(self.driven.now, self.chance.choice(running), qos))

    def _streams(self, query: str) -> set[str]:
        return {stream for stream in self.plan.streams if query in self.plan.readers(stream)}

    def arrive(self) -> None:
        tables = {}
        read = sorted(self.driven.core.time.open)
        for name in self.chance.sample(read, self.chance.randint(1, len(read))) if read else ():
            times = []
            for _ in range(self.chance.randint(1, 4)):
                self.clock = max(0, self.clock + self.chance.randint(-3, 3))
                times.append(self.clock)
            tables[name] = source_table(times, len(self.sent[name]))
            self.sent[name] += times
        self.driven.arrive(tables)

    def stop(self) -> None:
        if len(running := list(self.driven.core.plan.queries)) > 1 and self.chance.random() < 0.2:
            self.driven.stop([self.chance.choice(running)])


@pytest.mark.parametrize("policy", ALL, ids=label)
@EXAMPLES
@given(queries=st.sampled_from(sorted(PLANS)), chance=CHANCE)
def test_plans_with_state_evaluate_every_instant_once(policy: PolicySettings, queries: str, chance: Random) -> None:
    script = TimedScript(TIMED[queries], policy, chance)
    script.run()
    script.check()
