"""The drawing of operators: layers from left to right, no box over another, nothing of a user as markup."""

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from headgate.server.page.dag import WIDTH, drawn, layout

NOTE = "<img src=x onerror=alert(1)>"


def overview(links: list[tuple[str, str]], operators: list[str], **edge: Any) -> dict[str, Any]:
    """What `Run.query_overview` says of operators `q/NAME` and what feeds them."""

    def name(node: str) -> str:
        return f"q/{node}" if node in operators else node

    costs = {"cost_s": 1.5e-6, "fixed_s": 0.001, "selectivity": 0.25, "tuple_bytes": None, "queries": ["q"]}
    return {
        "name": "q",
        "outputs": 7,
        "operators": [{"id": f"q/{one}", "kind": "select", **costs} for one in operators],
        "edges": [
            {"from": name(left), "branch": "", "to": name(right), "input": at}
            | {"waiting": 0, "bytes": 0, "shedding": 0.0}
            | edge
            for at, (left, right) in enumerate(links)
        ],
    }


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Up to 30 operators, each fed by streams or by operators before it."""
    operators = [f"o{at}" for at in range(draw(st.integers(1, 30)))]
    links = []
    for at, operator in enumerate(operators):
        sources = [*operators[:at], "s1", "s2"]
        for source in draw(st.lists(st.sampled_from(sources), min_size=1, max_size=3, unique=True)):
            links.append((source, operator))
    return overview(links, operators)


def test_a_chain_goes_from_left_to_right() -> None:
    drawing = layout(overview([("s", "a"), ("a", "b")], ["a", "b"]))
    order = ["stream s", "op q/a", "op q/b", "results"]
    assert [drawing.nodes[key].layer for key in order] == [0, 1, 2, 3]
    assert len({drawing.nodes[key].y for key in order}) == 1
    assert drawing.nodes["op q/a"].title == "a"


def test_a_join_stands_between_its_inputs() -> None:
    drawing = layout(overview([("s", "a"), ("t", "b"), ("a", "j"), ("b", "j")], ["a", "b", "j"]))
    join, left, right = (drawing.nodes[f"op q/{one}"] for one in "jab")
    assert join.layer == 2
    assert min(left.middle, right.middle) < join.middle < max(left.middle, right.middle)


@given(graphs())
def test_every_edge_is_drawn_and_no_box_covers_another(found: dict[str, Any]) -> None:
    drawing = layout(found)
    waits = [wire for wire in drawing.wires if wire.waiting is not None]
    assert len(waits) == len(found["edges"])
    for wire in drawing.wires:
        layers = [drawing.nodes[key].layer for key in wire.path]
        assert layers == list(range(layers[0], layers[0] + len(layers)))
    by_layer: dict[int, list[tuple[float, float]]] = {}
    for node in drawing.nodes.values():
        assert node.x >= 0
        assert node.x + WIDTH <= drawing.width
        assert 0 <= node.y <= node.y + node.height <= drawing.height
        by_layer.setdefault(node.layer, []).append((node.y, node.y + node.height))
    for spans in by_layer.values():
        spans.sort()
        assert all(above[1] <= below[0] for above, below in pairwise(spans))
    ElementTree.fromstring(drawn(found))


def test_costs_selectivities_and_queue_lengths_can_be_read() -> None:
    text = drawn(overview([("s", "a")], ["a"], waiting=1234, shedding=0.2))
    assert "1.50 µs per tuple" in text
    assert "selectivity 0.25" in text
    assert "1,234 −20 %" in text
    assert "1,234 tuples wait here, 20 % are dropped" in text


def test_names_are_text() -> None:
    text = drawn({**overview([(f"s{NOTE}", NOTE)], [NOTE]), "name": NOTE})
    assert "<img" not in text
    names = {re.sub(r"^\{.*\}", "", element.tag) for element in ElementTree.fromstring(text).iter()}
    assert names <= {"svg", "g", "rect", "path", "text", "title"}


def test_a_query_without_operators_is_an_empty_drawing() -> None:
    ElementTree.fromstring(drawn({"name": "q", "operators": [], "edges": []}))
