"""Seeds derived from a run's seed and names, so that both runtimes draw the same and nothing shares a sequence."""

from __future__ import annotations

import hashlib


def derived_seed(seed: int, *names: str) -> int:
    """A 64-bit seed for what `names` name; Python's own `hash` differs from process to process."""
    text = "\x1f".join((str(seed), *names))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def stream_seed(seed: int, name: str) -> int:
    """The seed of a stream whose source gives none, from the application's seed; both runtimes call it."""
    return derived_seed(seed, "stream", name)
