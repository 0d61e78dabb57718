"""`headgate bench chaos`: a run is killed at random moments and started again, until it has given everything.

Its results are compared with those of a run that nobody disturbed: `lost` are results that it did not give, `repeated`
those that it gave too often. The kills are SIGKILL. Some wait for a moment at which most could go wrong: while a
checkpoint is being written, or when it is there and its results are not committed yet. Whether a kill was at such a
moment, the files that it left behind say.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate_lab.bench.chaos.application import SMALL, Workload, expected
from headgate_lab.bench.chaos.lives import Lives
from headgate_lab.bench.chaos.pairs import PAIRS, NotThere, Pair
from headgate_lab.bench.parts import part


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    kills: int = 20  # of each pair
    pairs: tuple[str, ...] = tuple(PAIRS)
    workload: Workload = field(default_factory=Workload)
    seed: int = 1


QUICK = Sizes(kills=5)
SMALLEST = Sizes(kills=1, pairs=("files to csv and parquet",), workload=SMALL)
_SUMS = ("lost", "repeated", "kills", "kills_in_checkpoint", "kills_in_commit", "seconds")


def run(quick: bool = False, kills: int | None = None, sizes: Sizes | None = None) -> dict[str, Any]:
    """Kill each pair of input and outputs so often, and compare. A pair whose programs are not on this machine is left
    out, and `left_out` says why."""
    sizes = sizes or (QUICK if quick else Sizes())
    many = sizes.kills if kills is None else kills
    found: dict[str, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    for name in sizes.pairs:
        try:
            found[name] = _measured(name, many, sizes)
        except NotThere as reason:
            left_out[name] = str(reason)
    return {key: sum(one[key] for one in found.values()) for key in _SUMS} | {"pairs": found, "left_out": left_out}


def _measured(name: str, kills: int, sizes: Sizes) -> dict[str, Any]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="headgate-chaos-") as folder, PAIRS[name](Path(folder)) as pair:
        lives = Lives(Path(folder), pair, sizes.workload, f"{sizes.seed} {name}")
        killed = part(f"{name}, killed", lambda: lives.run(kills))
        compared = part(f"{name}, compared", lambda: _compared(pair, sizes.workload, killed["rows"]))
    return killed | compared | {"seconds": time.monotonic() - began}


def _compared(pair: Pair, workload: Workload, rows: int) -> dict[str, int]:
    """The results, and those of a run that nobody disturbed."""
    got, wanted = pair.results(), expected(workload, rows)
    return {
        "lost": sum((wanted[query] - got[query]).total() for query in wanted),
        "repeated": sum((got[query] - wanted[query]).total() for query in wanted),
        "results": sum(wanted[query].total() for query in wanted),
    }
