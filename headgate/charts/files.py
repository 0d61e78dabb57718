"""Figures and their files. matplotlib is optional, so it is imported only where something is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headgate.errors import ApplicationError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")


def need_matplotlib(label: str = "figures") -> None:
    """Call it before work whose result is to be drawn. Raises ApplicationError, which says what to install."""
    try:
        import matplotlib  # noqa: F401 - only asked for
    except ImportError as error:
        raise ApplicationError(label, "matplotlib is not installed", "pip install 'headgate[plot]'") from error


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty figure for files: it needs no display and need not be closed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the suffix. The same figure gives the same file: no date, no random names."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "headgate"}):
        figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def save_all(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure in every format into a folder, which must exist; returns the files."""
    files = [folder / f"{name}.{ending}" for ending in FORMATS]
    for path in files:
        save(figure, path)
    return files
