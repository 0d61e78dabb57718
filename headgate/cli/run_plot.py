"""`--plot` of `run` and `simulate`: pictures of a run, made from its report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from headgate.plan.errors import ApplicationError


def check_plots(folder: Path) -> None:
    """Can pictures be drawn into this folder, which is made if need be? Raises ApplicationError before the run."""
    from headgate.charts.files import need_matplotlib

    need_matplotlib(_label(folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refusal(folder, f"the folder cannot be made: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refusal(folder, "nothing can be written into this folder")


def write_plots(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw the boxes and the course of a run, over older ones; returns the files. Raises ApplicationError."""
    from headgate.charts.class_boxes import draw_boxes
    from headgate.charts.class_course import draw_course
    from headgate.charts.files import save_all

    try:
        return [
            *save_all(draw_boxes(report), folder, "boxes"),
            *save_all(draw_course(report), folder, "course"),
        ]
    except OSError as error:
        raise _refusal(folder, f"a picture cannot be written: {error.strerror}") from error


def plot(report: Mapping[str, Any], folder: Path | None, quiet: bool) -> None:
    """What `run` and `simulate` do with `--plot` once the report is printed; unless `quiet` it names the files."""
    if folder is None:
        return
    files = write_plots(report, folder)
    if not quiet:
        typer.echo(f"drawn: {', '.join(map(str, files))}")


def _label(folder: Path) -> str:
    return f"--plot {folder}"


def _refusal(folder: Path, what: str) -> ApplicationError:
    return ApplicationError(_label(folder), what, "name a folder that can be written")
