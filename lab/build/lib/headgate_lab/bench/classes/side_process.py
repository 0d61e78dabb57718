"""The sides of `bench classes`: each is a process with its own Spark, which stays warm between runs."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headgate.runtime.spark.launch.session import spark_runs, start_spark
from headgate_lab.bench.classes.headgate_side import RateTrial, follow, run_headgate, try_rate
from headgate_lab.bench.classes.measured import Measured
from headgate_lab.bench.classes.source_cost import source_cost
from headgate_lab.bench.classes.stock import VARIANTS, run_stock
from headgate_lab.bench.classes.workload import MASTER, Workload

Kind = Literal["stock", "headgate"]
END_S = 120.0  # how long a side may take to finish
INTERRUPTED_S = 40.0  # the same after a failure or Ctrl-C: stopping fifty queries takes a while


class SideTask(NamedTuple):
    """A request to a side."""

    action: Literal["run", "try_rate", "follow", "source"]
    workload: Workload
    setting: Any = None  # the variant of stock, or the policy of Headgate


class SideProcess:
    """A process with its own Spark. While idle, it costs nothing worth measuring."""

    def __init__(self, kind: Kind) -> None:
        context = multiprocessing.get_context("spawn")
        self._asked, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, kind), name=f"headgate-bench-{kind}")
        self._process.start()
        there.close()

    def run(self, workload: Workload, setting: str | Mapping[str, Any] | None = None) -> Measured:
        """Run stock Spark, with the pools of a variant or with FIFO, or Headgate under a policy."""
        found: Measured = self._ask(SideTask("run", workload, setting))
        return found

    def try_rate(self, workload: Workload, policy: Mapping[str, Any]) -> RateTrial:
        """Run Headgate at a rate, to see whether it can sustain it."""
        found: RateTrial = self._ask(SideTask("try_rate", workload, policy))
        return found

    def follow(self, workload: Workload, policy: Mapping[str, Any]) -> dict[str, Any]:
        """Measure how soon Headgate follows changed priorities."""
        found: dict[str, Any] = self._ask(SideTask("follow", workload, policy))
        return found

    def source(self, workload: Workload) -> dict[str, float]:
        """Measure the cost of stock Spark's source alone."""
        found: dict[str, float] = self._ask(SideTask("source", workload))
        return found

    def _ask(self, task: SideTask) -> Any:
        try:
            self._asked.send(task)
            answer = self._asked.recv()
        except (EOFError, OSError) as error:
            raise RuntimeError(f"{self._process.name} ended with exit code {self._process.exitcode}") from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._asked.close()
        self._process.join(END_S if error is None else INTERRUPTED_S)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()


def _serve(asked: Connection, kind: Kind) -> None:
    """Answer requests in the process until the connection closes."""
    do = _on_stock if kind == "stock" else _on_headgate
    try:
        while True:
            task: SideTask = asked.recv()
            try:
                answer = do(task)
            except Exception as error:
                answer = RuntimeError(f"{kind} on {task.workload.name}: {error}")
            give_back()
            asked.send(answer)
    except (EOFError, KeyboardInterrupt):
        pass
    finally:
        with suppress(ConnectionError, Py4JError):  # the JVM has died
            if spark_runs():
                SparkSession.builder.getOrCreate().stop()


def _on_stock(task: SideTask) -> Any:
    if task.action == "source":
        return source_cost(task.workload.rate, task.workload.seconds)
    return run_stock(task.workload, None if task.setting is None else VARIANTS[task.setting])


def _on_headgate(task: SideTask) -> Any:
    act = {"try_rate": try_rate, "follow": follow, "run": run_headgate}[task.action]
    return act(start_spark({"master": MASTER}), task.workload, task.setting)


def give_back() -> None:
    """Make the JVM collect its garbage and shrink, because the sides share the memory."""
    with suppress(ConnectionError, Py4JError):  # the JVM has died: the next task will report it
        if spark_runs():
            SparkSession.builder.getOrCreate().sparkContext._jvm.java.lang.System.gc()  # type: ignore[union-attr]
