"""Draw docs/images/demo.svg: a minute of `headgate demo --compare`, as it was measured. `make picture` runs it."""

import html
import io
import re
from pathlib import Path

from rich.console import Console

from headgate.application.checked import RunLimits
from headgate.application.load import load_application
from headgate.cli.comparison import Comparison, summary_lines
from headgate.cli.demo import APP, TURNS, load_in_words
from headgate.display.report import policy_table, query_table
from headgate.runtime.spark.run import run

SECONDS = 60.0
# Not every program that shows pictures keeps blanks at the beginning of a text.
BLANKS_FIRST = re.compile(r'x="([\d.]+)"( y="[\d.]+") textLength="([\d.]+)"([^>]*)>((?:&#160;)+)([^<]*)')


def moved(text: re.Match[str]) -> str:
    """A text without the blanks that it begins with, as far to the right as they are wide."""
    x, length, blanks = float(text[1]), float(text[3]), text[5].count("&#160;")
    letters = len(html.unescape(text[6]))
    width = blanks * length / (blanks + letters)
    return f'x="{x + width:g}"{text[2]} textLength="{length - width:g}"{text[4]}>{text[6]}'


app = load_application(APP)
comparison = Comparison(app, keys=str, turn_s=SECONDS / TURNS)
report = run(app, RunLimits(seconds=SECONDS), tick=comparison.watch)
console = Console(record=True, width=96, file=io.StringIO())
console.print(load_in_words(app.plan), "", policy_table(report), "", sep="\n", highlight=False)
console.print(
    query_table(report["queries"], "queries, the whole run"),
    "",
    *summary_lines(report, comparison.left_out_s),
    sep="\n",
    highlight=False,
)
drawing = console.export_svg(title=f"headgate demo --compare --seconds {SECONDS:g}")
target = Path(__file__).parent.parent / "docs" / "images" / "demo.svg"
drawing = re.sub(r"@font-face \{.*?\}\s*", "", drawing, flags=re.DOTALL)  # no font from the network
target.write_text(BLANKS_FIRST.sub(moved, drawing))
