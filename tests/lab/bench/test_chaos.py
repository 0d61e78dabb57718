"""A run that is killed and started again gives everything once: real processes, killed with SIGKILL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headgate_lab.bench import chaos
from headgate_lab.bench.chaos.application import SMALL, last_row, rows


@pytest.mark.spark
@pytest.mark.nightly  # each life of the run starts Spark; a run that goes on is in `test_resume.py` every day
@pytest.mark.parametrize("kills", [1, 3])
def test_nothing_is_lost_or_repeated(kills: int) -> None:
    found = chaos.run(kills=kills, sizes=replace(chaos.SMALLEST, seed=kills))
    assert (found["lost"], found["repeated"], found["kills"]) == (0, 0, kills)
    assert found["pairs"]["files to csv and parquet"]["results"] > 100


def test_rows_follow_from_their_numbers() -> None:
    assert [*rows(SMALL, 0, 7), *rows(SMALL, 7, 20)] == list(rows(SMALL, 0, 20))
    assert last_row(SMALL, 20)[2] > next(rows(SMALL, 19, 20))[2]
