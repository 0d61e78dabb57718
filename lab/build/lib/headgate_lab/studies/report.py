"""Writes the folder of a study: figures, a report as Markdown and HTML, raw rows as Parquet, claims as JSON."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headgate_lab.studies.claims import Row
from headgate_lab.studies.figures import Chart, draw
from headgate_lab.studies.study import StudyResult

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; } td, th { border: 1px solid #ccc; padding: .35rem .6rem; text-align: left;
vertical-align: top; } .reproduced { color: #18794e; } .refuted { color: #b3261e; } .inconclusive { color: #8a6100; }
figure { display: inline-block; margin: .5rem; } img { max-width: 34rem; }
"""
_HEAD = ("id", "figure", "claim", "measured", "value", "95 % interval", "verdict")


def write(outcome: StudyResult, folder: Path) -> list[Path]:
    """Write everything, overwriting the files of an earlier run; returns the files. Makes the folder if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    charts = outcome.study.charts(outcome.results)
    made = draw(charts, folder)
    texts = {
        "report.md": markdown(outcome, charts),
        "report.html": page(outcome, charts),
        "claims.json": json.dumps(finite(outcome.summary()), indent=2, ensure_ascii=False) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_rows(outcome.results.rows, folder / "results.parquet")
    return [*(folder / name for name in texts), folder / "results.parquet", *made]


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write one row per run, with null for a parameter that a run does not have."""
    names = dict.fromkeys(name for row in rows for name in row)
    pq.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), path)


def markdown(outcome: StudyResult, charts: Sequence[Chart]) -> str:
    """The report as Markdown."""
    lines = [f"# {outcome.study.title}", "", outcome.study.source, "", _sizes(outcome), ""]
    lines += [f"* {note}" for note in outcome.study.notes]
    lines += ["", "## Claims", "", _row(_HEAD), _row("---" for _ in _HEAD)]
    lines += [_row(cell.replace("|", r"\|") for cell in _cells(claim)) for claim in outcome.claims]
    lines += ["", "## Figures", ""]
    lines += [f"![{chart.title}]({chart.name}.png)" for chart in charts]
    return "\n".join(lines) + "\n"


def page(outcome: StudyResult, charts: Sequence[Chart]) -> str:
    """The report as an HTML page."""
    escape = html.escape
    notes = "".join(f"<li>{escape(note)}</li>" for note in outcome.study.notes)
    rows = "".join(_html_row(claim) for claim in outcome.claims)
    figures = "".join(
        f'<figure><img src="{escape(chart.name)}.svg" alt="{escape(chart.title)}"></figure>' for chart in charts
    )
    title = escape(outcome.study.title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"</head><body>\n<h1>{title}</h1>\n<p>{escape(outcome.study.source)}</p>\n<p>{escape(_sizes(outcome))}</p>\n"
        f"<ul>{notes}</ul>\n<h2>Claims</h2>\n<table><tr>{''.join(f'<th>{name}</th>' for name in _HEAD)}</tr>\n{rows}"
        f"</table>\n<h2>Figures</h2>\n{figures}\n</body></html>\n"
    )


def _html_row(claim: dict[str, Any]) -> str:
    *cells, verdict = (html.escape(cell) for cell in _cells(claim))
    columns = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr>{columns}<td class="{claim["verdict"]}">{verdict}</td></tr>\n'


def _sizes(outcome: StudyResult) -> str:
    profile = outcome.profile
    return (
        f"Profile {profile.name}: {profile.tuples:,} tuples per stream, {profile.seeds} seeds, "
        f"{len(outcome.results.rows):,} runs in the simulator."
    )


def _cells(claim: dict[str, Any]) -> tuple[str, ...]:
    low, high = claim["interval"]
    return (
        claim["id"],
        claim["figure"],
        claim["claim"],
        claim["measured"],
        f"{claim['value']:.4g}",
        f"{low:.4g} to {high:.4g}",
        claim["verdict"] + (" (fitted)" if claim["fitted"] else ""),
    )


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def finite(value: Any) -> Any:
    """Plain data with null in place of numbers that are not finite, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
