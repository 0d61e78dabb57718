"""Write the tables of docs/benchmarks.md, docs/studies.md and README.md from docs/results. `make tables` runs it.

docs/results has what `headgate bench NAME --json` printed, and the `claims.json` of studies. A table stands between
`<!-- table: NAME -->` and `<!-- end of table -->`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headgate.charts.files import save
from headgate.display.tables import number
from headgate.durations import format_duration
from headgate_lab.bench.classes import draw, tables
from headgate_lab.bench.classes.comparison import FAIR, FIFO
from headgate_lab.bench.classes.tables import ShownTable

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "studies.md")
RESULTS, CHART = ROOT / "docs" / "results", ROOT / "docs" / "images" / "bench-classes.svg"
WORKLOADS = ("heavy", "medium", "easy")
STUDIES = ("prb", "paths", "aqsios")  # those with findings for someone who chooses a policy
TABLE = re.compile(r"(?<=<!-- table: )(.+?)( -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
Found = Mapping[str, Any]


def renewed(page: str, shown: Mapping[str, str]) -> str:
    """The page with each of its tables as it is shown now."""
    return TABLE.sub(lambda match: f"{match[1]}{match[2]}{shown[match[1]]}", page)


def all_tables() -> dict[str, str]:
    """Every table that a page may name, in Markdown."""
    classes = found("classes")
    made = {table.title.split(": ")[0]: table for table in tables(classes)}
    return {
        **{name: captioned(table) for name, table in made.items()},
        "in short": in_short([made[name] for name in WORKLOADS]),
        "speedups": speedups(classes),
        "headline": headline(classes),
        "decisions": decision_costs(found("decisions")),
        "start": start(found("start")),
        "many": many(found("many")),
        "windows": windows(found("state")),
        "updates": updates(found("state")),
        "burst": headlines(found("burst")),
        "burst latencies": burst_latencies(found("burst")),
        "twin": headlines(found("twin")),
        "twin pairs": twin_pairs(found("twin")),
        "optimizer": headlines(found("optimizer")),
        "server": headlines(found("server")),
        "replay": replay(found("state")),
        "what holds": what_holds(),
        "aqsios verdicts that changed": changed(found("aqsios")),
    }


def in_short(workloads: Sequence[ShownTable]) -> str:
    """One row per workload: mean latency of the first and the last class, under stock in three ways and under mbd."""
    rows = []
    for table in workloads:
        means = {way: [cell.split(", ")[0] for cell in (first, last)] for way, first, _, last, *_ in table.rows}
        (best,) = (way for way in means if way.endswith("(best)"))
        chosen = (FIFO, f"{FAIR}, weights", best, "mbd")
        rows.append([table.title, *(" / ".join(means[way]) for way in chosen)])
    columns = ["most / least important class", "Spark, FIFO", "FAIR, weighted", "FAIR, tuned by hand", "Headgate"]
    return markdown(columns, rows)


def speedups(classes: Found) -> str:
    ways = classes["class1_speedup_by_way"]
    rows = [[way, *(f"{ways[name][way]:.1f}" for name in WORKLOADS)] for way in ways["heavy"]]
    return markdown(["class 1: mean under stock / under mbd", *WORKLOADS], rows)


def headline(classes: Found) -> str:
    numbers = {key: value for key, value in classes.items() if isinstance(value, float)}
    return markdown(["key", "found"], [[f"`{key}`", number(value)] for key, value in numbers.items()])


def decision_costs(decisions: Found) -> str:
    rows = [
        [f"`{policy}`", case, *(f"{value:.1f}" for value in found.values())]
        for policy, cases in decisions["policies"].items()
        for case, found in cases.items()
    ]
    return markdown(["policy", "queries", *(f"{int(n):,}" for n in decisions["microseconds"])], rows)


def start(result: Found) -> str:
    rows = [(f"`{key}`", value) for key, value in result.items() if isinstance(value, float)]
    return markdown(["key", "found"], [[key, f"{value:.2f}"] for key, value in rows])


def many(result: Found) -> str:
    rows = []
    for queries, one in result["queries"].items():
        details, classes = one["details"], one["classes"].values()
        starts = [f"{details[step]:.1f} s" for step in ("checked_s", "rehearsed_s")]
        memory = [f"{details['memory_mb'][process] / 1024:.1f} GB" for process in ("python", "jvm")]
        means = [format_duration(figures["mean"]) for figures in classes]
        rows.append([f"{int(queries):,}", *starts, *memory, " / ".join(means), f"{100 * one['completed']:.1f}"])
    columns = ["queries", "checked", "rehearsed", "Python", "JVM", "mean latency of classes 1 / 2 / 3", "completed, %"]
    return markdown(columns, rows)


def headlines(result: Found) -> str:
    """The numbers at the top of a result."""
    rows = [[f"`{key}`", number(value)] for key, value in result.items() if isinstance(value, (int, float))]
    return markdown(["key", "found"], rows)


def burst_latencies(result: Found) -> str:
    shown = {
        "before the burst": "mean_latency_before_s",
        "during the burst": "mean_latency_in_burst_s",
        "in the worst 3 s": "worst_period_s",
        "in the last 9 s": "mean_latency_at_end_s",
    }
    rows = [[when, *(format_duration(result[run][key]) for run in ("without", "with"))] for when, key in shown.items()]
    rows.append(["tuples that were dropped", *(number(result[run]["shed"]) for run in ("without", "with"))])
    tolerance = result["settings"]["tolerance"]
    return markdown(["mean latency", "without a tolerance", f"with a tolerance of {tolerance:g}"], rows)


def twin_pairs(result: Found) -> str:
    """One row per application and policy: what Spark did, and what was forecast."""
    rows = []
    for one in result["pairs"]:
        both = [_beside(one["measured"][name], one["forecast"][name]) for name in one["measured"]]
        rows.append([one["application"], one["policy"], *both])
    return markdown(["application", "policy", *result["pairs"][0]["measured"]], rows)


def _beside(measured: float | None, forecast: float | None) -> str:
    return " / ".join("-" if one is None else format_duration(float(f"{one:.3g}")) for one in (measured, forecast))


def windows(state: Found) -> str:
    times = state["milliseconds"]
    rows = [[way, f"{ms:.1f}", f"{ms / times['stateless']:.2f}"] for way, ms in times.items()]
    return markdown(["query", "ms a batch", "over stateless"], rows)


def updates(state: Found) -> str:
    texts, growth = state["settings"]["updates"], state["updates_growth_by_query"]
    rows = [
        [f"`{texts[kind]}`", *(f"{seconds:.1f}" for seconds in by_count.values()), f"{growth[kind]:.2f}"]
        for kind, by_count in state["seconds_by_updates"].items()
    ]
    counts = next(iter(state["seconds_by_updates"].values()))
    return markdown(["query", *(f"{int(n):,} updates, s" for n in counts), "ratio"], rows)


def replay(state: Found) -> str:
    rates = state["replayed_tuples_a_second"]
    rows = []
    for kind, suffix in (("an INT", ""), ("a DOUBLE", ", doubles")):
        ours, stock = rates["headgate" + suffix], rates["structured streaming" + suffix]
        rows.append([kind, f"{ours:,.0f}", f"{stock:,.0f}", f"{ours / stock:.2f}"])
    return markdown(["average of", "Headgate, rows/s", "Structured Streaming, rows/s", "ratio"], rows)


def what_holds() -> str:
    """One row per finding of a study, with the verdicts of the claims behind it."""
    rows = [
        [one["goal"], one["finding"], one["holds"], f"[{name}](#{name}): {_verdicts(one['claims'])}"]
        for name in STUDIES
        for one in found(name)["headlines"]
    ]
    return markdown(["to get", "do", "", "claims"], rows)


def _verdicts(claims: Mapping[str, str]) -> str:
    """The claims by verdict."""
    by_verdict: dict[str, list[str]] = {}
    for claim, verdict in claims.items():
        by_verdict.setdefault(verdict, []).append(claim.removeprefix("PRB-").removeprefix("PATHS-"))
    return "; ".join(f"{', '.join(ids)} {verdict}" for verdict, ids in by_verdict.items())


def changed(study: Found) -> str:
    """The verdicts that are not those of the run before."""
    rows = [
        [claim["id"], claim["before"], claim["verdict"], claim["change"]]
        for claim in study["claims"]
        if claim["before"] != claim["verdict"]
    ]
    return markdown(["claim", "before", "now", "which change did it"], rows)


def captioned(table: ShownTable) -> str:
    """What its title says after a colon stands above it."""
    caption = table.title.partition(": ")[2]
    return (f"{caption}:\n\n" if caption else "") + markdown(table.columns, table.rows)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def found(name: str) -> Found:
    result: Found = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return result


if __name__ == "__main__":
    shown = all_tables()
    for page in PAGES:
        page.write_text(renewed(page.read_text(encoding="utf-8"), shown), encoding="utf-8")
    save(draw(found("classes")), CHART)
