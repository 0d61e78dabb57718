"""Writes the folder of a study: figures, a report as Markdown and HTML, raw rows as Parquet, claims as JSON."""

from __future__ import annotations

import html
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from headgate_lab.studies.claims import REASONS, Row, Verdict
from headgate_lab.studies.figures import Chart, draw
from headgate_lab.studies.study import StudyResult

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; } td, th { border: 1px solid #ccc; padding: .35rem .6rem; text-align: left;
vertical-align: top; } .reproduced { color: #18794e; } .refuted { color: #b3261e; } .inconclusive { color: #8a6100; }
figure { display: inline-block; margin: .5rem; } img { max-width: 34rem; }
"""
_HEAD = ("id", "figure", "claim", "measured", "value", "95 % interval", "why not", "verdict")
_HEADLINES = ("to get", "do", "measured", "claims", "")
_CHANGED = ("id", "before", "now", "which change did it")


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
    for table in _tables(outcome):
        notes = [f"* {note}" for note in outcome.study.notes] if table.title == _CLAIMS else []
        lines += [f"## {table.title}", "", *notes, *([""] if notes else [])]
        lines += [_row(table.head), _row("---" for _ in table.head)]
        lines += [_row(cell.replace("|", r"\|") for cell in cells) for cells in table.rows]
        lines += ["", *([table.below, ""] if table.below else [])]
    lines += ["## Figures", ""]
    lines += [f"![{chart.title}]({chart.name}.png)" for chart in charts]
    return "\n".join(lines) + "\n"


def page(outcome: StudyResult, charts: Sequence[Chart]) -> str:
    """The report as an HTML page."""
    escape = html.escape
    notes = "".join(f"<li>{escape(note)}</li>" for note in outcome.study.notes)
    parts = []
    for table in _tables(outcome):
        rows = "".join(_html_row(cells) for cells in table.rows)
        parts.append(
            f"<h2>{table.title}</h2>\n{f'<ul>{notes}</ul>' if table.title == _CLAIMS else ''}\n"
            f"<table><tr>{''.join(f'<th>{name}</th>' for name in table.head)}</tr>\n{rows}</table>\n"
            f"<p>{escape(table.below)}</p>\n"
        )
    figures = "".join(
        f'<figure><img src="{escape(chart.name)}.svg" alt="{escape(chart.title)}"></figure>' for chart in charts
    )
    title = escape(outcome.study.title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"</head><body>\n<h1>{title}</h1>\n<p>{escape(outcome.study.source)}</p>\n<p>{escape(_sizes(outcome))}</p>\n"
        f"{''.join(parts)}<h2>Figures</h2>\n{figures}\n</body></html>\n"
    )


@dataclass(frozen=True)
class _Table:
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    below: str = ""  # a line below the table


_CLAIMS = "Claims"


def _tables(outcome: StudyResult) -> list[_Table]:
    """What holds, for someone who chooses a policy; every claim; and verdicts that are not those of the run before.
    Without headlines or such verdicts, those tables are left out."""
    headlines = [_headline_cells(headline) for headline in outcome.headlines]
    changed = [
        (claim["id"], claim["before"], claim["verdict"], claim["change"])
        for claim in outcome.claims
        if claim["before"] not in (None, claim["verdict"])
    ]
    found = [_Table("What holds", _HEADLINES, headlines)] if headlines else []
    found.append(_Table(_CLAIMS, _HEAD, [_cells(claim) for claim in outcome.claims], _reasons(outcome.claims)))
    if changed:
        before = outcome.study.before.found if outcome.study.before else ""
        found.append(_Table("Verdicts that changed", _CHANGED, changed, f"Before: {before}."))
    return found


def _headline_cells(headline: Mapping[str, Any]) -> tuple[str, ...]:
    claims = ", ".join(f"{name} {verdict}" for name, verdict in headline["claims"].items())
    return (headline["goal"], headline["finding"], headline["measured"], claims, headline["holds"])


def _reasons(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many claims are reproduced, and what the words for the others mean."""
    count = Counter(claim["reason"] for claim in claims)
    texts = [f"{name} ({count[name]}): {meaning}" for name, meaning in REASONS.items() if count[name]]
    return f"Reproduced: {count[None]} of {len(claims)}. " + "".join(f"{text}. " for text in texts).strip()


def _html_row(cells: Sequence[str]) -> str:
    """A row; the last cell has the color of its verdict."""
    *most, last = (html.escape(cell) for cell in cells)
    columns = "".join(f"<td>{cell}</td>" for cell in most)
    verdict = next((word for word in get_args(Verdict) if last.startswith(word)), "")
    shade = f' class="{verdict}"' if verdict else ""
    return f"<tr>{columns}<td{shade}>{last}</td></tr>\n"


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
        f"{claim['reason']}: {claim['why']}" if claim["reason"] else "",
        claim["verdict"] + fitted(claim),
    )


def fitted(claim: Mapping[str, Any]) -> str:
    """What follows the verdict of a claim that was fitted: ` (fitted, 8 settings tried)`."""
    return f" (fitted, {claim['tried']} settings tried)" if claim["fitted"] else ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def finite(value: Any) -> Any:
    """Plain data with null in place of numbers that are not finite, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
