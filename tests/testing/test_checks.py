"""`headgate.testing` passes Headgate's own classes, and says what is wrong with broken ones."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pydantic import ConfigDict, Field

import headgate as hg
from headgate.connect.sinks import SinkContext
from headgate.connect.sources import SourceContext
from headgate.policies.registry import POLICIES
from headgate.testing import check_policy, check_sink, check_source

OWN = ("fifo", "rr", "mbd", "chain")


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is gone after it."""
    before = dict(POLICIES)
    yield
    for name in set(POLICIES) - set(before):
        del POLICIES[name]


# Policies --------------------------------------------------------------------------------------------------------


class Obedient(hg.Policy):
    """The first unit that is ready."""

    name = "obedient"

    def choose(self, slot: int) -> hg.Decision | None:
        ready = self.view.ready()
        return hg.Decision(ready[0]) if ready else None


@pytest.mark.parametrize("name", OWN)
def test_own_policies_pass(name: str) -> None:
    check_policy(POLICIES[name])


def test_a_good_policy_passes() -> None:
    check_policy(Obedient)


class Crashing(Obedient):
    name = "crashing"

    def choose(self, slot: int) -> hg.Decision | None:
        return hg.Decision(self.view.ready()[0])  # raises when nothing is ready


class Lazy(Obedient):
    name = "lazy"

    def choose(self, slot: int) -> hg.Decision | None:
        return None


class Wrong(Obedient):
    """Runs whatever comes first, ready or not."""

    name = "wrong"

    def choose(self, slot: int) -> hg.Decision | None:
        return hg.Decision(self.view.units[0]) if self.view.ready() else None


class Erratic(Obedient):
    """Takes its randomness from outside the view."""

    name = "erratic"
    turns = itertools.count()

    def choose(self, slot: int) -> hg.Decision | None:
        ready = self.view.ready()
        return hg.Decision(ready[next(self.turns) % 7 % len(ready)], tuples=1) if ready else None


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (Crashing, "with nothing waiting and no statistics, the policy raised: IndexError"),
        (Lazy, "leaves slot 0 idle while"),
        (Wrong, "which cannot run now"),
        (Erratic, "the same seed gave another schedule"),
    ],
)
def test_broken_policies_fail(kind: type[hg.Policy], problem: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_policy(kind)
    assert problem in str(caught.value)


# Sources ---------------------------------------------------------------------------------------------------------


class Numbers(hg.SourceKind):
    kind = "numbers"
    rows: int = 20

    def batches(self, context: SourceContext) -> Iterator[list[dict[str, Any]]]:
        for first in range(0, self.rows, 6):
            yield [{"k": k} for k in range(first, min(first + 6, self.rows))]


class Forgetful(Numbers):
    """Goes on where an earlier opening stopped."""

    kind = "forgetful"
    place: Any = None

    def batches(self, context: SourceContext) -> Iterator[list[dict[str, Any]]]:
        for _ in range(4):
            yield [{"k": next(self.place)}]


class _Broken:
    """A source that is right, but for what a test changes."""

    replayable = True
    rejected = 0
    exhausted = False

    def __init__(self, context: SourceContext, sequence: int = 0, late_us: int = 0, limitless: bool = False) -> None:
        self.schema = context.schema
        self._sequence, self._late_us, self._limitless = sequence, late_us, limitless

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        if self.exhausted:
            return None
        self.exhausted = True
        rows = 8 if self._limitless else min(8, limit or 8)
        arrivals = [round(now * 1e6) + self._late_us] * rows
        sequence = range(self._sequence, self._sequence + rows)
        return pa.Table.from_arrays(
            [
                pa.array(values, field.type)
                for values, field in zip((sequence, arrivals, sequence), self.schema, strict=True)
            ],
            schema=self.schema,
        )

    def next_arrival(self) -> float | None:
        return None

    def close(self) -> None:
        self.exhausted = True


class FromOne(hg.SourceKind):
    kind = "from-one"

    def open(self, context: SourceContext) -> Any:
        return _Broken(context, sequence=1)


class Future(hg.SourceKind):
    kind = "future"

    def open(self, context: SourceContext) -> Any:
        return _Broken(context, late_us=50)


class Greedy(hg.SourceKind):
    kind = "greedy"

    def open(self, context: SourceContext) -> Any:
        return _Broken(context, limitless=True)


def test_good_sources_pass(tmp_path: Path) -> None:
    check_source(Numbers(), "k INT", rows=20)
    check_source(hg.sources.Feeder(rate=100, rows=50), "k INT, v DOUBLE", rows=50)
    (tmp_path / "rows.csv").write_text("k\n1\n2\n3\n")
    check_source(hg.sources.Csv(path="rows.csv"), "k INT", rows=3, folder=tmp_path)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (Numbers(rows=19), "gave 19 rows instead of 20"),
        (Numbers(rows=0), "gave 0 rows instead of 20"),
        (Forgetful(place=itertools.count()), "gives other rows when it is opened again"),
        (FromOne(), "do not count from 0"),
        (Future(), "gave a row that arrives at"),
        (Greedy(), "gave 8 rows when asked for 3"),
    ],
)
def test_broken_sources_fail(source: hg.SourceKind, problem: str) -> None:
    rows = 20 if isinstance(source, Numbers) and not isinstance(source, Forgetful) else None
    with pytest.raises(AssertionError) as caught:
        check_source(source, "k INT", rows=rows)
    assert problem in str(caught.value)


# Sinks -----------------------------------------------------------------------------------------------------------


class Lines(hg.SinkKind):
    kind = "lines"
    path: str

    def open(self, context: SinkContext) -> Any:
        file = (context.folder / self.path).open("w")
        return hg.sinks.EachBatch(context, lambda table: file.write(json.dumps(table.to_pylist()) + "\n"), file.close)


class _BadCount(hg.sinks.EachBatch):
    def write(self, table: pa.Table) -> None:
        super().write(table)
        self.rows += 1


class Miscounting(hg.SinkKind):
    kind = "miscounting"

    def open(self, context: SinkContext) -> Any:
        return _BadCount(context, lambda table: None)


class _OnceOnly(hg.sinks.EachBatch):
    closed = False

    def close(self) -> None:
        assert not self.closed, "closed twice"
        self.closed = True


class ClosesOnce(hg.SinkKind):
    kind = "closes-once"

    def open(self, context: SinkContext) -> Any:
        return _OnceOnly(context, lambda table: None)


def test_good_sinks_pass(tmp_path: Path) -> None:
    check_sink(Lines(path="out.txt"), tmp_path)
    check_sink(hg.sinks.Csv(path="out.csv"), tmp_path)
    check_sink(hg.sinks.Json(path="out"), tmp_path)
    check_sink(hg.sinks.Nothing())
    check_sink(hg.sinks.Memory())
    check_sink(hg.sinks.Console(style="json"))
    check_sink(hg.sinks.Callback(function=lambda table: None))
    ledger = Ledger()
    check_sink(ledger, read=lambda: ledger.rows)


def test_what_sinks_leave_after_a_crash_is_compared(tmp_path: Path) -> None:
    def lines(name: str) -> list[str]:
        file = tmp_path / name
        return file.read_text().splitlines() if file.exists() else []

    def parquet() -> list[Any]:
        return ds.dataset(tmp_path / "rows", format="parquet").to_table().to_pylist()

    check_sink(hg.sinks.Csv(path="out.csv"), tmp_path, lambda: lines("out.csv"))
    check_sink(hg.sinks.Json(path="out"), tmp_path, lambda: lines("out/part-00000.json"))
    check_sink(hg.sinks.Parquet(path="rows"), tmp_path, parquet)
    check_sink(hg.sinks.Parquet(path="rows", delivery="at_least_once"), tmp_path)


class _Target:
    def __init__(self, ledger: Ledger, last_epoch: int, repeats: bool) -> None:
        self.last_epoch = last_epoch
        self._ledger = ledger
        self._repeats = repeats

    def commit(self, epoch: int, table: pa.Table) -> None:
        if epoch > self._ledger.epoch or self._repeats:
            self._ledger.rows.extend(table.to_pylist())
            self._ledger.epoch = epoch

    def close(self) -> None:
        pass


class Ledger(hg.sinks.EpochSinkKind):
    """Results in memory, with the epoch that came last."""

    model_config = ConfigDict(frozen=False)
    kind = "ledger"
    rows: list[Any] = Field(default_factory=list)
    epoch: int = 0
    forgets: bool = False
    repeats: bool = False

    def connect(self, context: SinkContext) -> Any:
        return _Target(self, 0 if self.forgets else self.epoch, self.repeats)


class _Backwards(hg.sinks.EachBatch):
    position = (1, 2)  # JSON makes a list of it


class OddPosition(hg.SinkKind):
    kind = "odd-position"

    def open(self, context: SinkContext) -> Any:
        return _Backwards(context, lambda table: None)


class _Anew(hg.sinks.EachBatch):
    position = 3


class Forgetting(hg.SinkKind):
    kind = "forgetting"

    def open(self, context: SinkContext) -> Any:
        return _Anew(context, lambda table: None)


class Appending(hg.SinkKind):
    """It goes on from a position, and does not cut off what came after it."""

    kind = "appending"
    rows: list[Any] = Field(default_factory=list)

    def open(self, context: SinkContext) -> Any:
        sink = _Anew(context, lambda table: self.rows.extend(table.to_pylist()))
        sink.rows = context.resume or 0
        return sink


def test_sinks_that_lose_or_repeat_rows_fail() -> None:
    appending, repeating = Appending(), Ledger(repeats=True)
    for sink in (appending, repeating):
        with pytest.raises(AssertionError, match=r"gives other rows after a crash: too many {'k':"):
            check_sink(sink, read=lambda sink=sink: sink.rows)


@pytest.mark.parametrize(
    ("sink", "problem"),
    [
        (Miscounting(), "counts 4 rows after 3"),
        (ClosesOnce(), "closed twice"),
        (OddPosition(), "a position that JSON does not give back: (1, 2)"),
        (Forgetting(), "goes on with 0 rows instead of 3"),
        (Ledger(forgets=True), "has forgotten its last epoch"),
    ],
)
def test_broken_sinks_fail(sink: hg.SinkKind, problem: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_sink(sink)
    assert problem in str(caught.value)
