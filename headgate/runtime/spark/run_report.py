"""What the core of a run knows for its report."""

from __future__ import annotations

from typing import Any

from headgate.scheduling.core import Core


def core_report(core: Core, slots: int, seconds: float) -> dict[str, Any]:
    """The part of the report that the core gives; the run has lasted for so long."""
    report = core.monitor.report("spark", core.policy, slots, seconds, core.board.policy)
    return report | {"rounds": core.board.rounds, "stats": core.stats.summary(), "late": core.time.late}
