"""Making arrival processes from settings, and settings that are refused."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest

import headgate.feeder.arrivals
from headgate.feeder.arrivals import (
    Constant,
    Poisson,
    Recorded,
    SelfSimilar,
    make_arrivals,
    parse_gaps,
)


def test_the_factory_makes_each_kind() -> None:
    pairs = [
        (make_arrivals("constant", 5, rows=9), Constant(5, rows=9)),
        (make_arrivals("poisson", 5, 9, seed=3, changes=[[1, 2]]), Poisson(5, 3, rows=9, changes=[[1, 2]])),
        (
            make_arrivals({"kind": "poisson"}, 5, 9, seed=3, pauses=[[1, 2]]),
            Poisson(5, 3, 9, pauses=[[1, 2]]),
        ),
        (make_arrivals("self-similar", 5, 9, seed=3), SelfSimilar(5, 3, rows=9)),
        (
            make_arrivals({"kind": "self-similar", "flows": 128, "on_shape": 1.5}, 5, 9, seed=3),
            SelfSimilar(5, 3, flows=128, on_shape=1.5, rows=9),
        ),
        (make_arrivals("recorded", None, 9, gaps="1 2"), Recorded([1, 2], rows=9)),
        (make_arrivals({"kind": "recorded", "repeat": False}, 3, gaps=[1, 2]), Recorded([1, 2], False, 3)),
    ]
    for made, meant in pairs:
        assert type(made) is type(meant)
        assert made.take(20).tolist() == meant.take(20).tolist()


def test_the_package_example_runs() -> None:
    assert doctest.testmod(headgate.feeder.arrivals).failed == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rate": -5}, "rate must be a positive number of tuples per second, not -5"),
        ({"rate": 0}, "rate must be a positive"),
        ({"rate": "fast"}, "rate must be a positive"),
        ({"rate": float("inf")}, "rate must be a positive"),
        ({"rate": None}, "poisson need a rate"),
        ({"rows": -1}, "rows must be a whole number of at least 0, not -1"),
        ({"rows": 2.5}, "rows must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        (
            {"kind": "burst"},
            "unknown kind of arrivals 'burst': use one of constant, poisson, self-similar, recorded",
        ),
        ({"kind": {"flows": 3}}, "arrivals need a kind: one of constant"),
        (
            {"kind": {"kind": "poisson", "flows": 3}},
            "unknown parameter 'flows' of poisson arrivals: it takes no param",
        ),
        (
            {"kind": {"kind": "self-similar", "flow": 3}},
            "unknown parameter 'flow' .* it takes flows, on_shape",
        ),
        ({"kind": {"kind": "self-similar", "flows": 0}}, "flows must be a whole number of at least 1, not 0"),
        ({"kind": {"kind": "self-similar", "off_shape": 1.0}}, "off_shape must be a number above 1"),
        ({"kind": {"kind": "self-similar", "on_scale": 0}}, "on_scale must be a positive number of seconds"),
        ({"kind": "recorded"}, "recorded need recorded gaps"),
        ({"gaps": [1.0]}, "recorded gaps go with arrivals of kind recorded, not poisson"),
        ({"kind": "recorded", "gaps": [1, -1]}, "0 or more: number 2 is -1"),
        ({"kind": "recorded", "gaps": []}, "at least one number"),
        ({"kind": "recorded", "gaps": ["x"]}, "at least one number"),
        ({"kind": "recorded", "gaps": [0, 0]}, "at least one must be positive"),
        ({"kind": "recorded", "gaps": "1 2\n3 x"}, "line 2 of the recorded gaps: 'x' is not a number"),
        ({"kind": {"kind": "recorded", "repeat": "no"}, "gaps": [1]}, "repeat must be true or false"),
        ({"changes": [[5, 2], [3, 1]]}, "changes must be in order of time: 3 s comes after 5 s"),
        ({"changes": [[5, -2]]}, "the factor in changes must be a number, 0 or more, not -2"),
        ({"changes": [[-5, 2]]}, "the time in changes must be seconds since the start"),
        ({"changes": [5, 2]}, r"changes must be a list of pairs \[time, factor\]"),
        ({"changes": "5 2"}, "changes must be a list of pairs"),
        ({"pauses": [[1, 5], [3, 1]]}, "pauses must not overlap: the one at 1 s lasts until 6 s"),
        ({"pauses": [[1, float("inf")]]}, "the seconds in pauses must be a number"),
    ],
)
def test_bad_settings_say_what_would_be_right(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_arrivals(**{"kind": "poisson", "rate": 5, **arguments})


def test_bad_calls_are_refused() -> None:
    with pytest.raises(ValueError, match="finite time for a process without end"):
        Poisson(5, 1).until(np.inf)
    with pytest.raises(ValueError, match="finite time"):
        Poisson(5, 1, rows=3).until(np.nan)
    with pytest.raises(ValueError, match="number of arrivals to take"):
        Poisson(5, 1).take(-1)


def test_parse_gaps_accepts_blanks_commas_and_comments() -> None:
    assert parse_gaps("# seconds\n0.5,1\n\n 2 # long\n").tolist() == [0.5, 1.0, 2.0]
