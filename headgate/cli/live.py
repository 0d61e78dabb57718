"""What a person sees during a run: a progress line, or in the demonstration a live table."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.text import Text

from headgate.display.report import class_table, head, policy_table, query_table, totals
from headgate.durations import format_duration
from headgate.errors import first_few

Report = Mapping[str, Any]
Show = Callable[[Report | str], None]  # gets the report so far; before the run begins, what is being done
_SOON_S, _LATER_S = 10.0, 60.0


def progress_line(report: Mapping[str, Any]) -> str:
    """The run so far in one line, short enough for any terminal: a line that wraps could not be overwritten."""
    rate = report["throughput"]
    latency = report["weighted_mean_latency"]
    parts = [
        f"{report['seconds']:.0f} s",
        f"{rate['inputs']:,.0f} in/s",
        f"{rate['outputs']:,.0f} out/s",
        "no results yet" if latency is None else f"latency {format_duration(float(f'{latency:.3g}'))}",
    ]
    if report.get("errors"):
        parts.append(f"stopped: {first_few(list(report['errors']), 3)}")
    return "  ".join(parts)


@contextmanager
def progress() -> Iterator[Show]:
    """A progress line on stderr; when stderr is not a terminal, a new line now and then."""
    err = Console(stderr=True)
    if not _can_redraw(err):
        yield _now_and_then(lambda line: print(line, file=sys.stderr, flush=True))
        return
    with Live(_line(_doing("starting")), console=err, transient=True) as live:
        yield lambda seen: live.update(_line(_doing(seen) if isinstance(seen, str) else progress_line(seen)))


def _can_redraw(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


def _line(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")


def _doing(what: str) -> str:
    return f"{what} ..."


@contextmanager
def table(wanted: bool, out: Console, hint: Callable[[], str]) -> Iterator[Show]:
    """A live table of the report; progress lines on stderr when it is not wanted or stdout is not a terminal.

    The table has a screen of its own, so that nothing stays behind when it ends or the window is resized.
    """
    if not wanted or not _can_redraw(out):
        with progress() as show:
            yield show
        return
    with Live(_line(_doing("starting")), console=out, screen=True, vertical_overflow="crop") as live:

        def show(seen: Report | str) -> None:
            live.update(_line(_doing(seen)) if isinstance(seen, str) else LiveReport(seen, hint()), refresh=True)

        yield show


class LiveReport:
    """A report for one screen: laid out when it is drawn, for the width and height available then."""

    def __init__(self, report: Mapping[str, Any], hint: str) -> None:
        self._report = report
        self._hint = hint

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def lines(what: RenderableType) -> int:
            return len(console.render_lines(what, options.update(height=None), pad=False))

        report, queries = self._report, self._report["queries"]
        switched = len(report["policies"]) > 1
        classes = policy_table(report) if switched else class_table(report["classes"])
        title = "queries, the whole run" if switched else ""
        empty = (options.height or console.height) - lines(classes) - lines(query_table(queries, title)) - 4
        yield head(report)
        yield ""
        yield classes
        yield ""
        if empty < 0:  # one line says that there are more
            shown = max(1, len(queries) + empty - 1)
            yield query_table(dict(list(queries.items())[:shown]), title)
            yield Text(f"and {len(queries) - shown} more queries; the report has them all", style="dim")
        else:
            yield query_table(queries, title)
        if empty > 1:
            yield ""
            yield totals(report, empty - 1)
        yield Text(self._hint, style="dim")


def _now_and_then(say: Callable[[str], None]) -> Show:
    """Print every ten seconds in the first minute of the run, then every minute. Before the run begins, print what is
    being done, every ten seconds."""
    due, said = _SOON_S, time.monotonic()

    def sometimes(seen: Report | str) -> None:
        nonlocal due, said
        if isinstance(seen, str):
            if time.monotonic() - said >= _SOON_S:
                said = time.monotonic()
                say(_doing(seen))
        elif (seconds := seen["seconds"]) >= due:
            say(progress_line(seen))
            step = _SOON_S if seconds < _LATER_S else _LATER_S
            due = (seconds // step + 1) * step

    return sometimes
