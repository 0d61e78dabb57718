"""Which operators yield results only at the boundaries of windows."""

import pytest

from headgate.plan.boundaries import slides_before_results
from tests.scheduling.timed import plan_of

COUNT = "SELECT k, count(*) AS n FROM s [RANGE 10 SLIDE 5]"


def slides(texts, *queries):
    """The slides before results, for some queries (default: all) of a plan as one unit."""
    plan = plan_of({f"q{number}": text for number, text in enumerate(texts)})
    wanted = {name for query in queries or plan.queries for name in plan.queries[query].operators}
    found = slides_before_results(plan, [name for name in plan.operators if name in wanted])
    return None if found is None else sorted(found.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"RSTREAM({COUNT} GROUP BY k)", [5]),
        (f"ISTREAM({COUNT} WHERE k > 1 GROUP BY k)", [5]),
        ("RSTREAM(SELECT count(*) AS n FROM s [RANGE 4 SLIDE 4])", [4]),
        ("ISTREAM(SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k)", None),
        ("SELECT k FROM s WHERE k > 1", None),
        ("ISTREAM(SELECT s.k FROM s [RANGE 3], r [RANGE 3] WHERE s.k = r.k)", None),
    ],
)
def test_slides_before_the_results_of_a_query(text, expected):
    assert slides([text]) == expected


def test_a_unit_waits_only_if_all_its_queries_may():
    texts = [f"RSTREAM({COUNT} GROUP BY k)", "SELECT k FROM s WHERE k > 1", f"RSTREAM({COUNT} GROUP BY k, t)"]
    assert slides(texts, "q0", "q2") == [5, 5]
    assert slides(texts, "q0", "q1") is None


def test_single_operators():
    plan = plan_of({"q": f"RSTREAM({COUNT} WHERE k > 1 GROUP BY k)"})
    found = {name.split("/")[1]: slides_before_results(plan, [name]) for name in plan.operators}
    assert [name for name, slide in found.items() if slide is not None] == ["group"]
