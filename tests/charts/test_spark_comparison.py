"""The figure of `bench classes`: every class of every contestant, also those without results."""

from typing import Any

from headgate.charts.spark_comparison import draw_spark_comparison

PRIORITIES = {"class1": 6, "class3": 1}
WORKLOADS = ("heavy", "medium", "easy")
DONE = {"mean": 0.2, "p50": 0.1, "p95": 0.4}
NOTHING = dict.fromkeys(DONE)


def result(last: dict[str, Any] = DONE) -> dict[str, Any]:
    """Two contestants. `last` has the figures of the second one's less important class."""
    contestants = {
        "stock fair": {"classes": {"class1": DONE, "class3": DONE}},
        "mbd": {"classes": {"class1": DONE, "class3": last}},
    }
    return {
        "workloads": dict.fromkeys(WORKLOADS, contestants),
        "settings": {
            "priorities": PRIORITIES,
            "rates": dict.fromkeys(WORKLOADS, 1500.0),
            "queries": dict.fromkeys(WORKLOADS, 20),
        },
    }


def marks(axes: Any, kind: str) -> list[float]:
    return [float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == kind]


def test_a_panel_for_each_workload_and_a_mark_for_each_class() -> None:
    panels = draw_spark_comparison(result()).axes
    assert [axes.get_title(loc="left").split(":")[0] for axes in panels] == ["easy", "medium", "heavy"]
    for axes in panels:
        assert len(marks(axes, "o")) == 4
        assert not marks(axes, "x")
        assert [label.get_text() for label in axes.get_xticklabels()] == ["stock\nfair", "mbd"]
    heights = {float(y) for line in panels[0].lines for y in line.get_ydata()}
    assert heights == {200.0, 100.0, 400.0}


def test_a_class_without_results_is_marked_in_its_place() -> None:
    (first, *_) = draw_spark_comparison(result(NOTHING)).axes
    (place,) = marks(first, "x")
    assert place > max(marks(first, "o"))


def test_latencies_far_apart_get_a_logarithmic_axis() -> None:
    slow = {name: 100 * value for name, value in DONE.items()}
    assert draw_spark_comparison(result(slow)).axes[0].get_yscale() == "log"
