"""What a person sees while a run goes on: a progress line, or for the demonstration a live table."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from headgate.cli.reporting import report_tables

Show = Callable[[Mapping[str, Any]], None]


def progress_line(report: Mapping[str, Any]) -> str:
    """A run so far in one line."""
    rate = report["throughput"]
    latency = report["weighted_mean_latency"]
    parts = [
        f"{report['seconds']:.0f} s",
        f"{rate['inputs']:,.0f} in/s",
        f"{rate['outputs']:,.0f} out/s",
        "no results yet" if latency is None else f"weighted latency {latency * 1e3:,.0f} ms",
    ]
    if report.get("errors"):
        parts.append(f"stopped: {', '.join(report['errors'])}")
    return "  ".join(parts)


@contextmanager
def progress(wanted: bool) -> Iterator[Show | None]:
    """A line on stderr that follows a run; nothing when stderr is not a terminal, or it is not wanted."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    with Live(Text("starting Spark ..."), console=Console(stderr=True), transient=True) as live:
        yield lambda report: live.update(Text(progress_line(report)))


@contextmanager
def table(wanted: bool, out: Console) -> Iterator[Show | None]:
    """The report as a table that follows a run; lines now and then when stdout is not a terminal."""
    if not wanted:
        yield None
    elif out.is_terminal:
        with Live(Text("starting Spark ..."), console=out, transient=True) as live:
            yield lambda report: live.update(report_tables(report))
    else:
        yield _every(10, lambda report: out.print(progress_line(report)))


def _every(turns: int, show: Show) -> Show:
    count = 0

    def sometimes(report: Mapping[str, Any]) -> None:
        nonlocal count
        count += 1
        if count % turns == 0:
            show(report)

    return sometimes


@contextmanager
def stops_on_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM both end a run cleanly: they raise KeyboardInterrupt here.

    Entered after Spark has started, since Spark installs a handler of its own that would cancel the calls in flight.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
