"""How Spark computes operators that remember: functions from DataFrames to DataFrames, with the memory passed in.

What an operator remembers is in *logs*, to which a call only appends. So a call never rewrites what it remembers, and
the runtime forgets by dropping whole chunks of a log, without asking Spark.
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

# In a joint frame: 0 for rows of the output, 1 and up for rows of the logs in order. Each reads its columns by name.
JOINT = "\x1fjoint"


class Instants(NamedTuple):
    """What a call evaluates: the instants after `start`, up to `end`. `now` is the arrival of what no tuple causes."""

    start: int
    end: int
    now: int


# A prepared plan reads the bounds of its call from a DataFrame of one row: `_from`, `_to`, `_now`.
CallBounds = Instants | DataFrame


@dataclass(frozen=True)
class LogSpec:
    """A log: rows that an operator remembers; calls only append to it. Chunks of which every row has expired are
    dropped by the runtime."""

    schema: StructType
    expiry: str | None  # BIGINT column: of no use any more once <= the instant evaluated up to; None: never by time
    hold: int = 0  # ticks that a row is of use beyond its expiry
    events: tuple[str, ...] = ()  # BIGINT columns: instants at which the operator must be run even without input
    # (values <= evaluated, and FOREVER, don't count)
    shrinks: bool = False  # may `compacted` make it smaller?
    sparse: bool = False  # a call needs only chunks with an event among the instants that it evaluates
    copies: int | None = None  # may be the rows of this input as it `reads` them: then appended without a job


@dataclass
class StepResult:
    """What one call gives."""

    output: DataFrame  # results: user columns, then the stamps of the operator's flow in order (plan.flows .stamps)
    grown: dict[str, DataFrame]  # rows to append to each log, columns as in its LogSpec
    joint: DataFrame | None = None  # all of these in one frame, so that nothing is computed twice: see JOINT


class Stateful(ABC):
    """An operator with memory. The runtime holds the logs; this says what a call reads, gives out and appends."""

    logs: Mapping[str, LogSpec]
    joint: bool = False  # does `step` give a joint frame?
    reads: Mapping[int, StructType] = {}  # what it needs of an input, where that may be less than all
    slide: int | None = None  # ticks: while any log has rows it must also be run at every multiple of this

    @abstractmethod
    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        """Evaluate the instants within `bounds`.

        `inputs` hold rows in any order, late ones (`_time` null: dropped) and ones beyond the end (kept in a log).
        However the rows were cut into calls, the results are the same.
        """

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        """The same log, smaller; everything up to the end of `bounds` has been evaluated."""
        return log


def make_stateful(
    operator: Operator, schemas: Sequence[StructType], flows: Sequence[Flow], session: SparkSession, single: bool
) -> Stateful:
    """How Spark computes `operator` on inputs of these schemas (stamps included) and characters.

    `single`: everything is in one partition, and the plans it makes can be prepared (see internals/guards.py).
    """
    # Here, not above: these modules need the contract.
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
    raise TypeError(f"an operator of kind {operator.kind} remembers nothing")
