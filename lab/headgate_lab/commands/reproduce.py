"""`headgate reproduce`: repeat a paper's experiments and judge its claims."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from headgate.cli.options import JsonOption, MasterOption
from headgate.cli.output import console, fail, one_line_errors, print_json

if TYPE_CHECKING:
    from headgate_lab.studies.study import Profile, Study, StudyResult

# Name -> its subject; each study is `headgate_lab.studies.<name>.STUDY`.
STUDIES = {
    "prb": "preemptive rate-based operator scheduling",
    "paths": "path capacity, segments, Chain and Threshold",
    "aqsios": "class-based scheduling of continuous queries",
    "cape": "adaptive selection of policies by weighted goals",
    "mavstream": "a runtime optimizer with load shedding",
    "selectors": "table, roulette wheel and learned table beside fixed policies",
}
EXAMPLES = """
[bold]Examples[/bold]

headgate reproduce prb --quick

headgate reproduce prb --seeds 10 --out reports/prb

headgate reproduce prb --quick --json
"""
INCOMPLETE = "incomplete.parquet"
FAILED = 1  # exit code of a study that failed after it had run something
_COLORS = {"reproduced": "green", "refuted": "red", "inconclusive": "yellow"}
OnProgress = Callable[[int, int], None]


@one_line_errors
def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="STUDY", help=", ".join(f"{n}: {what}" for n, what in STUDIES.items()))
    ],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A smoke run of under a minute, with few tuples and values and hence few firm verdicts."
        ),
    ] = False,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Number of seeds.")] = None,
    tuples: Annotated[int | None, typer.Option("--tuples", min=1, help="Number of tuples per stream.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where figures, report and raw rows go (default: out/STUDY)."),
    ] = None,
    master: MasterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Repeat a paper's experiments in the simulator, in parallel on Spark, and judge its claims.

    Each claim gets the measured value with a confidence interval over seeds and a verdict: reproduced, refuted or
    inconclusive.
    """
    from headgate.charts.files import need_matplotlib

    study = study_named(name)
    need_matplotlib()  # fail now rather than after the runs
    profile = _profile(study, quick, seeds, tuples)
    folder = out or Path("out") / name
    _make(folder)
    from headgate_lab.studies.report import write, write_rows
    from headgate_lab.studies.sweep import SweepError

    try:
        with _progress(name) as on_progress:
            outcome = run_study(study, profile, master, on_progress)
    except SweepError as error:
        write_rows(error.rows, folder / INCOMPLETE)
        kept = f"the {len(error.rows)} runs that succeeded are in {folder / INCOMPLETE}"
        _say_incomplete(name, error, kept, as_json)
    try:
        files = write(outcome, folder)
    except Exception as error:
        write_rows(outcome.results.rows, folder / INCOMPLETE)
        _say_incomplete(name, error, f"all runs are in {folder / INCOMPLETE}", as_json)
    if as_json:
        print_json({**outcome.summary(), "files": files})
    else:
        _print(outcome, folder)


def _say_incomplete(name: str, error: Exception, kept: str, as_json: bool) -> NoReturn:
    """Report a study that failed late and where its runs are kept, and exit with code 1."""
    lines = str(error).strip().splitlines()
    reason = f"{lines[0]} {lines[-1]}" if len(lines) > 1 else (lines or [type(error).__name__])[0]
    if as_json:
        print_json({"study": name, "incomplete": True, "error": reason})
    fail(f"study '{name}' failed: {reason}; {kept}", FAILED)


def study_named(name: str) -> Study:
    """Import a study by name; an unknown name ends the command."""
    if name not in STUDIES:
        from headgate.errors import known_names

        fail(f"there is no study '{name}'; {known_names('studies', STUDIES, name)}")
    study: Study = importlib.import_module(f"headgate_lab.studies.{name}").STUDY
    return study


def _profile(study: Study, quick: bool, seeds: int | None, tuples: int | None) -> Profile:
    chosen = study.quick if quick else study.full
    return replace(chosen, seeds=seeds or chosen.seeds, tuples=tuples or chosen.tuples)


def _make(folder: Path) -> None:
    """Make the folder and check that it is writable now rather than after the runs."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        fail(f"--out {folder}: cannot write there: {error.strerror}; give a folder that can be created and written")


def run_study(study: Study, profile: Profile, master: str | None, on_progress: OnProgress) -> StudyResult:
    """Run a study on this process's Spark, or on a new one that ends with the study."""
    from headgate.runtime.spark.launch.session import spark_runs, start_spark
    from headgate_lab.studies.study import reproduce as reproduce_study

    ours = not spark_runs()
    spark = start_spark({"master": master} if master else {})
    try:
        return reproduce_study(study, profile, spark.sparkContext, on_progress)
    finally:
        if ours:
            spark.stop()


@contextmanager
def _progress(name: str) -> Iterator[OnProgress]:
    """Show a progress bar on stderr, or nothing if stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    )
    with bar:
        task = bar.add_task(f"study {name}", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def _print(outcome: StudyResult, folder: Path) -> None:
    from headgate.display.tables import FittedTable, TableColumn

    profile = outcome.profile
    title = f"study {outcome.study.name}: {profile.tuples:,} tuples per stream, {profile.seeds} seeds"
    names = ("claim", "the paper says", "measured", "interval", "verdict")
    out = console()
    for headline in outcome.headlines:
        out.print(f"{headline['holds']}: {headline['goal']}: {headline['finding']}", highlight=False, soft_wrap=True)
    out.print(
        FittedTable([TableColumn(name) for name in names], [_cells(claim) for claim in outcome.claims], title, True)
    )
    out.print(f"report: {folder / 'report.html'}", highlight=False, soft_wrap=True)


def _cells(claim: Mapping[str, Any]) -> tuple[Any, ...]:
    from rich.text import Text

    low, high = claim["interval"]
    verdict = claim["verdict"]
    return (
        f"{claim['id']}\n{claim['figure']}",
        claim["claim"],
        claim["measured"],
        f"{low:.3g} to {high:.3g}",
        Text(verdict, style=_COLORS[verdict]).append(_remark(claim), style="default"),
    )


def _remark(claim: Mapping[str, Any]) -> str:
    return (f"\n({claim['reason']})" if claim["reason"] else "") + ("\n(fitted)" if claim["fitted"] else "")


def register(app: typer.Typer) -> None:
    """Add the command to Headgate's command line, which calls this through its entry point."""
    app.command("reproduce", epilog=EXAMPLES)(reproduce)
