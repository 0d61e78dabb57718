"""Tuples per call, by class."""

from headgate.runtime.spark.call_sizes import CallSizes
from tests.conformance.plans import feeder, make_plan, project


def test_a_call_counts_for_the_most_important_class_in_it():
    operators = [project(f"{query}/p", "s") for query in ("fire", "log", "more")]
    members = {"fire": "critical", "log": "archive", "more": "archive"}
    classes = {"archive": 1, "critical": 6, "spare": 3}
    plan = make_plan({"s": feeder()}, operators, {query: f"{query}/p" for query in members}, classes, members)
    sizes = CallSizes()
    for operators, *calls in (
        (("log/p",), 1, 3),
        (("log/p", "more/p"), 8),
        (("more/p", "fire/p"), 10, 20),
        (("stopped/p",), 99),
    ):
        for tuples in calls:
            sizes.add(operators, tuples)
    assert sizes.by_class(plan) == {
        "archive": {"calls": 3, "tuples_a_call": 4.0},
        "critical": {"calls": 2, "tuples_a_call": 15.0},
        "spare": {"calls": 0, "tuples_a_call": None},
    }
