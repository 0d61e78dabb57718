"""Derived seeds are stable: these numbers may never change, or every seeded run would."""

from __future__ import annotations

from headgate.seeds import derived_seed, stream_seed


def test_stream_seeds_are_stable_and_apart() -> None:
    assert stream_seed(0, "clicks") == derived_seed(0, "stream", "clicks") == 6637322128887057544
    assert len({stream_seed(seed, name) for seed in range(20) for name in ("a", "b", "1", "11")}) == 80
    assert 0 <= stream_seed(0, "clicks") < 2**64
