"""Durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("20us", 20e-6),
        ("20 µs", 20e-6),
        ("5 ms", 5e-3),
        ("0.5 s", 0.5),
        (".5s", 0.5),
        ("2 seconds", 2.0),
        ("1 second", 1.0),
        ("1 minute", 60.0),
        ("1.5 hours", 5400.0),
        ("7", 7.0),
        ("1e-3 s", 1e-3),
        (3, 3.0),
        (0.25, 0.25),
        (0, 0.0),
        ("3us", 3e-6),
        ("100 ns", 100e-9),
    ],
)
def test_reads(said: object, seconds: float) -> None:
    assert parse_duration(said) == seconds


@pytest.mark.parametrize(
    "said", ["", "fast", "5 parsecs", "-1s", -1, "1 2", True, None, [1], float("inf"), float("nan"), "1e999", 10**400]
)
def test_refuses(said: object) -> None:
    with pytest.raises(ValueError):
        parse_duration(said)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "?"), (0.0, "0 s"), (20e-6, "20 us"), (1e-3, "1 ms"), (1.5, "1.5 s"), (90.0, "90 s"), (5e-8, "50 ns")],
)
def test_shows(seconds: float | None, shown: str) -> None:
    assert format_duration(seconds) == shown


@given(st.floats(1e-9, 1e6))
def test_shown_durations_can_be_read(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=1e-3)
