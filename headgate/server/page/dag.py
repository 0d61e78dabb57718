"""A query's operators as a drawing: layers from left to right, made from plain data. Pure: nothing here knows the page.

Whatever comes from users is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

from headgate.server.page.words import count, duration, share

WIDTH, HEIGHT = 142, 60  # of a node
BETWEEN, ABOVE = 54, 24  # layers, nodes of a layer
MARGIN = 16
_LANE = 18  # the height of an edge that passes a layer
_SWEEPS = 4
_SINK = "results"
_LETTERS = 19
_SMALLEST = 0.7  # of its size, on a narrow screen; beyond that it scrolls


@dataclass
class Node:
    """A stream, an operator or the results; or, without `title`, an edge that passes a layer."""

    key: str
    kind: str = ""
    title: str = ""
    lines: tuple[str, ...] = ()
    hint: str = ""
    layer: int = 0
    y: float = 0.0
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @property
    def x(self) -> float:
        """Its left edge."""
        return MARGIN + self.layer * (WIDTH + BETWEEN)

    @property
    def height(self) -> float:
        """What it needs of its layer."""
        return HEIGHT if self.title else _LANE

    @property
    def middle(self) -> float:
        """Where edges come in and go out."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Wire:
    """An edge, with the nodes that it passes."""

    path: tuple[str, ...]
    branch: str
    waiting: int | None  # None: nothing can wait here
    bytes: int
    shedding: float


@dataclass(frozen=True)
class Drawing:
    """Nodes with their places, and the edges between them."""

    nodes: Mapping[str, Node]
    wires: tuple[Wire, ...]
    width: float
    height: float


def layout(overview: Mapping[str, Any]) -> Drawing:
    """Places for the operators of `Run.query_overview`."""
    nodes = _nodes(overview)
    links = [(_name(edge["from"], nodes), f"op {edge['to']}", edge) for edge in overview["edges"]]
    fed = {source for source, _, _ in links}
    last = [key for key in nodes if key.startswith("op ") and key not in fed]
    if last:
        nodes[_SINK] = Node(_SINK, "sink", "results", (count(overview.get("outputs")),))
    ends = [(key, _SINK, None) for key in last]
    _assign_layers(nodes, [(source, target) for source, target, _ in [*links, *ends]])
    wires = tuple(_wire(nodes, source, target, edge) for source, target, edge in [*links, *ends])
    layers = _ordered(nodes)
    _place(layers)
    right = max((node.x + WIDTH for node in nodes.values()), default=0.0) + MARGIN
    bottom = max((node.y + node.height for node in nodes.values()), default=0.0) + MARGIN
    return Drawing(nodes, wires, right, bottom)


def _nodes(overview: Mapping[str, Any]) -> dict[str, Node]:
    query = overview["name"]
    found: dict[str, Node] = {}
    for operator in overview["operators"]:
        name = operator["id"]
        selectivity = operator["selectivity"]
        lines = (
            f"{duration(operator['cost_s'])} per tuple",
            f"selectivity {'–' if selectivity is None else f'{selectivity:.3g}'}",
        )
        others = len(operator.get("queries", [])) - 1
        hint = [f"{name} ({operator['kind']})", *lines, f"{duration(operator['fixed_s'])} per call"]
        if others > 0:
            hint.append(f"works for {others} more {'query' if others == 1 else 'queries'}")
        title = name.removeprefix(f"{query}/")
        found[f"op {name}"] = Node(f"op {name}", operator["kind"], title, lines, "\n".join(hint))
    for edge in overview["edges"]:
        if f"op {edge['from']}" not in found:
            key = f"stream {edge['from']}"
            found[key] = Node(key, "stream", edge["from"], (), f"stream {edge['from']}")
    return found


def _name(node: str, nodes: Mapping[str, Node]) -> str:
    return f"op {node}" if f"op {node}" in nodes else f"stream {node}"


def _assign_layers(nodes: dict[str, Node], links: Iterable[tuple[str, str]]) -> None:
    """The longest way from a source to each node. There are no cycles: it ends after as many rounds as layers."""
    found = list(links)
    for _ in nodes:
        moved = [(left, right) for left, right in found if nodes[right].layer <= nodes[left].layer]
        if not moved:
            return
        for left, right in moved:
            nodes[right].layer = max(nodes[right].layer, nodes[left].layer + 1)


def _wire(nodes: dict[str, Node], source: str, target: str, edge: Mapping[str, Any] | None) -> Wire:
    """An edge, with a lane in every layer that it passes, so that it crosses no node."""
    path = [source]
    for layer in range(nodes[source].layer + 1, nodes[target].layer):
        key = f"lane {len(nodes)}"
        nodes[key] = Node(key, layer=layer)
        path.append(key)
    path.append(target)
    for left, right in pairwise(path):
        nodes[left].after.append(right)
        nodes[right].before.append(left)
    if edge is None:
        return Wire(tuple(path), "", None, 0, 0.0)
    return Wire(tuple(path), edge["branch"], edge["waiting"], edge["bytes"], edge["shedding"])


def _ordered(nodes: Mapping[str, Node]) -> list[list[Node]]:
    """The nodes of each layer, those with near neighbors near each other."""
    layers: list[list[Node]] = [[] for _ in range(1 + max((node.layer for node in nodes.values()), default=-1))]
    for node in nodes.values():
        layers[node.layer].append(node)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        order = {node.key: at for layer in layers for at, node in enumerate(layer)}
        for layer in layers if forward else reversed(layers):
            mean = {}
            for at, node in enumerate(layer):
                near = [order[key] for key in (node.before if forward else node.after)]
                mean[node.key] = sum(near) / len(near) if near else at
            layer.sort(key=lambda node: mean[node.key])
            order |= {node.key: at for at, node in enumerate(layer)}
    return layers


def _place(layers: list[list[Node]]) -> None:
    """Heights: the layers are centered on each other."""
    heights = [sum(node.height for node in layer) + ABOVE * (len(layer) - 1) for layer in layers]
    tallest = max(heights, default=0.0)
    for layer, height in zip(layers, heights, strict=True):
        y = MARGIN + (tallest - height) / 2
        for node in layer:
            node.y = y
            y += node.height + ABOVE


def drawn(overview: Mapping[str, Any]) -> str:
    """The drawing as SVG. Colors come from the style sheet of the page."""
    drawing = layout(overview)
    label = f"{len(overview['operators'])} operators of query {overview['name']}, from its streams to its results"
    shapes = [_drawn_wire(drawing.nodes, wire) for wire in drawing.wires]
    shapes += [_drawn_node(node) for node in drawing.nodes.values() if node.title]
    wide, high = drawing.width, drawing.height
    style = f"min-width:{wide * _SMALLEST:.0f}px;max-width:{wide:.0f}px"
    head = f'role="img" aria-label="{escape(label)}" viewBox="0 0 {wide:.0f} {high:.0f}" style="{style}"'
    return f'<svg class="dag" {head}>{"".join(shapes)}</svg>'


def _drawn_node(node: Node) -> str:
    middle = node.x + WIDTH / 2
    texts = [(node.title, "title"), *((line, "line") for line in node.lines)]
    first = node.middle - (len(texts) - 1) * 8 + 4
    inside = "".join(
        f'<text x="{middle:.0f}" y="{first + at * 16:.0f}" class="{name}">{escape(_short(text))}</text>'
        for at, (text, name) in enumerate(texts)
    )
    box = f'<rect x="{node.x:.0f}" y="{node.y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="8"/>'
    kind = "operator" if node.key.startswith("op ") else escape(node.kind)
    return f'<g class="node {kind}"><title>{escape(node.hint or node.title)}</title>{box}{inside}</g>'


def _drawn_wire(nodes: Mapping[str, Node], wire: Wire) -> str:
    first, last = nodes[wire.path[0]], nodes[wire.path[-1]]
    line = f"M{first.x + WIDTH:.0f} {first.middle:.0f}"
    for left, right in pairwise(wire.path):
        start, end = nodes[left].x + WIDTH, nodes[right].x
        bend = (end - start) / 2
        low, high = nodes[left].middle, nodes[right].middle
        line += f" C{start + bend:.0f} {low:.0f} {end - bend:.0f} {high:.0f} {end:.0f} {high:.0f}"
        if right != wire.path[-1]:
            line += f" H{end + WIDTH:.0f}"
    before_last = nodes[wire.path[-2]]
    x, y = (before_last.x + WIDTH + last.x) / 2, (before_last.middle + last.middle) / 2
    busy = " busy" if wire.waiting else ""
    tip, back = f"{last.x:.0f} {last.middle:.0f}", last.x - 7
    arrow = f"M{back:.0f} {last.middle - 4:.0f} L{tip} L{back:.0f} {last.middle + 4:.0f}"
    return f'<g class="wire{busy}"><path d="{line}"/><path d="{arrow}"/>{_wire_label(wire, x, y)}</g>'


def _wire_label(wire: Wire, x: float, y: float) -> str:
    if wire.waiting is None:
        return ""
    words = [count(wire.waiting)] + ([f"−{share(wire.shedding)}"] if wire.shedding else [])
    text = " ".join(words)
    hint = f"{count(wire.waiting)} tuples wait here" + (
        f", {share(wire.shedding)} are dropped" if wire.shedding else ""
    )
    hint += f"; branch {wire.branch}" if wire.branch else ""
    width = 12 + 7 * len(text)
    box = f'<rect x="{x - width / 2:.0f}" y="{y - 10:.0f}" width="{width}" height="20" rx="10"/>'
    label = f'<text x="{x:.0f}" y="{y + 4:.0f}">{escape(text)}</text>'
    return f'<g class="queue"><title>{escape(hint)}</title>{box}{label}</g>'


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
