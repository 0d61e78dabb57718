"""How long a query may linger: as long as its promised latency has room for.

The longer tuples wait for company, the fewer calls there are, and the less processor time they cost. So a query whose
latency is far below what is promised waits longer, and one that comes close to it does not wait.
"""

from __future__ import annotations

from headgate.plan.model import Query

ROOM, TIGHT = 0.5, 0.8  # of the expected latency: below ROOM a query may wait longer, above TIGHT less
MOST = 0.25  # the longest wait, as a share of the expected latency
FIRST_S = 0.002  # where a wait begins that was nothing before


class Patience:
    """Sets the linger of one query. `start_s` is what applies to queries that do not say."""

    def __init__(self, query: Query, start_s: float) -> None:
        self._measure = next((one for one in query.qos if one.name == "latency" and one.priority == "must"), None)
        self.linger_s = start_s

    def adjusted(self, latency: float | None, later: float) -> float | None:
        """The new linger after a period with this latency; None: as before. `later`: when to look at the graph."""
        if self._measure is None or latency is None:
            return None
        expected = self._measure.graph.expected(later)
        wanted = self.linger_s
        if latency > expected:
            wanted = 0.0
        elif latency > TIGHT * expected:
            wanted = 0.0 if wanted <= FIRST_S else wanted / 2
        elif latency < ROOM * expected:
            wanted = max(FIRST_S, 2 * wanted)
        wanted = min(wanted, MOST * expected)
        if wanted == self.linger_s:
            return None
        self.linger_s = wanted
        return wanted
