"""Bursty input: how the rates of a plan change over a run. Every process has a mean factor of about 1."""

from __future__ import annotations

import random
from typing import Any

SURGE, CALM = 2.5, 0.6  # factors of the rate
STEPS, STEP_S = (0.3, 0.8, 1.2, 1.7), 8.0
FLOWS = 16  # ON/OFF flows of a self-similar stream


def feeder_settings(process: str, rate: float, seconds: float, draw: str) -> dict[str, Any]:
    """Settings of a feeder with that mean rate. Streams with the same `draw` have their bursts at the same time."""
    rng = random.Random(f"selectors bursts {draw}")
    if process == "self-similar":
        return {"arrivals": {"kind": "self-similar", "flows": FLOWS}, "rate": rate}
    if process == "on-off":
        pauses, on = _pauses(rng, seconds)
        return {"arrivals": "constant", "rate": rate / on, "pauses": pauses}
    changes = _steps(rng, seconds) if process == "steps" else _surges(rng, seconds)
    return {"arrivals": "poisson", "rate": rate, "changes": changes}


def _surges(rng: random.Random, seconds: float) -> list[list[float]]:
    """Calm for 8 to 20 s, then a surge of 3 to 5 s: 2.5 * 4 + 0.6 * 14 is about 18."""
    changes, now = [[0.0, CALM]], 0.0
    while now < seconds:
        begin = now + rng.uniform(8.0, 20.0)
        now = begin + rng.uniform(3.0, 5.0)
        changes += [[begin, SURGE], [now, CALM]]
    return changes


def _pauses(rng: random.Random, seconds: float) -> tuple[list[list[float]], float]:
    """ON for 3 to 9 s, OFF for 1 to 5 s; and the share of the time that is ON."""
    pauses, now = [], 0.0
    while now < seconds:
        begin, length = now + rng.uniform(3.0, 9.0), rng.uniform(1.0, 5.0)
        pauses.append([begin, length])
        now = begin + length
    return pauses, 1.0 - sum(length for _, length in pauses) / now


def _steps(rng: random.Random, seconds: float) -> list[list[float]]:
    return [[at * STEP_S, rng.choice(STEPS)] for at in range(int(seconds / STEP_S) + 1)]
