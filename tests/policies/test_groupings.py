"""Which queries are one unit."""

import pytest

from headgate.policies.groupings import combined_queries
from tests.scheduling.timed import plan_of

QUERIES = {
    "filter": "SELECT k FROM s WHERE k > 1",
    "count": "RSTREAM(SELECT k, count(*) AS n FROM s [RANGE 10 SLIDE 5] GROUP BY k)",
    "join": "ISTREAM(SELECT s.k FROM s [RANGE 3], r [RANGE 3] WHERE s.k = r.k)",
    "other": "SELECT t FROM r WHERE k > 2",
    "most": "RSTREAM(SELECT max(k) AS most FROM r [RANGE 5 SLIDE 5])",
    "least": "RSTREAM(SELECT min(k) AS least FROM r [RANGE 5 SLIDE 5])",
    "slow": "RSTREAM(SELECT max(k) AS most FROM r [RANGE 20 SLIDE 20])",
}


@pytest.mark.parametrize(
    ("most", "units"),
    [
        (1, [*QUERIES]),
        (2, ["filter+other", "count+most", "least", "join", "slow"]),
        (9, ["filter+other", "count+most", "least", "join", "slow"]),
    ],
)
def test_queries_with_work_at_the_same_times_are_combined(most, units):
    """Queries with the same boundaries form at least two units."""
    assert [group.id for group in combined_queries(plan_of(QUERIES), most)] == units
