"""How the dissertation is read: its words as numbers, and other readings of what it leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate_lab.studies.judging import FACTOR as FACTOR

PAPER = (
    "Al Moakar: Class-Based Continuous Query Scheduling in Data Stream Management Systems (University of Pittsburgh, "
    "2013)"
)
TUPLES = 10_000  # per stream, in the dissertation
FLAT = 1.5  # "flat", "close together": the slowest class over the fastest is below this
MUCH = 1.5  # "much slower": by more than this factor
FAR = 10.0  # "far above": by more than this factor
ALIKE = 1.25  # "similar", "the same", "at the level of", "stays": within this factor
TIGHT = 2.5  # "tight": no class has a 90th percentile above this many times its mean
LOW_MS = 10.0  # "low": the mean of every class is below this; also the bound of "narrow" ranges (CMP-21, CMP-25)
HUGE = 3.0  # "huge": the range of class 5 is more than this many times that of class 1 (CMP-25)
BETTER = 0.9  # "improves only class 1": no other class falls below this share of what it was (CMP-24)
GROWN = 2.0  # "overloaded": the last fifth of the input is more than this many times slower than the second
SPREAD = 1.05  # "more or less constant": the largest over the smallest is at most this (ABD-7)
SAME = 1.000001  # "identical": within this factor


@dataclass(frozen=True)
class Reading:
    """One reading of what the dissertation leaves open: how the runs, or what is measured in them, differ from those by
    which claims are judged. Texts of claims also give their result under other readings that were run."""

    label: str = ""
    schedulers: Mapping[str, str] = field(default_factory=dict)  # variants that stand in for schedulers
    in_step: bool | None = None  # do the inputs of an operator wait for each other? None: as the claim says
    variant: str = ""  # of the system: see `workload`
    ended: bool = False  # do only results count that come before the input ends?


AS_JUDGED = Reading()
ENDED = Reading("with results until the input ends", ended=True)
FREE = Reading("without inputs in step", in_step=False)
IN_STEP = Reading("with inputs in step", in_step=True)
TAKEN_BACK = Reading("with results taken back", variant="taken back")
TAKEN_BACK_FREE = Reading("with results taken back, without inputs in step", in_step=False, variant="taken back")
CHEAP_CALLS = Reading("with calls at 3 us", variant="cheap calls")
POLLING = Reading("with polls as long as they bring something", {"CQC single": "CQC single polling"})
WHOLE = Reading("with calls on whole queues", {"CQC single": "CQC single whole queues"})
DEBT = Reading("with debt as printed", {"CQC single": "CQC single literal", "CQC": "CQC literal"})
PASSES = Reading("with passes until the slice is used up", {"ABD": "ABD unlimited"})
QUOTA = Reading(
    "with the first quota as printed",
    {"ABD": "ABD literal", **{f"ABD_{us}us": f"ABD_{us}us literal" for us in (20, 50, 100, 500, 1000)}},
)
SHARES = Reading("with MPRR's share of the largest priority", {"MPRR": "MPRR largest"})
TICKETS = Reading("with tickets that are not whole", {"MOL": "MOL real"})
CUMULATIVE = Reading(
    "with modules that look at all results since the start",
    {
        f"MBD_{name}{level}": f"MBD_{name}{level} cumulative"
        for name in ("DVP", "IVP", "DSP", "ISP")
        for level in ("", "_p75")
    },
)
