"""The contract of operators with state: functions from DataFrames to DataFrames, with the state passed in.

An operator keeps its state in *logs*, to which a call only appends. So no call rewrites state, and the runtime forgets
by dropping whole chunks of a log, without asking Spark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headgate.plan.flows import Flow
from headgate.plan.operators import Aggregate, Changes, Distinct, Except, Intersect, RowWindow, RStream, StreamJoin
from headgate.plan.operators.base import Operator

# A column of joint frames: 0 for rows of the output, 1 and up for rows of the logs, in order. Columns go by name.
JOINT = "\x1fjoint"


class Instants(NamedTuple):
    """The instants that a call evaluates: those after `start`, up to `end`. `now` is the arrival of results that no
    tuple caused."""

    start: int
    end: int
    now: int


# The bounds of a call; a prepared plan reads them from a DataFrame of one row: `_from`, `_to`, `_now`.
CallBounds = Instants | DataFrame


@dataclass(frozen=True)
class LogSpec:
    """A log: rows of an operator's state, to which calls only append. The runtime drops chunks all of whose rows have
    expired."""

    schema: StructType
    expiry: str | None  # BIGINT column: the row expires once that instant is evaluated; None: rows never expire
    hold: int = 0  # ticks by which a row outlives its expiry
    events: tuple[str, ...] = ()  # BIGINT columns: instants at which the operator must be run even without input
    # (instants already evaluated, and FOREVER, do not count)
    shrinks: bool = False  # can `compacted` make it smaller?
    sparse: bool = False  # does a call need only chunks with an event among the instants that it evaluates?
    copies: int | None = None  # the input whose rows, as in `reads`, the log takes unchanged: they need no job


@dataclass
class StepResult:
    """The results of one call, and what it adds to the logs."""

    output: DataFrame  # results: user columns, then the stamps of the operator's flow in order (plan.flows .stamps)
    grown: dict[str, DataFrame]  # rows to append to each log, with the columns of its LogSpec
    joint: DataFrame | None = None  # all of these in one frame (see JOINT), so that nothing is computed twice


class Stateful(ABC):
    """How an operator with state is computed. The runtime holds the logs; this says what a call reads, returns and
    appends."""

    logs: Mapping[str, LogSpec]
    joint: bool = False  # does `step` return a joint frame?
    reads: Mapping[int, StructType] = {}  # the columns it needs of an input, where these may be fewer than all
    slide: int | None = None  # ticks: while a log that expires has rows, also run at every multiple of this

    @abstractmethod
    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        """Evaluate the instants within `bounds`.

        `inputs` hold rows in any order, among them late ones (`_time` is null), which are dropped, and rows beyond the
        end, which are kept in a log. The results must not depend on how rows were cut into calls.
        """

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        """A smaller log with the same meaning; everything up to the end of `bounds` has been evaluated."""
        return log


def make_stateful(
    operator: Operator, schemas: Sequence[StructType], flows: Sequence[Flow], session: SparkSession, single: bool
) -> Stateful:
    """How Spark computes `operator` on inputs with these schemas (stamps included) and flows.

    `single`: everything is in one partition, so that its plans can be prepared (see internals/guards.py).
    """
    # Imported here because these modules import this one.
    from headgate.runtime.spark.stateful.aggregate import make_aggregate
    from headgate.runtime.spark.stateful.join import StatefulJoin
    from headgate.runtime.spark.stateful.row_window import StatefulRowWindow
    from headgate.runtime.spark.stateful.rstream import StatefulRStream
    from headgate.runtime.spark.stateful.sets import StatefulSetOperator

    match operator:
        case Changes() | Distinct() | Except() | Intersect():
            return StatefulSetOperator(operator, schemas, flows, single)
        case StreamJoin():
            return StatefulJoin(operator, schemas, flows, single)
        case Aggregate():
            return make_aggregate(operator, schemas[0], flows[0], session, single)
        case RowWindow():
            return StatefulRowWindow(operator, schemas[0], single)
        case RStream():
            return StatefulRStream(operator, schemas, flows, single)
    raise TypeError(f"an operator of kind {operator.kind} has no state")
