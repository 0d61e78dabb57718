"""`--plot FOLDER`, for every command that draws: pictures go into the folder, each as PNG and SVG."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from headgate.errors import ApplicationError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")


def check_plots(folder: Path) -> None:
    """Make sure, before the run, that pictures can be written into this folder. Raises ApplicationError."""
    from headgate.charts.files import need_matplotlib

    need_matplotlib(_label(folder))
    if folder.suffix.lower() in _PICTURES and not folder.is_dir():
        what = f"'{folder.name}' is the name of a picture, and --plot names a folder"
        raise ApplicationError(_label(folder), what, f"write --plot {folder.with_suffix('')}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refusal(folder, f"the folder cannot be made: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refusal(folder, "nothing can be written into this folder")


def plot(report: Mapping[str, Any], folder: Path | None, quiet: bool) -> None:
    """Draw the latencies of a run as boxes and over time, for `run` and `simulate` with `--plot`."""
    if folder is None:
        return
    from headgate.charts.latency_boxes import draw_latency_boxes
    from headgate.charts.latency_over_time import draw_latency_over_time

    write_plots({"boxes": draw_latency_boxes(report), "course": draw_latency_over_time(report)}, folder, quiet)


def write_plots(figures: Mapping[str, Figure], folder: Path, quiet: bool) -> None:
    """Write figures under their names, replacing older ones; unless `quiet`, print the names of the files.

    ApplicationError: one cannot be written."""
    from headgate.charts.files import save_all

    try:
        files = [file for name, figure in figures.items() for file in save_all(figure, folder, name)]
    except OSError as error:
        raise _refusal(folder, f"a picture cannot be written: {error.strerror}") from error
    if not quiet:
        typer.echo(f"drawn: {', '.join(map(str, files))}")


def _label(folder: Path) -> str:
    return f"--plot {folder}"


def _refusal(folder: Path, what: str) -> ApplicationError:
    return ApplicationError(_label(folder), what, "name a folder that can be written")
