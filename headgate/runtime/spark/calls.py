"""Runs unit calls: the prepared way where it is safe and pays, else the partitioned way. Same answer either way."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.runtime.spark.compose import Tables
from headgate.runtime.spark.job import JobResult, JobShape, separate, shape_of
from headgate.runtime.spark.leaf import LeafError
from headgate.runtime.spark.markers import Markers
from headgate.runtime.spark.partitioned import run_partitioned
from headgate.runtime.spark.prepared import NotPreparable, PreparedJob

log = logging.getLogger("headgate.spark")

# From this many input rows on, moving bytes through the driver costs more than planning does. `headgate bench
# overhead` measures the crossover; docs/spark.md has the figures.
PARTITIONED_ROWS = 200_000

# A prepared plan is compared with the ordinary way on so many different batches before it is trusted.
CHECKS = 2


@dataclass
class _Prepared:
    """A prepared plan on probation: `checked` holds the digests of the batches it was compared on."""

    job: PreparedJob
    checked: set[bytes] = field(default_factory=set)

    @property
    def trusted(self) -> bool:
        return len(self.checked) >= CHECKS


class Caller:
    """Runs units on Spark. Shared by all slots; a shape is only ever run by one slot at a time."""

    def __init__(
        self,
        session: SparkSession,
        plan: Plan,
        schemas: Mapping[Port, pa.Schema],
        single_tables: Tables,
        broadcast_tables: Tables,
        markers: Markers,
        partitioned_rows: int = PARTITIONED_ROWS,
    ) -> None:
        self._plan = plan
        self.partitioned_rows = partitioned_rows
        self.calls: Counter[str] = Counter()  # by way
        self.fallbacks: dict[str, str] = {}  # unit -> why its calls are planned each time
        self._session = session
        self._schemas = schemas
        self._single_tables = single_tables
        self._broadcast_tables = broadcast_tables
        self._markers = markers
        self._prepared: dict[JobShape, _Prepared | None] = {}
        self._lock = threading.Lock()

    def run(self, operators: Iterable[str], inputs: Mapping[Edge, pa.Table], plan: Plan | None = None) -> JobResult:
        """One Spark job over `inputs`. Raises what Spark raises; nothing is kept of a failed call.

        `plan` is what is left of the whole plan when queries have stopped: it says which outputs are still wanted.
        """
        shape = shape_of(plan or self._plan, operators, inputs)
        inputs = {edge: inputs[edge] if edge in inputs else self._schema(edge).empty_table() for edge in shape.edges}
        rows = sum(table.num_rows for table in inputs.values())
        prepared = self._prepare(shape) if rows < self.partitioned_rows else None
        started = time.perf_counter()
        if prepared is None:
            table, given = self._partitioned(shape, inputs)
        elif prepared.trusted:
            table, given = self._run_prepared(shape, prepared, inputs)
        else:
            table, given = self._probation(shape, prepared, inputs)
            self.calls["partitioned"] += 1
            return _result(self._plan, shape, inputs, table, given, time.perf_counter() - started, False, False)
        seconds = time.perf_counter() - started
        self.calls["partitioned" if prepared is None else "prepared"] += 1
        return _result(self._plan, shape, inputs, table, given, seconds, prepared is not None, True)

    def close(self) -> None:
        """Let Spark forget the cached tables; called when the run ends. A Spark that is gone has forgotten them."""
        for name, frame in self._broadcast_tables.items():
            try:
                frame.unpersist()
            except Exception as error:
                log.debug("table %s could not be taken out of Spark's cache: %s", name, error)

    def _schema(self, edge: Edge) -> pa.Schema:
        return self._schemas[self._plan.operators[edge.operator].inputs[edge.input]]

    def _prepare(self, shape: JobShape) -> _Prepared | None:
        """The prepared plan of a shape, built at first use; None when it cannot be prepared."""
        with self._lock:
            if shape in self._prepared:
                return self._prepared[shape]
        schemas = {edge: self._schema(edge) for edge in shape.edges}
        found: _Prepared | None = None
        try:
            job = PreparedJob(self._session, self._plan, shape, schemas, self._single_tables, self._markers)
            found = _Prepared(job)
        except (NotPreparable, LeafError) as reason:
            self._fall_back(shape, str(reason))
        with self._lock:
            self._prepared[shape] = found
        return found

    def _run_prepared(
        self, shape: JobShape, prepared: _Prepared, inputs: Mapping[Edge, pa.Table]
    ) -> tuple[pa.Table, dict[Port, int]]:
        try:
            return prepared.job.run(inputs)
        except BaseException:
            # Cut off or failed: a job may still be reading the leaves, so nobody may swap their bytes again.
            with self._lock:
                self._prepared.pop(shape, None)
            raise

    def _probation(
        self, shape: JobShape, prepared: _Prepared, inputs: Mapping[Edge, pa.Table]
    ) -> tuple[pa.Table, dict[Port, int]]:
        """Run both ways and compare rows and counts. The ordinary way's answer is the one that counts."""
        expected, counts = self._partitioned(shape, inputs)
        table, given = self._run_prepared(shape, prepared, inputs)
        # Planned on an empty input, a query may lose branches, and their counts with them.
        wrong = sorted(str(port) for port in counts if port in given and given[port] != counts[port])
        if wrong or not same_rows(table, expected):
            with self._lock:
                self._prepared[shape] = None
            told = f"counts of {', '.join(wrong)}" if wrong else f"{table.num_rows} rows, not {expected.num_rows}"
            self._fall_back(shape, f"it gave another answer than the ordinary way ({told})")
        else:
            prepared.checked.add(_digest(inputs))
        return expected, counts

    def _partitioned(self, shape: JobShape, inputs: Mapping[Edge, pa.Table]) -> tuple[pa.Table, dict[Port, int]]:
        return run_partitioned(self._session, self._plan, shape, inputs, self._broadcast_tables, self._markers)

    def _fall_back(self, shape: JobShape, reason: str) -> None:
        name = " + ".join(shape.operators)
        with self._lock:
            self.fallbacks[name] = reason
        log.warning("%s is planned for each call: %s", name, reason)


def _result(
    plan: Plan,
    shape: JobShape,
    inputs: Mapping[Edge, pa.Table],
    table: pa.Table,
    given: Mapping[Port, int],
    seconds: float,
    prepared: bool,
    steady: bool,
) -> JobResult:
    outputs = separate(table, shape)
    known = dict(given) | {port: rows.num_rows for port, rows in outputs.items()}
    taken: dict[str, int] = {}
    for name in shape.operators:
        operator = plan.operators[name]
        queued = sum(t.num_rows for edge, t in inputs.items() if edge.operator == name)
        inside = [known.get(port, 0) for port in operator.inputs if port.node in shape.operators]
        taken[name] = queued + sum(inside)
        for port in operator.ports:
            if port not in known and (operator.passes_all or not taken[name]):
                known[port] = taken[name]
    return JobResult(outputs, taken, known, seconds, prepared, steady)


def same_rows(left: pa.Table, right: pa.Table) -> bool:
    """The same multiset of rows?"""
    if left.num_rows != right.num_rows or left.schema.names != right.schema.names:
        return False
    if left.equals(right):
        return True
    return Counter(map(repr, left.to_pylist())) == Counter(map(repr, right.to_pylist()))


def _digest(inputs: Mapping[Edge, pa.Table]) -> bytes:
    digest = hashlib.sha256()
    for edge in sorted(inputs):
        for batch in inputs[edge].to_batches():
            digest.update(batch.serialize())
    return digest.digest()
