"""The sides of `bench classes`: each has a Spark of its own, in a process of its own, that stays warm between runs."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headgate.bench.classes.headgate_side import Held, follow, hold, run_headgate
from headgate.bench.classes.measured import Measured
from headgate.bench.classes.source_cost import source_cost
from headgate.bench.classes.stock import VARIANTS, run_stock, stock_session
from headgate.bench.classes.workload import MASTER, Workload
from headgate.runtime.spark.session import start_spark

Mode = Literal["FIFO", "FAIR", "headgate"]
END_S = 120.0  # for a side to finish what it does
INTERRUPTED_S = 40.0  # the same after a failure or Ctrl-C: fifty queries take a while to stop


class Task(NamedTuple):
    """What a side is asked to do."""

    action: Literal["run", "hold", "follow", "source"]
    workload: Workload
    setting: Any = None  # the pools of stock, or the policy of Headgate


class Side:
    """A process with Spark in one mode. Idle, it costs nothing worth measuring."""

    def __init__(self, mode: Mode) -> None:
        context = multiprocessing.get_context("spawn")
        self._asked, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, mode), name=f"headgate-bench-{mode}")
        self._process.start()
        there.close()

    def run(self, workload: Workload, setting: str | Mapping[str, Any] | None = None) -> Measured:
        """Stock with the pools of a variant, or Headgate under a policy."""
        found: Measured = self._ask(Task("run", workload, setting))
        return found

    def hold(self, workload: Workload, policy: Mapping[str, Any]) -> Held:
        """Can Headgate hold this rate?"""
        found: Held = self._ask(Task("hold", workload, policy))
        return found

    def follow(self, workload: Workload, policy: Mapping[str, Any]) -> dict[str, Any]:
        """How soon does Headgate follow priorities that change?"""
        found: dict[str, Any] = self._ask(Task("follow", workload, policy))
        return found

    def source(self, workload: Workload) -> dict[str, float]:
        """What stock's source costs by itself."""
        found: dict[str, float] = self._ask(Task("source", workload))
        return found

    def _ask(self, task: Task) -> Any:
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


def _serve(asked: Connection, mode: Mode) -> None:
    """What the process does until it is asked no more."""
    spark = start_spark({"master": MASTER}) if mode == "headgate" else stock_session(mode)
    try:
        while True:
            task: Task = asked.recv()
            try:
                if task.action == "source":
                    answer: Any = source_cost(spark, task.workload.rate, task.workload.seconds)
                elif task.action == "hold":
                    answer = hold(spark, task.workload, task.setting)
                elif task.action == "follow":
                    answer = follow(spark, task.workload, task.setting)
                elif mode == "headgate":
                    answer = run_headgate(spark, task.workload, task.setting)
                elif task.setting is None:
                    answer = run_stock(spark, task.workload)
                else:
                    answer = run_stock(spark, task.workload, VARIANTS[task.setting])
            except Exception as error:
                answer = RuntimeError(f"{mode} on {task.workload.name}: {error}")
            give_back(spark)
            asked.send(answer)
    except (EOFError, KeyboardInterrupt):
        pass
    finally:
        with suppress(ConnectionError):  # it has died
            spark.stop()


def give_back(spark: SparkSession) -> None:
    """Have the JVM collect its garbage and shrink: three of them share the memory."""
    with suppress(ConnectionError, Py4JError):
        spark.sparkContext._jvm.java.lang.System.gc()  # type: ignore[union-attr]
