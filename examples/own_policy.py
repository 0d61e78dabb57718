"""A policy of your own: write it, check it, compare it with another.

python examples/own_policy.py
"""

import headgate as hg
from headgate.testing import check_policy


@hg.register
class ShortestQueue(hg.Policy):
    """The unit with the fewest waiting tuples first."""

    name = "shortest"
    unit = "query"

    def choose(self, slot: int) -> hg.Decision | None:
        ready = self.view.ready()
        return hg.Decision(min(ready, key=lambda unit: unit.waiting), inspected=len(ready)) if ready else None


check_policy(ShortestQueue)

app = hg.Application(slots=1)
app.stream("readings", "room INT, temperature DOUBLE", source=hg.sources.Feeder(rate=500, rows=2000))
for name, limit in (("warm", 0.2), ("hot", 0.9)):
    cql = f"SELECT room, temperature FROM readings WHERE temperature > {limit}"
    app.query(name, cql, stats={"where": {"cost": "900us"}})

for policy in ("shortest", "fifo"):
    report = app.with_settings(policy=policy).simulate()
    print(policy, {name: query.latency.mean for name, query in report.queries.items()})
