"""Arrivals of a simulation: merged in order, from feeders and files; and the keys of tuples."""

import numpy as np
import pytest

from headgate.application.checked import RunLimits
from headgate.connect.sources import make_source as make_real_source
from headgate.errors import ApplicationError
from headgate.metrics.tuple_sizes import port_bytes
from headgate.plan.operators import Port
from headgate.runtime.simulated import simulate
from headgate.runtime.simulated import sources as module
from headgate.runtime.simulated.selectivity import stream_keys
from headgate.runtime.simulated.sources import MergedArrivals, SourceSlots, make_sources
from headgate.seeds import derived_seed
from tests.applications import application
from tests.conformance.plans import feeder, make_app, make_plan, project, select, split

IDLE = RunLimits(until_idle=True)


def all_blocks(merged):
    blocks = []
    while (block := merged.next()) is not None:
        blocks.append(block)
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def app_of(streams, **more):
    operators = [project(f"{name}/p", name) for name in streams]
    return make_app(make_plan(streams, operators, {name: f"{name}/p" for name in streams}), **more)


def test_blocks_of_any_size_are_in_order_of_time_then_stream(monkeypatch):
    streams = {
        "a": feeder(10, 5000),
        "b": feeder(10, 4000),
        "c": feeder(500, 3000, arrivals="poisson"),
        "d": feeder(5, 0),
    }
    entries, arrivals, keys, numbers = all_blocks(MergedArrivals(make_sources(app_of(streams))))
    assert len(entries) == 12_000
    assert (np.diff(entries) >= 0).all()
    assert (arrivals == entries).all()
    same = np.diff(entries) == 0
    assert same.sum() >= 4000  # a and b have tuples at the same times
    assert (np.diff(numbers)[same] >= 0).all()
    assert len(set(keys.tolist())) == 12_000
    monkeypatch.setattr(module, "AT_A_TIME", 300)
    again = all_blocks(MergedArrivals(make_sources(app_of(streams))))
    for column, other in zip((entries, arrivals, keys, numbers), again, strict=True):
        assert (column == other).all()


def test_streams_without_a_seed_get_their_own(tmp_path):
    streams = {name: feeder(10, 100, arrivals="poisson") for name in "ab"}
    first, second = (source.arrivals.take(100) for source in make_sources(app_of(streams)))
    other, _ = (source.arrivals.take(100) for source in make_sources(app_of(streams, seed=1)))
    assert not np.allclose(first, second)
    assert not np.allclose(first, other)
    given = {"a": feeder(10, 100, arrivals="poisson", seed=derived_seed(0, "stream", "a"))}
    assert (make_sources(app_of(given))[0].arrivals.take(100) == first).all()


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_source_slots_serve_first_come_first_served(slots):
    arrivals = np.sort(np.random.default_rng(5).uniform(0, 40, 101))
    source_slots, free, want = SourceSlots(slots, 0.9), [0.0] * slots, []
    for arrival in arrivals:
        slot = free.index(min(free))
        free[slot] = max(free[slot], arrival) + 0.9
        want.append(free[slot])
    got = np.concatenate(
        [source_slots.serve(arrivals[:50]), source_slots.serve(arrivals[50:51]), source_slots.serve(arrivals[51:])]
    )
    assert got == pytest.approx(np.array(want))


def csv_app(folder, schema, text, time=None, **source):
    source = {"kind": "csv", "path": "in.csv", **source}
    (folder / source["path"]).write_text(text)
    stream = {"schema": schema, "source": source} | ({"time": time} if time else {})
    project = {"id": "p", "kind": "project", "input": "s", "columns": ["x"], "cost": 0}
    return application({"s": stream}, {"q": [project]}, folder=folder).checked()


def arrivals_of(app):
    return sorted(event.arrival for event in simulate(app, IDLE, trace=True).trace.results)


def test_csv_rows_replay_fast_in_real_time_or_at_a_speed(tmp_path):
    text = "x,ts\n1,100\n2,103\n3,101\n4,110\n"
    assert arrivals_of(csv_app(tmp_path, "x INT, ts BIGINT", text, "ts", header=True)) == [0, 0, 0, 0]
    real = csv_app(tmp_path, "x INT, ts BIGINT", text, "ts", header=True, replay="real")
    assert arrivals_of(real) == [0, 3, 3, 10]
    fast = csv_app(tmp_path, "x INT, ts BIGINT", text, "ts", header=True, replay=2)
    assert arrivals_of(fast) == [0, 1.5, 1.5, 5]


def test_csv_timestamps(tmp_path):
    text = "a b,2026-01-01 00:00:00.5\n,2026-01-01 00:00:02\n"
    app = csv_app(tmp_path, "x STRING, ts TIMESTAMP", text, "ts", header=False, replay="real")
    assert arrivals_of(app) == pytest.approx([0, 1.5])


def test_csv_columns_are_found_by_name_and_split_at_the_delimiter(tmp_path):
    text = "when;other;X\n100;a,b;1\n104;;2\n"
    app = csv_app(tmp_path, "x INT, when BIGINT", text, "when", delimiter=";", replay="real")
    assert arrivals_of(app) == [0, 4]


def test_json_rows_replay_as_csv_rows_do(tmp_path):
    text = '{"x": 1, "ts": 100}\n{"ts": 103, "x": 2}\n\n{"x": 3}\n{"x": 4, "ts": 110}\n'
    said = {"kind": "json", "path": "in.json"}
    assert arrivals_of(csv_app(tmp_path, "x INT, ts BIGINT", text, "ts", **said)) == [0, 0, 0, 0]
    assert arrivals_of(csv_app(tmp_path, "x INT, ts BIGINT", text, "ts", **said, replay=2)) == [0, 1.5, 1.5, 5]


@pytest.mark.parametrize("replay", ["fast", "real", 2.5])
def test_a_file_gives_the_same_arrivals_and_rejects_as_on_spark(tmp_path, replay):
    rng = np.random.default_rng(3)
    times = 100 + rng.integers(0, 5, 3000).cumsum() - rng.integers(0, 9, 3000)
    lines = [f"{'hot' if n % 70 == 3 else n},{t}" + (",9" if n % 90 == 5 else "") for n, t in enumerate(times)]
    app = csv_app(tmp_path, "x INT, ts BIGINT", "\n".join(["x,ts", *lines]), "ts", replay=replay)
    real = make_real_source(app.plan.streams["s"], tmp_path, 0, 0)
    stamps = []
    while (table := real.poll(0.0 if replay == "fast" else 1e9)) is not None:
        stamps += table.column("_arrival").to_pylist()
    result = simulate(app, IDLE, trace=True)
    assert sorted(event.arrival for event in result.trace.results) == [stamp / 1e6 for stamp in stamps]
    assert result.report["rejected"] == {"s": real.rejected}
    assert real.rejected > 70
    pieces, source = [], make_sources(app)[0].arrivals
    while len(piece := source.take(7)):
        pieces += piece.tolist()
    assert pieces == [stamp / 1e6 for stamp in stamps]


def test_errors_name_the_wrong_source(tmp_path):
    missing = csv_app(tmp_path, "x INT", "x\n1\n")
    (tmp_path / "in.csv").unlink()
    with pytest.raises(ApplicationError, match=r"streams\.s\.source.*in\.csv"):
        simulate(missing, IDLE)
    (tmp_path / "in.csv").write_text("k,v\n1,1\n")
    timeless = make_plan(
        {"s": {"kind": "csv", "path": "in.csv", "replay": "real"}}, [project("q/p", "s")], {"q": "q/p"}
    )
    with pytest.raises(ApplicationError, match="time"):
        simulate(make_app(timeless, folder=tmp_path), IDLE)
    unknown = make_plan({"s": {"kind": "unknown"}}, [project("q/p", "s")], {"q": "q/p"})
    with pytest.raises(ApplicationError, match=r"streams\.s\.source\.kind.*unknown"):
        simulate(make_app(unknown), IDLE)
    rateless = make_plan({"s": {"kind": "feeder", "rows": 3}}, [project("q/p", "s")], {"q": "q/p"})
    with pytest.raises(ApplicationError, match=r"streams\.s\.source.*rate"):
        simulate(make_app(rateless), IDLE)


def test_draws_are_independent_between_operators_and_fair():
    plan = make_plan(
        {"s": feeder(1000, 20_000)},
        [
            select("q/a", "s", selectivity=0.3),
            select("q/b", "q/a", selectivity=0.5),
            split("q/c", "q/b", {"l": 0.25, "r": 0.5}),
            select("q/d", "s", selectivity=2.4),
        ],
        {"l": "q/c.l", "r": "q/c.r", "d": "q/d"},
    )
    out = {name: counts["out"] for name, counts in simulate(make_app(plan), IDLE).operators.items()}
    assert out["q/a"] == pytest.approx(6000, rel=0.05)
    assert out["q/b"] == pytest.approx(3000, rel=0.05)
    assert out["q/c"] == pytest.approx(2250, rel=0.06)
    assert out["q/d"] == pytest.approx(48_000, rel=0.01)
    other = simulate(make_app(plan, seed=1), IDLE).operators
    assert other["q/a"]["out"] != out["q/a"]


def test_keys_depend_on_stream_and_number_alone():
    whole = stream_keys("s", 0, 100)
    assert (stream_keys("s", 60, 40) == whole[60:]).all()
    assert not np.isin(stream_keys("t", 0, 100), whole).any()
    ones = np.unpackbits(whole.view(np.uint8)).mean()
    assert ones == pytest.approx(0.5, abs=0.03)


def test_sizes_come_from_declarations_then_sources_then_schemas():
    plan = make_plan(
        {"s": feeder(bytes=20), "t": feeder()},
        [project("q/p", "s"), project("q/r", "t", tuple_bytes=3.0), select("q/u", "q/r")],
        {"q": "q/p", "r": "q/u"},
    )
    sizes = port_bytes(plan)
    assert [sizes[Port(n)] for n in ("s", "t", "q/p", "q/r", "q/u")] == [20.0, 8.0, 20.0, 3.0, 3.0]
