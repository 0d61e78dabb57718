"""What people see during a run, in terminals of several sizes and without a terminal."""

import io
from typing import Any

import pytest
from rich.console import Console

from headgate.cli.live import LiveReport, progress, progress_line, table
from tests.cli.test_reporting import LATENCY, REPORT

CLASSES = {"critical": 6, "normal": 3, "archive": 1}


def report(queries: int = 12, seconds: float = 60.0, policies: tuple[str, ...] = ("mbd",)) -> dict[str, Any]:
    one = {"inputs": 1_234_567, "outputs": 123_456, "shed": 0, "latency": LATENCY}
    return REPORT | {
        "seconds": seconds,
        "classes": {name: {"priority": priority, **one} for name, priority in CLASSES.items()},
        "queries": {f"smoke_and_heat_{n}": {"class": "critical", **one} for n in range(queries)},
        "policies": {
            name: {"seconds": 30.0, "classes": {c: {"outputs": 9, "latency": LATENCY} for c in CLASSES}}
            for name in policies
        },
    }


def screen(content: dict[str, Any], width: int, height: int) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height)
    console.print(LiveReport(content, "p: go on with rr"))
    return out.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(60, 20), (80, 24), (105, 24), (140, 50)])
@pytest.mark.parametrize("policies", [("mbd",), ("mbd", "rr")])
def test_it_fits_the_screen(width: int, height: int, policies: tuple[str, ...]) -> None:
    """In a terminal of 24 lines, the last of 27 used to be cut off."""
    lines = screen(report(policies=policies), width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert lines[-1].startswith("p: go on with rr")
    assert not any("…" in line for line in lines)
    assert any("200 ms" in line for line in lines)
    listed = sum("smoke_and_heat_" in line for line in lines)
    assert listed == 12 or f"and {12 - listed} more queries; the report has them all" in "".join(lines)


def test_the_screen_shows_the_latencies_of_each_policy() -> None:
    text = "\n".join(screen(report(policies=("mbd", "rr")), 100, 24))
    assert all(title in text for title in ("mean under mbd", "p95 under mbd", "mean under rr", "p95 under rr"))


def test_a_line_is_short_enough_for_any_terminal() -> None:
    assert len(progress_line(report() | {"throughput": {"inputs": 1_234_567.0, "outputs": 1_234_567.0}})) < 60
    stopped = progress_line(report() | {"errors": dict.fromkeys(f"q{n}" for n in range(99))})
    assert stopped.endswith("stopped: q0, q1, q2 and 96 more")


def test_without_a_terminal_a_line_is_printed_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """Without these lines, a run in the background showed nothing until its end."""
    with progress() as show:
        for seconds in (0.5, 9.5, 10.1, 10.6, 20.0, 59.9, 60.2, 90.0, 120.5, 600.0):
            show(report(seconds=seconds))
    printed = capsys.readouterr()
    assert [line.split(" s ")[0] for line in printed.err.splitlines()] == ["10", "20", "60", "60", "120", "600"]
    assert printed.out == ""


def test_a_table_has_a_screen_of_its_own_and_leaves_nothing_behind() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, height=24, force_terminal=True)
    with table(True, console, lambda: "p: go on with rr") as show:
        show(report())
    text = out.getvalue()
    begin, end = text.index("\x1b[?1049h"), text.index("\x1b[?1049l")
    assert begin < text.index("smoke_and_heat_1") < end
    assert not text[:begin].strip()
    assert "smoke" not in text[end:]


def test_a_table_that_nobody_could_see_becomes_lines(capsys: pytest.CaptureFixture[str]) -> None:
    for wanted in (True, False):
        with table(wanted, Console(file=io.StringIO()), lambda: "") as show:
            show(report(seconds=12.0))
    line = "12 s  206 in/s  1,650 out/s  latency 400 ms\n"
    assert capsys.readouterr().err == 2 * line


@pytest.mark.parametrize("terminal", ["dumb", "unknown"])
def test_a_terminal_that_cannot_erase_what_it_printed_gets_lines(
    terminal: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", terminal)
    with table(True, Console(file=io.StringIO(), force_terminal=True), lambda: "") as show:
        show(report(seconds=12.0))
    assert capsys.readouterr().err.startswith("12 s  206 in/s")
