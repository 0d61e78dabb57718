"""All policies by name. A new policy is one file and one line here."""

from __future__ import annotations

from headgate.policies.abd import AdaptiveBroadcastDisk
from headgate.policies.adaptive import Adaptive
from headgate.policies.chain import Chain
from headgate.policies.cqc import ContinuousQueryClasses
from headgate.policies.fifo import Fifo
from headgate.policies.hnr import HighestNormalizedRate
from headgate.policies.hr import HighestRate
from headgate.policies.lottery import OperatorLottery, QueryLottery
from headgate.policies.making import POLICIES as POLICIES
from headgate.policies.making import make_policy as make_policy
from headgate.policies.making import policy_parameters as policy_parameters
from headgate.policies.master import Master
from headgate.policies.mbd import AffineBroadcastDisk, MultiBroadcastDisk
from headgate.policies.mrr import OperatorRoundRobin, PortionRoundRobin, QueryRoundRobin
from headgate.policies.mtiq import MostTuplesInQueue
from headgate.policies.pcs import PathCapacity
from headgate.policies.pct import SplitThreads, ThreadPerClass
from headgate.policies.prb import PreemptiveRateBased
from headgate.policies.rb import RateBased
from headgate.policies.rr import RoundRobin
from headgate.policies.segment import Segments
from headgate.policies.simplified_segment import SimplifiedSegments
from headgate.policies.threshold import Threshold
from headgate.policies.train import Train
from headgate.policies.wehr import WeightedHighestRate
from headgate.policies.wrr import WeightedRoundRobin
from headgate.scheduling.policy import Policy

ALL: tuple[type[Policy], ...] = (
    Fifo,
    RoundRobin,
    WeightedRoundRobin,
    MostTuplesInQueue,
    RateBased,
    PreemptiveRateBased,
    Train,
    HighestRate,
    HighestNormalizedRate,
    Chain,
    PathCapacity,
    Segments,
    SimplifiedSegments,
    Threshold,
    WeightedHighestRate,
    ContinuousQueryClasses,
    AdaptiveBroadcastDisk,
    MultiBroadcastDisk,
    AffineBroadcastDisk,
    QueryRoundRobin,
    OperatorRoundRobin,
    QueryLottery,
    OperatorLottery,
    PortionRoundRobin,
    ThreadPerClass,
    SplitThreads,
    Adaptive,
    Master,
)
POLICIES.register_own(ALL)
