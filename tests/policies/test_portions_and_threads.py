"""MPRR's portions of a queue and PCT's threads."""

from fractions import Fraction

import pytest

from headgate.policies.portions import portion_size, portions
from headgate.policies.threads import Thread, class_threads

PRIORITIES = {"high": 60, "middle": 30, "low": 10}


def test_portions_of_the_sum():
    found = list(portions(PRIORITIES).values())
    assert found == [Fraction("0.6"), Fraction("0.3"), Fraction("0.1")]
    assert [[portion_size(one, waiting) for one in found] for waiting in (10, 3, 0)] == [
        [6, 3, 1],
        [1, 1, 1],
        [0, 0, 0],
    ]


def test_portions_of_the_largest():
    found = list(portions(PRIORITIES, of="largest").values())
    assert found == [1, Fraction(1, 2), Fraction(1, 6)]
    assert [[portion_size(one, waiting) for one in found] for waiting in (10, 3, 0)] == [
        [10, 5, 1],
        [3, 1, 1],
        [0, 0, 0],
    ]


def test_portions_are_exact():
    assert portion_size(portions({"a": 29, "b": 71})["a"], 100) == 29
    assert 0.29 * 100 < 29  # as a float it would be 28


def test_portions_of_nothing_and_refused_arguments():
    assert portions({}) == portions({}, of="largest") == {}
    with pytest.raises(ValueError, match="sum, largest"):
        portions(PRIORITIES, of="mean")
    with pytest.raises(ValueError, match="priority is 0"):
        portions({"a": 0})


def split(classes, cores):
    """The number of threads of each class."""
    named = {str(number): [f"{number}.{query}" for query in range(4)] for number in range(classes)}
    threads = class_threads(named, cores, split=True)
    dealt = sorted(query for thread in threads for query in thread.queries)
    assert dealt == sorted(query for queries in named.values() for query in queries)
    return [sum(thread.class_name == name for thread in threads) for name in named]


@pytest.mark.parametrize(
    ("classes", "cores", "threads"),
    [
        (3, 6, [2, 2, 2]),
        (5, 6, [2, 1, 1, 1, 1]),
        (5, 4, [1, 1, 1, 1, 1]),
        (3, 5, [2, 2, 1]),
        (2, 9, [2, 2]),  # never a third one
        (0, 4, []),
    ],
)
def test_splits(classes, cores, threads):
    assert split(classes, cores) == threads


def test_with_too_few_cores_nothing_is_split():
    classes = {"high": ["a", "b"], "low": ["c"]}
    whole = [Thread("high", ("a", "b")), Thread("low", ("c",))]
    assert class_threads(classes, 4) == class_threads(classes, 2, split=True) == whole


def test_queries_are_dealt_alternately():
    found = class_threads({"high": ["a", "b", "c", "d", "e"]}, 2, split=True)
    assert found == [Thread("high", ("a", "c", "e")), Thread("high", ("b", "d"))]


def test_a_single_query_is_not_split_and_leaves_its_core_to_the_next():
    found = class_threads({"high": ["a"], "low": ["b", "c"]}, 3, split=True)
    assert found == [Thread("high", ("a",)), Thread("low", ("b",)), Thread("low", ("c",))]
