"""A sweep gives the same rows here and on Spark, whatever the order."""

from typing import Any

import pytest

from headgate_lab.studies.prb.points import points, run, weight
from headgate_lab.studies.study import Profile
from headgate_lab.studies.sweep import Point, SweepError, sweep

POINTS: list[dict[str, Any]] = [{"x": x, "seed": seed} for x in (3, 1, 2) for seed in (0, 1)]


def square(point: Point) -> dict[str, Any]:
    return {"y": point["x"] ** 2}


def inverse(point: Point) -> dict[str, Any]:
    return {"y": 1 / (point["x"] - 1)}


def test_rows_come_in_the_order_of_the_points() -> None:
    done: list[int] = []
    rows = sweep(square, POINTS, weight=lambda point: point["x"], on_progress=done.append)
    assert rows == [{**point, "y": point["x"] ** 2} for point in POINTS]
    assert done == [1, 2, 3, 4, 5, 6]


def test_the_longest_points_go_first() -> None:
    ran: list[int] = []

    def note(point: Point) -> dict[str, Any]:
        ran.append(point["x"])
        return {}

    sweep(note, POINTS, weight=lambda point: point["x"])
    assert ran == [3, 3, 2, 2, 1, 1]


def test_a_failure_names_its_point() -> None:
    with pytest.raises(SweepError, match=r"\{'x': 1, 'seed': 0\} failed:\n(.*\n)*ZeroDivisionError"):
        sweep(inverse, POINTS)


def test_no_points() -> None:
    assert sweep(square, []) == []


@pytest.mark.spark
@pytest.mark.nightly
def test_spark_gives_the_same_rows_as_the_driver(spark: Any) -> None:
    few = [
        point
        for point in points(Profile("tiny", tuples=3, seeds=2, coarse=True))
        if point["workload"] == "cost" or point["traced"]
    ]
    done: list[int] = []
    on_spark = sweep(run, few, spark.sparkContext, weight=weight, on_progress=done.append)
    assert on_spark == sweep(run, few)
    assert done == list(range(1, len(few) + 1))
    assert sweep(run, [], spark.sparkContext) == []


@pytest.mark.spark
def test_a_failure_on_spark_names_its_point(spark: Any) -> None:
    broken = {"workload": "unknown", "policy": "rb", "tuples": 1, "seed": 0}
    with pytest.raises(SweepError, match="KeyError: 'unknown'"):
        sweep(run, [broken], spark.sparkContext)
