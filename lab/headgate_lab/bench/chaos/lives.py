"""The lives of the process: started, killed at some moment, started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from headgate_lab.bench.chaos.application import STREAMS, Workload, last_row, rows, sections, write_application
from headgate_lab.bench.chaos.pairs import Pair

PATIENCE_S = 300.0  # for anything that should happen soon
_LOOK_S = 0.001
_FEED_S = 0.1
_CHECKPOINT = re.compile(r"checkpoint-(\d+)\.json")
_DATA = re.compile(r"data-(\d+)\.arrows")


class Feed(threading.Thread):
    """Adds rows to the streams at the workload's rate, until it is told that they are enough."""

    def __init__(self, pair: Pair, workload: Workload) -> None:
        super().__init__(name="chaos-feed", daemon=True)
        self.count = 0
        self._pair = pair
        self._workload = workload
        self._enough = threading.Event()

    def run(self) -> None:
        """Feed."""
        began = time.monotonic()
        while not self._enough.wait(_FEED_S):
            due = int((time.monotonic() - began) * self._workload.rate)
            for stream in STREAMS:
                self._pair.append(stream, list(rows(self._workload, self.count, due)))
            self.count = due

    def end(self) -> None:
        """Add the rows that end the streams."""
        self._enough.set()
        self.join()
        for stream in STREAMS:
            self._pair.append(stream, [last_row(self._workload, self.count)])


class Lives:
    """One process after another, with the same files."""

    def __init__(self, folder: Path, pair: Pair, workload: Workload, seed: str) -> None:
        self._folder = folder
        self._state = folder / "state"
        self._log = folder / "run.log"
        self._pair = pair
        self._workload = workload
        self._chance = Random(seed)
        self._feed = Feed(pair, workload)
        self._app = write_application(folder, sections(pair.sources, pair.sinks, workload))
        self._moments: Counter[str] = Counter()

    def run(self, kills: int) -> dict[str, int]:
        """Kill it so often, then let it give the rest and end. Returns the kills, how many of them were at a special
        moment, and how many rows went into each stream."""
        self._feed.start()
        try:
            for _ in range(kills):
                self._one()
        finally:
            self._feed.end()
        self._last()
        counts = {f"kills_{moment}": self._moments[moment] for moment in ("in_checkpoint", "in_commit")}
        return {"kills": kills, **counts, "rows": self._feed.count}

    def _one(self) -> None:
        process = self._start()
        try:
            self._wait_for_moment(process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self._half_written():
            self._moments["in_checkpoint"] += 1
        elif self._uncommitted():
            self._moments["in_commit"] += 1

    def _wait_for_moment(self, process: subprocess.Popen[bytes]) -> None:
        """A moment that is drawn: while it starts, while it runs, while it writes a checkpoint, or right after."""
        kind = self._chance.choices(("start", "run", "checkpoint", "commit"), (1, 4, 3, 2))[0]
        if kind == "start":
            time.sleep(self._chance.uniform(0.0, 6.0))
            return
        before = self._newest()
        self._wait_until(process, lambda: self._newest() > before)
        if kind == "run":
            time.sleep(self._chance.uniform(0.0, self._workload.most_s))
            return
        time.sleep(self._chance.uniform(0.0, self._workload.checkpoint_s))
        if kind == "checkpoint":
            self._wait_until(process, self._half_written)
        else:
            before = self._newest()
            self._wait_until(process, lambda: self._newest() > before)

    def _last(self) -> None:
        """The life that nobody ends before everything that came in has been processed."""
        process = self._start()
        try:
            until = time.monotonic() + PATIENCE_S
            while not self._all_processed() and time.monotonic() < until:
                self._refuse_end(process)
                time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    # The process -------------------------------------------------------------------------------------------------

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "headgate", "run", str(self._app), "--json"]
        with self._log.open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, start_new_session=True)

    def _wait_until(self, process: subprocess.Popen[bytes], happened: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_S
        while not happened():
            self._refuse_end(process)
            if time.monotonic() > until:
                raise RuntimeError(f"nothing happened for {PATIENCE_S:g} s:\n{self._said()}")
            time.sleep(_LOOK_S)

    def _refuse_end(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is not None:
            raise RuntimeError(f"the run ended by itself, with code {process.returncode}:\n{self._said()}")

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    # What the files say ------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        try:
            return os.listdir(self._state)
        except FileNotFoundError:
            return []

    def _newest(self) -> int:
        """The number of the newest checkpoint; 0: there is none."""
        return max((int(found[1]) for name in self._names() if (found := _CHECKPOINT.fullmatch(name))), default=0)

    def _half_written(self) -> bool:
        """Is there a file of a checkpoint that is not there yet?"""
        names = self._names()
        newest = self._newest()
        data = [int(found[1]) for name in names if (found := _DATA.fullmatch(name))]
        return any(name.endswith(".new") for name in names) or max(data, default=0) > newest

    def _uncommitted(self) -> bool:
        """Does the newest checkpoint hold results that are not in their target?"""
        if (state := self._state_of_newest()) is None:
            return False
        found = [(query, self._pair.committed(query)) for query in state["staged"]]
        return any(epoch is not None and epoch < state["sinks"][query]["position"]["last"] for query, epoch in found)

    def _all_processed(self) -> bool:
        """Does the newest checkpoint have all rows that came in, and none of them waits?"""
        state = self._state_of_newest()
        if state is None or any(state["sources"][name].get("given") != self._feed.count + 1 for name in STREAMS):
            return False
        waiting = [queue["entered"] - queue["taken"] - queue["shed"] for _, _, queue in state["core"]["queues"]]
        return not any(waiting) and not state["core"]["due"]

    def _state_of_newest(self) -> dict[str, Any] | None:
        newest = self._newest()
        if not newest:
            return None
        try:
            text = (self._state / f"checkpoint-{newest:08d}.json").read_bytes()
        except FileNotFoundError:  # a newer one has just taken its place
            return None
        found: dict[str, Any] = json.loads(text.partition(b"\n")[2])["state"]
        return found
