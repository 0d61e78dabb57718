"""The inputs of an operator seen as one queue: the same as asking each of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.metrics.monitor import Monitor
from headgate.runtime.simulated.network import Network
from tests.conformance.plans import feeder, make_app, make_plan, union

MOVES = ("append", "appendleft", "extend", "popleft", "clear")


@given(moves=st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 2), st.integers(0, 3)), max_size=30))
def test_a_joint_queue_follows_every_change_of_its_queues(moves: list[tuple[str, int, int]]) -> None:
    plan = make_plan({f"s{at}": feeder() for at in range(3)}, [union("q/u", "s0", "s1", "s2")], {"q": "q/u"})
    node = Network(make_app(plan), Monitor(plan)).nodes["q/u"]
    joint, queues = node.joint, node.queues
    assert joint is not None
    for move, at, arrival in moves:
        item = (float(arrival), 0, 1.0)
        if move == "extend":
            queues[at].extend([item, item])
        elif move.startswith("append"):
            getattr(queues[at], move)(item)
        elif queues[at]:
            getattr(queues[at], move)()
        filled = [queue for queue in queues if queue]
        assert joint.count == node.queued
        assert joint.bytes == sum(queue.bytes for queue in queues)
        assert joint.oldest == min((queue[0][0] for queue in filled), default=None)
        assert joint.first is min(filled, key=lambda queue: queue[0][0], default=None)
