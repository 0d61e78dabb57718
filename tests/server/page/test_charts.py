"""Charts as options: times, gaps, promises, decisions, colors, and no script of a user."""

from collections.abc import Iterator
from typing import Any

import pytest

from headgate.server.page.charts import DARK, LIGHT, decision_words, latency_chart, promised_between, qos_chart

SCRIPT = ":alert(1)"
COURSE = {
    "bucket": 5.0,
    "times": [0.0, 5.0, 10.0, 15.0],
    "means": [0.1, None, 0.2, 0.3],
    "maxima": [0.4, None, 0.5, 0.6],
    "counts": [1, 0, 2, 3],
}


def keys(value: Any) -> Iterator[str]:
    """All keys in options, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_points_stand_in_the_middle_of_their_buckets_and_gaps_stay_gaps() -> None:
    (line,) = latency_chart(1000.0, {"a": COURSE}, LIGHT)["series"]
    points = [point["value"] if isinstance(point, dict) else point for point in line["data"]]
    assert points == [[1002500, 0.1], [1007500, None], [1012500, 0.2], [1017500, 0.3]]


def test_a_point_without_neighbors_gets_a_dot() -> None:
    (line,) = latency_chart(0.0, {"a": COURSE}, LIGHT)["series"]
    assert [isinstance(point, dict) for point in line["data"]] == [True, False, False, False]


def test_promises_and_largest_latencies_are_lines_of_their_own() -> None:
    promise = promised_between([[0, 0.5], [10, 0.5], [10, 0.1], [60, 0.1]], COURSE, 15.0)
    assert promise == [(0.0, 0.5), (10.0, 0.5), (10.0, 0.5), (15.0, 0.1)]
    options = latency_chart(0.0, {"mean": COURSE}, LIGHT, {"mean": promise}, maxima=True)
    assert [one["name"] for one in options["series"]] == ["mean", "largest", "promise"]


def test_decisions_are_marked_at_their_time() -> None:
    decision = {"at": 7.0, "kind": "switch", "from": "rr", "to": "mbd"}
    (line,) = latency_chart(100.0, {"a": COURSE}, LIGHT, decisions=[decision])["series"]
    assert line["markLine"]["data"] == [{"name": "rr → mbd", "xAxis": 107000}]


def test_decisions_in_words() -> None:
    assert decision_words({"kind": "shed more", "from": 0.0, "to": 0.25}) == "shed more: 0 % → 25 %"


def test_latencies_far_apart_get_a_logarithmic_axis() -> None:
    slow = {**COURSE, "means": [10.0, None, 20.0, 30.0]}
    assert latency_chart(0.0, {"a": COURSE}, LIGHT)["yAxis"]["type"] == "value"
    assert latency_chart(0.0, {"a": COURSE, "b": slow}, LIGHT)["yAxis"]["type"] == "log"


def test_colors_follow_the_theme() -> None:
    light, dark = (latency_chart(0.0, {"a": COURSE}, colors) for colors in (LIGHT, DARK))
    assert light["series"][0]["color"] != dark["series"][0]["color"]


def test_names_are_never_keys() -> None:
    """The browser runs what stands under a key that begins with a colon."""
    decision = {"at": 7.0, "kind": "switch", "from": SCRIPT, "to": SCRIPT}
    options = latency_chart(0.0, {SCRIPT: COURSE}, LIGHT, {SCRIPT: [(0.0, 1.0)]}, [decision])
    assert {key for key in keys(options) if key.startswith(":")} == {":formatter", ":valueFormatter"}


def test_tooltips_are_drawn_rather_than_written_as_html() -> None:
    assert latency_chart(0.0, {"a": COURSE}, LIGHT)["tooltip"]["renderMode"] == "richText"


@pytest.mark.parametrize("measure", ["latency", "memory", "throughput"])
def test_a_qos_graph_goes_on_after_its_last_point(measure: str) -> None:
    (line,) = qos_chart([[0, 0.5], [60, 0.2]], measure, LIGHT)["series"]
    assert line["data"][:2] == [[0, 0.5], [60, 0.2]]
    assert line["data"][2][1] == 0.2
    assert line["data"][2][0] > 60


def test_a_qos_graph_without_points_can_be_drawn() -> None:
    assert qos_chart([], "latency", LIGHT)["series"][0]["data"] == []
