"""Tables for a terminal as plain text, and as HTML for notebooks."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

_WIDTH = 110
_PAGE = '<pre style="font-family:Menlo,Consolas,monospace;line-height:1.25">{code}</pre>'


def as_text(show: Callable[[Console], None]) -> str:
    """What `show` prints to a console, without colors."""
    from rich.console import Console

    out = Console(file=io.StringIO(), width=_WIDTH, color_system=None)
    with out.capture() as captured:
        show(out)
    return captured.get().rstrip("\n")


def as_html(show: Callable[[Console], None]) -> str:
    """What `show` prints to a console, as HTML."""
    from rich.console import Console

    out = Console(file=io.StringIO(), width=_WIDTH, record=True, force_jupyter=False)
    show(out)
    return out.export_html(inline_styles=True, code_format=_PAGE)


def figure_html(figure: Figure) -> str:
    """A figure as a picture in HTML."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=96)
    return f'<img src="data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}"/>'
