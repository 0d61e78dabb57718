"""Tuples a call, by class."""

from headgate.runtime.spark.trains import Train, by_class
from tests.conformance.plans import feeder, make_plan, project


def train(*calls: int) -> Train:
    found = Train()
    for tuples in calls:
        found.add(tuples)
    return found


def test_a_call_counts_for_the_most_important_class_in_it():
    operators = [project(f"{query}/p", "s") for query in ("fire", "log", "more")]
    members = {"fire": "critical", "log": "archive", "more": "archive"}
    classes = {"archive": 1, "critical": 6, "spare": 3}
    plan = make_plan({"s": feeder()}, operators, {query: f"{query}/p" for query in members}, classes, members)
    trains = {
        ("log/p",): train(1, 3),
        ("log/p", "more/p"): train(8),
        ("more/p", "fire/p"): train(10, 20),
        ("stopped/p",): train(99),
    }
    assert by_class(plan, trains) == {
        "archive": {"calls": 3, "tuples_a_call": 4.0},
        "critical": {"calls": 2, "tuples_a_call": 15.0},
        "spare": {"calls": 0, "tuples_a_call": None},
    }
