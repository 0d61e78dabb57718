"""Compares reports that may differ by rounding."""

from __future__ import annotations

from typing import Any

import pytest

PERCENTILES = {"p10", "p25", "p50", "p75", "p90", "p95", "p99"}


def assert_close(one: Any, other: Any, relative: float) -> None:
    """Percentiles come from a histogram: rounding alone may move a value to the next bucket, 0.2% away."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_close(one[key], other[key], max(relative, 0.003) if key in PERCENTILES else relative)
    elif isinstance(one, list):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_close(mine, theirs, relative)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=relative, abs=1e-12)
    else:
        assert one == other
