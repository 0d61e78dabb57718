"""Column values of the feeder: distributions, independence of batches, types, and what is refused."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.feeder.values import ValueGenerator

COLUMNS = [
    ("k", "INT"),
    ("v", "DOUBLE"),
    ("name", "STRING"),
    ("ok", "BOOLEAN"),
    ("price", "DECIMAL(6,2)"),
    ("row", "BIGINT"),
    ("ts", "TIMESTAMP"),
]
SPECS = {"v": "normal 5 2", "k": "zipf 50 1.1", "row": "sequence"}


def column(sql_type: str, spec: str | None, n: int = 5000, first: int = 0, seed: int = 1) -> Any:
    made = ValueGenerator([("c", sql_type)], {} if spec is None else {"c": spec}, seed)
    return made.block(first, np.zeros(n))["c"]


def flat(block: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in block.items()}


@settings(deadline=None, max_examples=40)
@given(
    cuts=st.lists(st.integers(0, 3000), max_size=8),
    seed=st.integers(0, 2**40),
    order=st.randoms(use_true_random=False),
)
def test_values_do_not_depend_on_batches(cuts: list[int], seed: int, order: Any) -> None:
    times = np.arange(3000) / 100
    whole = flat(ValueGenerator(COLUMNS, SPECS, seed, "ts").block(0, times))
    borders = sorted({0, 3000, *cuts})
    ranges = list(pairwise(borders))
    order.shuffle(ranges)
    made = ValueGenerator(COLUMNS, SPECS, seed, "ts")
    for first, end in ranges:
        part = flat(made.block(first, times[first:end]))
        assert part == {name: values[first:end] for name, values in whole.items()}


def test_the_seed_and_the_column_decide() -> None:
    columns = [("a", "DOUBLE"), ("b", "DOUBLE")]
    once, again, other = (flat(ValueGenerator(columns, {}, seed).block(0, np.zeros(100))) for seed in (1, 1, 2))
    assert once == again
    assert once["a"] != other["a"]
    assert once["a"] != once["b"]


def test_a_spec_for_one_column_leaves_the_others_alone() -> None:
    plain = ValueGenerator(COLUMNS, {}, 3).block(0, np.zeros(50))
    changed = ValueGenerator(COLUMNS, {"k": "constant 7"}, 3).block(0, np.zeros(50))
    assert changed["k"].tolist() == [7] * 50  # type: ignore[union-attr]
    assert changed["name"] == plain["name"]


def test_uniform_includes_both_ends_for_integers_only() -> None:
    assert set(column("INT", "uniform 3 6").tolist()) == {3, 4, 5, 6}
    reals = column("DOUBLE", "uniform 3 6")
    assert reals.min() >= 3
    assert reals.max() < 6
    assert reals.mean() == pytest.approx(4.5, abs=6 * 3 / np.sqrt(12 * 5000))
    narrow = column("FLOAT", "uniform 1 1.0000002", 3000)  # contains two 32-bit floats
    assert narrow.max() < np.float32(1.0000002)


def test_normal_has_its_mean_and_deviation() -> None:
    values = column("DOUBLE", "normal 5 2")
    assert values.mean() == pytest.approx(5, abs=6 * 2 / np.sqrt(5000))
    assert values.std() == pytest.approx(2, abs=6 * 2 / np.sqrt(10_000))
    assert column("INT", "normal 5 0", 3).tolist() == [5, 5, 5]
    assert set(column("TINYINT", "normal 0 10000").tolist()) >= {-128, 127}
    assert int(column("BIGINT", "normal 1e19 0", 1)[0]) == 2**63 - 1


def test_zipf_follows_its_law() -> None:
    n = 20_000
    seen = Counter(column("INT", "zipf 4 1", n).tolist())
    weights = np.array([1, 1 / 2, 1 / 3, 1 / 4])
    for value, p in zip((1, 2, 3, 4), weights / weights.sum(), strict=True):
        assert seen[value] / n == pytest.approx(p, abs=6 * np.sqrt(p * (1 - p) / n))
    assert set(seen) == {1, 2, 3, 4}
    assert set(column("INT", "zipf 3 0").tolist()) == {1, 2, 3}


def test_choice_constant_and_sequence() -> None:
    assert set(column("STRING", "choice x 'y z' w")) == {"x", "y z", "w"}
    assert set(column("INT", "choice 3 5").tolist()) == {3, 5}
    assert set(column("DOUBLE", "choice 0.5 2").tolist()) == {0.5, 2.0}
    assert column("DECIMAL(4,2)", "constant 1.5", 2) == [Decimal("1.50")] * 2
    assert column("BOOLEAN", "constant true", 2).tolist() == [True, True]
    assert column("BIGINT", "sequence", 3, first=5000).tolist() == [5000, 5001, 5002]
    assert column("STRING", "sequence", 3, first=1) == ["1", "2", "3"]
    assert column("TINYINT", "sequence", 3, first=125).tolist() == [125, 126, 127]


def test_time_is_the_arrival_as_a_timestamp_or_in_whole_seconds_of_the_run() -> None:
    made = ValueGenerator([("ts", "TIMESTAMP"), ("at", "BIGINT")], {"at": "time"}, 1, "ts", 1_000_000_000)
    block = made.block(0, np.array([0.0, 0.1, 2.5]))
    assert block["ts"].dtype == np.int64  # type: ignore[union-attr]
    assert flat(block)["ts"] == [1_000_000_000, 1_000_100_000, 1_002_500_000]
    assert flat(block)["at"] == [0, 0, 2]  # as a replay of BIGINT event times reads them
    times = np.array([0.25, 0.999999, 1.0, 61.5])
    logical = ValueGenerator([("t", "BIGINT")], {}, 1, time_column="t", epoch_us=5).block(0, times)
    assert flat(logical) == {"t": [0, 0, 1, 61]}


@pytest.mark.parametrize(
    ("sql_type", "dtype"),
    [
        ("TINYINT", np.int8),
        ("SMALLINT", np.int16),
        ("INT", np.int32),
        ("BIGINT", np.int64),
        ("FLOAT", np.float32),
        ("DOUBLE", np.float64),
        ("BOOLEAN", np.bool_),
        ("TIMESTAMP", np.int64),
    ],
)
def test_arrays_have_the_width_of_the_type(sql_type: str, dtype: type) -> None:
    assert column(sql_type, None, 10).dtype == dtype


def test_defaults_by_type() -> None:
    assert set(column("INT", None).tolist()) == set(range(101))
    assert 0 <= column("DOUBLE", None).min() <= column("DOUBLE", None).max() < 1
    assert set(column("STRING", None)) == set("abcdefghijklmnopqrst")
    assert set(column("BOOLEAN", None).tolist()) == {True, False}
    cents = column("DECIMAL(6,2)", None)
    assert set(cents) == {Decimal(n).scaleb(-2) for n in range(100)}
    assert all(value.as_tuple().exponent == -2 for value in cents)


def test_no_rows_give_empty_columns() -> None:
    assert all(len(values) == 0 for values in ValueGenerator(COLUMNS, SPECS, 1).block(1024, np.empty(0)).values())


def test_decimals_keep_all_their_digits() -> None:
    digits = "12345678901234567890123456789012345.678"
    assert column("DECIMAL(38,3)", f"constant {digits}", 1) == [Decimal(digits)]


@pytest.mark.parametrize(
    ("sql_type", "spec", "said"),
    [
        (
            "INT",
            "gauss 1 2",
            "column c INT: 'gauss 1 2' is not a known form; it takes `uniform a b`, `normal mean sd`",
        ),
        ("INT", "uniform 1", "should read `uniform a b`"),
        ("INT", "uniform 1 2 3", "should read `uniform a b`"),
        ("INT", "uniform 0.5 3", "'0.5' where a whole number is needed"),
        ("INT", "uniform 5 3", "bounds in the wrong order"),
        ("DOUBLE", "uniform 5 3", "bounds in the wrong order"),
        ("TINYINT", "uniform 0 300", "is outside the range of the type, -128 to 127"),
        ("BIGINT", "uniform 0 99999999999999999999", "does not fit into 64 bits"),
        ("FLOAT", "uniform 0 1e300", "too wide for the type"),
        ("DOUBLE", "uniform a b", "'a' where a number is needed"),
        ("DOUBLE", "normal 0 -1", "negative standard deviation"),
        ("DOUBLE", "constant nan", "which is not a DOUBLE"),
        ("INT", "choice", "should read `choice x y z`"),
        ("INT", "choice 1 x", "'x', which is not a INT"),
        ("DECIMAL(3,1)", "constant 100", "the type ranges from -99.9 to 99.9"),
        ("INT", "zipf 0 1", "n from 1 to"),
        ("INT", "zipf 5 -1", "theta of 0 or more"),
        ("STRING", "normal 0 1", "does not suit type STRING"),
        ("BOOLEAN", "choice yes no", "which is not a BOOLEAN; it takes `choice x y z`, `constant x`"),
        ("TIMESTAMP", "uniform 0 1", "does not suit type TIMESTAMP; it takes `time`"),
        ("DOUBLE", "time", "does not suit type DOUBLE"),
        ("INT", "", "is empty"),
        ("STRING", "choice O'Brien", "unclosed quotation mark"),
        (
            "ARRAY<INT>",
            "sequence",
            "column c: cannot generate values of type ARRAY<INT>; only of TINYINT",
        ),
    ],
)
def test_bad_specs_name_the_column_and_what_would_be_right(sql_type: str, spec: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        column(sql_type, spec)


def test_other_errors() -> None:
    with pytest.raises(ValueError, match="no column 'x': the columns are c"):
        ValueGenerator([("c", "INT")], {"x": "sequence"}, 1)
    with pytest.raises(ValueError, match="no column 'ts'"):
        ValueGenerator([("c", "INT")], {}, 1, time_column="ts")
    with pytest.raises(ValueError, match="does not suit type STRING"):
        ValueGenerator([("c", "STRING")], {}, 1, time_column="c")
    with pytest.raises(ValueError, match="is not a string"):
        ValueGenerator([("c", "INT")], {"c": 5}, 1)  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="seed must be"):
        ValueGenerator([("c", "INT")], {}, -1)
    with pytest.raises(ValueError, match="is outside the range of the type"):
        column("TINYINT", "sequence", 3, first=126)
