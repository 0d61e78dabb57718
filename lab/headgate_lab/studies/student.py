"""Quantiles of Student's t distribution, for whole degrees of freedom."""

from __future__ import annotations

import math

_STEPS = 200  # halvings: beyond what a float can tell apart


def student_t(confidence: float, freedom: int) -> float:
    """The t with P(-t < T < t) = confidence. By halving: the probability rises with t.

    Written out because it is a dozen lines and SciPy is a hundred megabytes.
    """
    if not 0 < confidence < 1 or freedom < 1:
        raise ValueError(f"no t for confidence {confidence} and {freedom} degrees of freedom")
    low, high = 0.0, math.pi / 2  # of the angle with tan(angle) = t / sqrt(freedom)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """P(-t < T < t), Abramowitz and Stegun 26.7.3 and 26.7.4: a finite sum where the degrees of freedom are whole."""
    odd = freedom % 2
    cosine = math.cos(angle)
    term, total = (cosine if odd else 1.0), 0.0
    for at in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * at / (at + 1)
    total *= math.sin(angle)
    return (angle + total) * 2 / math.pi if odd else total
