"""Seeds derived from a run's seed and names, so that both runtimes draw alike and no two sequences coincide."""

from __future__ import annotations

import hashlib


def derived_seed(seed: int, *names: str) -> int:
    """A 64-bit seed for the thing that `names` identify. Python's own `hash` would differ between processes."""
    text = "\x1f".join((str(seed), *names))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def stream_seed(seed: int, name: str) -> int:
    """The seed of a stream whose source sets none, derived from the application's seed; called by both runtimes."""
    return derived_seed(seed, "stream", name)
