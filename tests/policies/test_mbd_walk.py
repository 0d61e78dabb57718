"""A slot passes over the places of a unit that another slot runs at once: with what comes of it, nothing changes."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.policies.mbd import MultiBroadcastDisk


class SteppingBroadcastDisk(MultiBroadcastDisk):
    """Steps over such places one by one, as a policy that looks ahead has to."""

    name = "stepping_mbd"
    AHEAD = 2


def report(policy: Any, seed: int, slots: int, rate: float, priority: int) -> dict[str, Any]:
    app = hg.Application(policy=policy, slots=slots, seed=seed, simulator={"call": "1 ms", "inspect": "1 us"})
    for number, (name, given_priority) in enumerate((("a", priority), ("b", 3), ("c", 1)), start=1):
        app.add_class(name, given_priority)
        for query in range(2):
            stream = f"s_{name}{query}"
            source = {"kind": "feeder", "rate": rate * number, "arrivals": "poisson", "rows": 200}
            app.stream(stream, "k INT, v DOUBLE", source=source)
            cost = {"where": {"cost": f"{200 * (1 + query)} us", "selectivity": 0.5}}
            app.query(f"q_{name}{query}", f"SELECT k FROM {stream} WHERE v > 0.5", in_class=name, stats=cost)
    found = app.simulate().to_dict()
    return {key: value for key, value in found.items() if key not in ("policy", "policies")}


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 99), slots=st.integers(1, 3), rate=st.sampled_from([50.0, 300.0]), priority=st.integers(4, 200)
)
def test_passing_over_many_places_at_once_decides_as_stepping_does(
    seed: int, slots: int, rate: float, priority: int
) -> None:
    stepping = report(SteppingBroadcastDisk, seed, slots, rate, priority)
    assert report("mbd", seed, slots, rate, priority) == stepping
