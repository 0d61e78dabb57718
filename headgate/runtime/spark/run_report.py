"""The report of a run: what it has measured, decided and put aside."""

from __future__ import annotations

from typing import Any

from headgate.qos.optimizer import Optimizer
from headgate.runtime.spark.source_threads import SourceThreads
from headgate.scheduling.core import Core


def run_report(core: Core, slots: int, seconds: float, optimizer: Optimizer, sources: SourceThreads) -> dict[str, Any]:
    """What core, optimizer and sources know of it; docs/operations.md says what it means. Called under the lock."""
    report = core.monitor.report("spark", core.policy, slots, seconds, core.board.policy)
    report |= {"decisions": optimizer.as_data(), "qos": optimizer.scores()}
    report |= {"rounds": core.board.rounds, "stats": core.stats.summary(), "late": core.time.late}
    return report | {"sources": sources.states, "rejected": sources.rejected}
