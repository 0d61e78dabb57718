"""Charts of a run: what they show, and reports with little to draw."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.charts.files import save_all
from headgate.charts.latency_boxes import draw_latency_boxes
from headgate.charts.latency_over_time import draw_latency_over_time, marks, spread
from headgate.charts.style import class_colors, time_unit

pytestmark = pytest.mark.slow

LATENCY = {"mean": 0.2, "p10": 0.1, "p25": 0.12, "p50": 0.15, "p75": 0.3, "p90": 0.4}
NOTHING = dict.fromkeys(LATENCY)


def report(low: dict[str, Any] = LATENCY, course: list[float | None] | None = None, **more: Any) -> dict[str, Any]:
    """Two classes. The less important one is declared first and has the given numbers."""
    line = [0.1, None, 0.2, 0.2] if course is None else course
    return {
        "runtime": "simulated",
        "policy": "mbd",
        "slots": 2,
        "seconds": 0.1 * len(line),
        "classes": {
            "low$a$": {"priority": 1, "outputs": 1, "latency": low},
            "high": {"priority": 6, "outputs": 2000, "latency": LATENCY},
        },
        "course": {
            "bucket": 0.1,
            "times": [at / 10 for at in range(len(line))],
            "classes": {"low$a$": line, "high": [0.1 for _ in line]},
            "inversion": [None if value is None else 0.0 for value in line],
        },
        "switches": [],
        "changes": [],
        **more,
    }


def texts(figure: Any) -> list[str]:
    figure.canvas.draw()
    return [one.get_text() for axes in figure.axes for one in (*axes.texts, *axes.get_xticklabels(), axes.title)]


def test_the_most_important_class_is_first_and_has_the_first_color() -> None:
    assert list(class_colors(report())) == ["high", "low$a$"]
    (axes,) = draw_latency_boxes(report()).axes
    assert [one.get_text() for one in axes.get_xticklabels()] == [
        "high\npriority 6\n2,000 results",
        "low$a$\npriority 1\n1 result",
    ]


def test_boxes_have_the_percentiles_and_the_mean() -> None:
    (axes,) = draw_latency_boxes(report()).axes
    assert axes.get_ylabel() == "latency, ms"
    heights = {round(float(y), 6) for line in axes.lines for y in line.get_ydata()}
    assert heights == {100.0, 120.0, 150.0, 200.0, 300.0, 400.0}


@pytest.mark.parametrize(
    ("factor", "scale"), [(1.0, "linear"), (4.9, "linear"), (5.1, "log"), (1e6, "log"), (0.0, "linear")]
)
def test_the_axis_is_logarithmic_when_extremes_are_far_apart(factor: float, scale: str) -> None:
    """The extremes over both classes: 0.1 s of one, and 0.4 s times the factor of the other."""
    far = {key: value * factor for key, value in LATENCY.items()}
    (axes,) = draw_latency_boxes(report(far)).axes
    assert axes.get_yscale() == scale
    above, _ = draw_latency_over_time(report(course=[0.1, 0.4 * factor])).axes
    assert above.get_yscale() == scale


def test_a_class_without_results_is_labeled() -> None:
    assert "no results" in texts(draw_latency_boxes(report(NOTHING)))
    assert "no results" not in texts(draw_latency_boxes(report()))


def test_lines_are_labeled_and_switches_marked() -> None:
    switches = [{"at": 0.15, "from": "rr", "to": "mbd", "reason": "asked for"}]
    figure = draw_latency_over_time(report(switches=switches))
    assert {"high", "low$a$", "rr to mbd"} <= set(texts(figure))
    for axes in figure.axes:
        assert any(line.get_xdata()[0] == line.get_xdata()[-1] == 0.15 for line in axes.lines if len(line.get_xdata()))


def test_isolated_results_are_dots_on_a_thin_line() -> None:
    """They used to be dots of 2.5 points without a line between them."""
    sparse = [0.1, None, None, 0.3, None, 0.2, None, None, None, 0.1]
    above = draw_latency_over_time(report(course=sparse)).axes[0]
    dots = [line for line in above.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert [len(line.get_xdata()) for line in dots] == [4]
    assert dots[0].get_markersize() >= 4
    thin = [line for line in above.lines if line.get_linewidth() < 1 and len(line.get_xdata()) == 4]
    assert [line.get_color() for line in thin] == [dots[0].get_color()]


def test_nothing_touches_the_upper_edge() -> None:
    for figure in (draw_latency_boxes(report()), draw_latency_over_time(report(course=[0.1, 0.1, 0.1]))):
        axes = figure.axes[0]
        assert axes.get_ylim()[1] > 1.05 * max(float(y) for line in axes.lines for y in line.get_ydata())


def test_changes_are_marked_once_per_bucket() -> None:
    switches = [{"at": 0.15, "from": "rr", "to": "mbd", "reason": "asked for"}]
    changes = [
        {"at": 0.32, "class": "high", "from": 6, "to": 1},
        {"at": 0.36, "query": "q", "from": "high", "to": "low$a$"},
    ]
    one = report(switches=switches, changes=changes)
    assert marks(one) == [(0.15, "rr to mbd"), (0.32, "high: 6 to 1, q: high to low$a$")]
    assert "high: 6 to 1, q: high to low$a$" in texts(draw_latency_over_time(one))


@pytest.mark.parametrize(
    "one",
    [
        report(),
        report(NOTHING, course=[]),
        report(NOTHING, course=[None, None]),
        report(course=[0.1]),
        report(course=[1e-6, 2e-6]),
        report(course=[0.0, 0.0]),
    ],
)
def test_any_report_can_be_drawn(one: dict[str, Any], tmp_path: Path) -> None:
    files = [
        *save_all(draw_latency_boxes(one), tmp_path, "boxes"),
        *save_all(draw_latency_over_time(one), tmp_path, "course"),
    ]
    assert [path.name for path in files] == ["boxes.png", "boxes.svg", "course.png", "course.svg"]
    assert all(path.stat().st_size > 1000 for path in files)


@pytest.mark.parametrize(
    ("largest", "unit"), [(0.0, "ms"), (3e-7, "us"), (0.0009, "us"), (0.001, "ms"), (0.9, "ms"), (1.0, "s"), (99, "s")]
)
def test_units(largest: float, unit: str) -> None:
    assert time_unit([0.0, largest])[1] == unit


@settings(deadline=None)
@given(st.dictionaries(st.integers(), st.floats(0.0, 1.0), max_size=30))
def test_labels_do_not_overlap(heights: dict[Any, float]) -> None:
    found = spread(heights)
    places = sorted(found.values())
    least = min(0.07, 1.0 / max(1, len(heights)))
    assert all(b - a >= least - 1e-9 for a, b in pairwise(places))
    assert all(-1e-9 <= place <= 1.0 for place in places)
    assert sorted(heights, key=lambda name: heights[name]) == sorted(found, key=lambda name: found[name])
