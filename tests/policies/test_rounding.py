"""Slices of time that are filled exactly, up to floating-point rounding."""

from tests.policies.boards import TimedHarness
from tests.policies.test_class_based import queries


def one_tuple_each(names, classes, policy, **parameters):
    """The order in which queries run, each with one tuple that takes 0.1 s."""
    harness = TimedHarness(queries(dict.fromkeys(names, 0.1), classes), policy, **parameters)
    for name in names:
        harness.feed(f"{name}/x")
    order = [harness.run(0.1).unit.id[0] for _ in names]
    assert harness.run() is None
    return "".join(order), harness.policy


def test_abd_five_tenths_of_a_second_fit_into_half_a_second():
    order, policy = one_tuple_each("abcde", {"only": (1, list("abcde"))}, "abd", quota=0.5)
    assert order == "abcde"
    assert policy.quota == 0.5  # 0.5 - 0.1 - 0.1 - 0.1 - 0.1 is less than 0.1


def test_cqc_five_tenths_of_a_second_use_up_a_slice_of_half_a_second():
    classes = {"one": (1, list("abcdef")), "two": (1, list("uvwxyz"))}
    order, _ = one_tuple_each("abcdefuvwxyz", classes, "cqc", cycle=1.0)
    assert order == "abcdeuvwxyfz"  # the second slice begins at 0.5, and its fifth call ends just before 1


def test_cqc_a_debt_paid_exactly_leaves_nothing():
    """A call of 0.6 s in a slice of 0.3 that began at 0.3 leaves 0: the next turn of b is lost."""
    harness = TimedHarness(queries({"a": 0.1, "b": 0.1}, {"one": (1, ["a"]), "two": (1, ["b"])}), "cqc", cycle=0.6)
    order = []
    for seconds in (0.3, 0.6, 0.3, 0.3, 0.3):
        harness.feed("a/x")
        harness.feed("b/x")
        order.append(harness.run(seconds).unit.id[0])
    assert "".join(order) == "abaab"
