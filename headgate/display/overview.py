"""A server's overview for people: tables of classes, streams and queries, and all of it for one screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from headgate.display.tables import FittedTable, TableColumn, number, size, time
from headgate.errors import first_few

Order = Literal["waiting", "latency"]
_ERRORS = 3  # of failed queries, that are shown
_STATES = {"failed": "bold red", "stopped": "dim", "ended": "dim"}
_CLASSES = (
    TableColumn("class"),
    TableColumn("priority", number=True, spare=2),
    TableColumn("queries", number=True, spare=5),
    TableColumn("mean latency", number=True),
    TableColumn("p50", number=True, spare=6),
    TableColumn("p95", number=True),
    TableColumn("p99", number=True, spare=4),
    TableColumn("max", number=True, spare=3),
    TableColumn("in/s", number=True, spare=7),
    TableColumn("out/s", number=True, spare=1),
)
_QUERIES = (
    TableColumn("query"),
    TableColumn("state"),
    TableColumn("class", spare=3),
    TableColumn("mean latency", number=True),
    TableColumn("max", number=True, spare=2),
    TableColumn("waiting", number=True),
    TableColumn("results", number=True, spare=1),
    TableColumn("shed", number=True, spare=5),
    TableColumn("policy", spare=6),
)


def class_table(classes: Mapping[str, Any]) -> FittedTable:
    """The classes of an overview, highest priority first."""
    rows = []
    for name, one in sorted(classes.items(), key=lambda item: -item[1]["priority"]):
        latency = one.get("latency") or {}
        latencies = [_seconds(latency.get(key)) for key in ("mean", "p50", "p95", "p99", "max")]
        rates = [_number(one.get(key)) for key in ("inputs_per_second", "outputs_per_second")]
        rows.append([name, str(one["priority"]), str(one.get("queries", 0)), *latencies, *rates])
    return FittedTable(_CLASSES, rows)


def query_table(queries: Mapping[str, Any]) -> FittedTable:
    """Queries of an overview, in their order; columns in which no query has anything are left out."""
    rows = []
    for name, one in queries.items():
        latency = one["latency"]
        state = Text(one["state"], style=_STATES.get(one["state"], ""))
        counts = [f"{one['waiting']:,}", f"{one['results']:,}", f"{one['shedding']:.0%}" if one["shedding"] else ""]
        latencies = [_seconds(latency["mean"]), _seconds(latency["max"])]
        rows.append([name, state, one["class"] or "", *latencies, *counts, one["policy"] or ""])
    kept = [at for at, column in enumerate(_QUERIES) if column.spare < 5 or any(row[at] for row in rows)]
    return FittedTable([_QUERIES[at] for at in kept], [[row[at] for at in kept] for row in rows])


def stream_table(streams: Mapping[str, Any]) -> FittedTable:
    """Streams with their sections; those that no query reads have no rate."""
    columns = (
        TableColumn("stream"),
        TableColumn("tuples/s", number=True),
        TableColumn("queries", number=True),
        TableColumn("state"),
        TableColumn("source", spare=2),
        TableColumn("schema", spare=1),
    )
    rows = []
    for name, one in streams.items():
        section = one["section"]
        state = stream_state(one)
        source = str((section.get("source") or {}).get("kind", ""))
        rate, readers = _number(one.get("tuples_per_second")), str(one.get("queries", 0))
        rows.append([name, rate, readers, state, source, str(section.get("schema", ""))])
    return FittedTable(columns, rows)


def stream_state(stream: Mapping[str, Any]) -> str:
    """A word for a stream of an overview: open, retrying, failed or ended, or not read at all."""
    if "open" not in stream:
        return "not read"
    state = (stream.get("source") or {}).get("state")
    if state in ("retrying", "failed"):
        return str(state)
    return "open" if stream["open"] else "ended"


def in_order(queries: Mapping[str, Any], order: Order) -> dict[str, Any]:
    """Those first that somebody should look at: failed ones, then those with the most waiting, or the slowest."""

    def weight(item: tuple[str, Any]) -> tuple[bool, float, float]:
        one = item[1]
        waiting, latency = float(one["waiting"]), one["latency"]["mean"] or 0.0
        first, second = (waiting, latency) if order == "waiting" else (latency, waiting)
        return one["state"] != "failed", -first, -second

    return dict(sorted(queries.items(), key=weight))


def head(overview: Mapping[str, Any]) -> list[Text]:
    """Policy, load, rates, queues, what is shed, and sources that do not work."""
    queues, policy = overview["queues"], overview["policy"]
    slots = overview["slots"]
    load = "-" if overview["load"] is None else f"{overview['load']:.0%}"
    up = f"up {_clock(overview['at'])}" if overview["running"] else "the run has ended; the server's log says why"
    first = Text.assemble(
        (policy["name"], "bold"),
        f"{_parameters(policy['parameters'])}, load {load} of {slots} slot{'' if slots == 1 else 's'}, ",
        (up, "" if overview["running"] else "bold red"),
    )
    disk = f", {size(queues['spilled_bytes'])} of them on disk" if queues["spilled_bytes"] else ""
    rates = f"{_number(overview['inputs_per_second'])} in/s, {_number(overview['outputs_per_second'])} out/s"
    second = Text(f"{rates}, {queues['tuples']:,} tuples wait ({size(queues['bytes'])}{disk})")
    return [first, second, *_shed(overview["shedders"]), *_troubles(overview["streams"])]


def _shed(shedders: Iterable[Mapping[str, Any]]) -> list[Text]:
    said = [f"{one['share']:.0%} before {one['operator']}" for one in shedders]
    return [Text(f"shedding {first_few(said, 4)}", style="yellow")] if said else []


def _troubles(streams: Mapping[str, Any]) -> list[Text]:
    """A line for each source that does not work at present."""
    found = []
    for name, one in streams.items():
        source = one.get("source") or {}
        if source.get("state") == "retrying":
            text = f"stream {name} is tried again, attempt {source['attempt']}: {source['error']}"
            found.append(_one_line(Text(text, "yellow")))
        elif source.get("state") == "failed":
            found.append(_one_line(Text(f"stream {name} has failed: {source['error']}", "red")))
    return found


def failures(queries: Mapping[str, Any]) -> list[Text]:
    """Why queries have failed, one line for each of the first few."""
    failed = [f"{name}: {one['error']}" for name, one in queries.items() if one["state"] == "failed"]
    more = [f"and {len(failed) - _ERRORS} more that failed"] if len(failed) > _ERRORS else []
    return [_one_line(Text(line, style="red")) for line in (*failed[:_ERRORS], *more)]


def _one_line(text: Text) -> Text:
    """The text, cut where the terminal ends."""
    line = text.copy()
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


class OverviewScreen:
    """An overview for one screen: laid out when it is drawn, for the width and height available then."""

    def __init__(self, overview: Mapping[str, Any], order: Order, hint: Text) -> None:
        self._overview = overview
        self._order = order
        self._hint = hint

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def lines(what: RenderableType) -> int:
            return len(console.render_lines(what, options.update(height=None), pad=False))

        classes = class_table(self._overview["classes"])
        above: list[RenderableType] = [*head(self._overview), *failures(self._overview["queries"]), "", classes, ""]
        room = (options.height or console.height) - sum(map(lines, above)) - 1
        yield from above
        yield from self._queries(room, lines)
        yield _one_line(self._hint)

    def _queries(self, room: int, lines: Any) -> Iterable[RenderableType]:
        """As many queries as there is room for, failed ones first; a last line counts the others."""
        queries = in_order(self._overview["queries"], self._order)
        shown = min(len(queries), max(0, room))
        while shown and lines(self._part(queries, shown)) + (shown < len(queries)) > room:
            shown -= 1
        if shown:
            yield self._part(queries, shown)
        if shown < len(queries) and room > 0:
            yield Text(f"and {len(queries) - shown:,} more queries", style="dim")

    @staticmethod
    def _part(queries: Mapping[str, Any], most: int) -> FittedTable:
        return query_table(dict(list(queries.items())[:most]))


def _parameters(parameters: Mapping[str, Any]) -> str:
    said = ", ".join(f"{key} {value}" for key, value in parameters.items())
    return f" ({said})" if said else ""


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02}:{minutes:02}:{rest:02}" if days else f"{hours}:{minutes:02}:{rest:02}"


def _seconds(value: float | None) -> str:
    return time(value and float(f"{value:.3g}"), unknown="-")


def _number(value: float | None) -> str:
    return "-" if value is None else number(value)
