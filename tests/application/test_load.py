"""Good application files: every key arrives where it belongs."""

from pathlib import Path

import pytest

from headgate.application.checked import CheckpointSettings, PolicySettings, QueueSettings, SimulatorSettings
from headgate.application.load import load_application
from headgate.application.overrides import Override
from headgate.errors import ApplicationError
from headgate.plan import operators
from headgate.plan.operators import Aggregate, Changes, Function, Project, RStream, Split, TableJoin
from headgate.plan.operators.base import Port
from tests.application.apps import GOOD, write_app

SMALL = """\
streams:
  s: {schema: "k INT, v DOUBLE", source: {kind: feeder, rate: 10}}
queries:
  q:
    operators:
      - {id: a, kind: select, input: s, where: "v > 0.5"}
"""
ROOT = Path(__file__).parents[2]


def test_the_whole_file(tmp_path: Path) -> None:
    app = load_application(write_app(tmp_path))
    assert app.policy == PolicySettings("rr", {"quantum": 0.05})
    assert (app.slots, app.seed, app.checkpoint, app.folder) == (3, 5, CheckpointSettings("state/"), tmp_path)
    assert app.simulator == SimulatorSettings(noise=0.1, decision_s=1e-6, switch_s=5e-6, source_slots=1)
    assert app.spark == {"master": "local[2]", "spark.sql.shuffle.partitions": "1"}
    assert {name: c.priority for name, c in app.plan.classes.items()} == {"critical": 6, "normal": 3}


def test_streams_and_tables(tmp_path: Path) -> None:
    plan = load_application(write_app(tmp_path)).plan
    sensors, clicks = plan.streams["sensors"], plan.streams["clicks"]
    assert (sensors.time, sensors.slack_s) == ("ts", 2.0)
    assert sensors.source == {
        "kind": "csv",
        "path": "sensors.csv",
        "header": True,
        "delimiter": ",",
        "null": "",
        "replay": "fast",
    }
    assert clicks.source["rate"] == 1500
    assert clicks.source["values"] == {"k": "uniform 0 20", "v": "uniform 0 1"}
    assert str(plan.tables["places"].schema) == "location STRING, floor INT"
    assert plan.tables["places"].source["path"] == "places.csv"
    assert "schema" not in plan.tables["places"].source


def test_operators(tmp_path: Path) -> None:
    plan = load_application(write_app(tmp_path)).plan
    join, out, parts = (plan.operators[name] for name in ("fire/floor", "fire/out", "some/parts"))
    assert isinstance(join, TableJoin)
    assert join.on == {"location": "location"}
    assert (join.declared.cost_s, join.declared.fixed_s, join.declared.selectivity) == (50e-6, 1e-3, None)
    assert isinstance(out, Project)
    assert out.columns == {"location": "location", "floor": "floor", "twice": "temperature * 2"}
    assert isinstance(parts, Split)
    assert parts.declared.branches == {"low": 0.5, "high": 0.1}
    assert plan.operators["some/low"].inputs == (Port("some/parts", "low"),)
    assert plan.operators["some/both"].inputs == (Port("some/low"), Port("some/high"))


def test_queries(tmp_path: Path) -> None:
    plan = load_application(write_app(tmp_path)).plan
    fire, more = plan.queries["fire"], plan.queries["more"]
    assert (fire.class_name, fire.root, fire.tolerance, fire.shed) == ("critical", Port("fire/out"), 0.1, "random")
    assert fire.sink == {"kind": "csv", "path": "out/fire", "format": "rows"}
    assert {one.name: one.as_data() for one in fire.qos} == {
        "latency": {"priority": "must", "points": [[0, 0.5], [60, 0.5]]}
    }
    assert more.policy == PolicySettings("rr", {"quantum": 0.01})
    assert more.sink["kind"] == "memory"
    assert more.operators == ("some/parts", "some/low", "some/high", "some/both", "more/few")


def test_defaults(tmp_path: Path) -> None:
    app = load_application(write_app(tmp_path, SMALL))
    assert (app.policy, app.slots, app.seed) == (PolicySettings("rr"), 2, 0)
    assert app.plan.queries["q"].class_name == "default"
    assert app.plan.classes["default"].priority == 1
    assert app.plan.streams["s"].source["arrivals"] == "poisson"


def test_declared_classes_get_a_policy_that_knows_them(tmp_path: Path) -> None:
    classes = SMALL + "    class: high\nclasses: {high: {priority: 4}, low: {priority: 1}}\n"
    assert load_application(write_app(tmp_path, classes)).policy == PolicySettings("mbd")
    assert load_application(write_app(tmp_path, classes), ["policy=fifo"]).policy == PolicySettings("fifo")


def test_a_single_class_need_not_be_mentioned(tmp_path: Path) -> None:
    app = load_application(write_app(tmp_path, SMALL + "classes: {only: {priority: 4}}\n"))
    assert app.plan.queries["q"].class_name == "only"


@pytest.mark.parametrize(
    "columns", ["[k, 'v + 1 AS w']", "{k: k, w: v + 1}", "['`k`', 'v + 1 as w']", "[k, v + 1 AS w]"]
)
def test_ways_to_write_columns(tmp_path: Path, columns: str) -> None:
    text = SMALL + f"      - {{id: b, kind: project, input: a, columns: {columns}}}\n"
    assert load_application(write_app(tmp_path, text)).plan.schemas[Port("q/b")].names == ("k", "w")


@pytest.mark.parametrize("on", ["location", "[location]", "{location: location}"])
def test_ways_to_write_on(tmp_path: Path, on: str) -> None:
    join = load_application(write_app(tmp_path, GOOD.replace("on: location", f"on: {on}"))).plan.operators["fire/floor"]
    assert isinstance(join, TableJoin)
    assert join.on == {"location": "location"}


def test_function(tmp_path: Path) -> None:
    more = '      - {id: f, kind: function, input: a, function: "mine.own:twice", schema: "w DOUBLE"}\n'
    function = load_application(write_app(tmp_path, SMALL + more)).plan.operators["q/f"]
    assert isinstance(function, Function)
    assert function.target == "mine.own:twice"


@pytest.mark.parametrize(
    "source",
    [
        "{kind: feeder, rate: 10, arrivals: constant}",
        "{kind: feeder, rate: 10, arrivals: self-similar, bytes: 24}",
        "{kind: feeder, rate: 10, arrivals: {kind: self-similar, flows: 8}, pauses: [[1, 2]]}",
        "{kind: feeder, arrivals: recorded, path: gaps.txt}",
        "{kind: feeder, arrivals: {kind: recorded, repeat: false}, path: gaps.txt, rate: 5}",
        "{kind: csv, path: sensors.csv, header: false, delimiter: ';', null: NA}",
        "{kind: json, path: sensors.csv}",
    ],
)
def test_sources(tmp_path: Path, source: str) -> None:
    text = SMALL.replace("{kind: feeder, rate: 10}", source)
    assert load_application(write_app(tmp_path, text)).plan.streams["s"].source["kind"] in source


def test_queries_may_come_first_and_read_later_ones(tmp_path: Path) -> None:
    lines = SMALL.splitlines(keepends=True)
    early = "  early:\n    operators: [{id: b, kind: select, input: q, where: k > 1}]\n"
    text = lines[2] + early + "".join(lines[3:]) + "".join(lines[:2])
    assert load_application(write_app(tmp_path, text)).plan.queries["early"].operators == ("q/a", "early/b")


def test_relative_paths_start_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_app(tmp_path)
    monkeypatch.chdir(tmp_path.parent)
    assert load_application(f"{tmp_path.name}/app.yaml").folder == Path(tmp_path.name)


@pytest.mark.parametrize(
    ("change", "get", "value"),
    [
        ("streams.clicks.source.rate=3000", lambda a: a.plan.streams["clicks"].source["rate"], 3000),
        ("policy.quantum=0.2", lambda a: a.policy.parameters["quantum"], 0.2),
        ("policy=fifo", lambda a: a.policy, PolicySettings("fifo")),
        ("classes.normal.priority=9", lambda a: a.plan.classes["normal"].priority, 9),
        ("classes.extra={priority: 2}", lambda a: a.plan.classes["extra"].priority, 2),
        ("queries.fire.operators.hot.cost=1 ms", lambda a: a.plan.operators["fire/hot"].declared.cost_s, 1e-3),
        ("queries.fire.operators.0.cost=1 ms", lambda a: a.plan.operators["fire/hot"].declared.cost_s, 1e-3),
        ("queries.fire.sink={kind: none}", lambda a: a.plan.queries["fire"].sink["kind"], "none"),
        ("streams.clicks.source.arrivals.flows=8", None, None),
        ("spark.sql.shuffle.partitions=7", lambda a: a.spark["spark.sql.shuffle.partitions"], "7"),
        ("spark.spark.sql.shuffle.partitions=7", lambda a: a.spark["spark.sql.shuffle.partitions"], "7"),
        ("spark.master=local[1]", lambda a: a.spark["master"], "local[1]"),
        ("simulator.noise=0", lambda a: a.simulator.noise, 0),
        ("slots=1", lambda a: a.slots, 1),
    ],
)
def test_overrides(tmp_path: Path, change: str, get, value: object) -> None:  # type: ignore[no-untyped-def]
    path = write_app(tmp_path)
    changes = [change] if get else ["streams.clicks.source.arrivals=self-similar", change]
    app = load_application(path, changes)
    assert get is None or get(app) == value


def test_overrides_apply_in_order(tmp_path: Path) -> None:
    path = write_app(tmp_path, SMALL)
    changes = [Override("--policy fifo", "policy", {"name": "fifo"}), "policy.unit=query"]
    assert load_application(path, changes).policy == PolicySettings("fifo", {"unit": "query"})
    assert load_application(path, ["policy.quantum=0.3"]).policy == PolicySettings("rr", {"quantum": 0.3})


def test_the_example_loads() -> None:
    plan = load_application(ROOT / "examples" / "sensors.yaml").plan
    all_kinds = [kind for kind in vars(operators).values() if isinstance(kind, type) and hasattr(kind, "kind")]
    found = {type(operator) for operator in plan.operators.values()}
    found |= {RStream for o in plan.operators.values() if isinstance(o, Aggregate) and o.emits == "rstream"}
    assert found == set(all_kinds)
    modes = {operator.mode for operator in plan.operators.values() if isinstance(operator, Changes)}
    assert modes == {"changes", "istream", "dstream"}
    assert plan.warnings == ()
    assert len(plan.classes) == 3


def test_how_much_may_wait_in_queues(tmp_path: Path) -> None:
    assert load_application(write_app(tmp_path, SMALL)).queues == QueueSettings()
    text = SMALL + "queues: {memory: 64 MB, disk: 2 GB, folder: waiting}\n"
    assert load_application(write_app(tmp_path, text)).queues == QueueSettings(
        64_000_000, 2 * 10**9, tmp_path / "waiting"
    )
    with pytest.raises(ApplicationError, match="'much' is not an amount of memory"):
        load_application(write_app(tmp_path, SMALL + "queues: {memory: much}\n"))
