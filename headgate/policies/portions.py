"""MPRR's portions: each query in its turn takes a part of its queue that grows with the priority of its class.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from headgate.policies.parameters import one_of, whole

Base = Literal["sum", "largest"]


def portions(priorities: Mapping[str, int], of: Base = "sum") -> dict[str, Fraction]:
    """Class -> the part of a queue that it takes: its priority over the sum of all priorities, or over the largest.

    The source does not say which. Its latencies fit the sum, their proportions the largest. The fractions are exact, so
    that 0.29 of 100 tuples are 29.
    """
    one_of("of", of, ("sum", "largest"))
    values = [whole("priority", priority) for priority in priorities.values()]
    base = sum(values) if of == "sum" else max(values, default=1)
    return {name: Fraction(priority, base) for name, priority in priorities.items()}


def portion_size(portion: Fraction, waiting: int) -> int:
    """How many of `waiting` tuples a turn takes: rounded down, but at least 1 if any wait."""
    return min(waiting, max(1, waiting * portion.numerator // portion.denominator))
