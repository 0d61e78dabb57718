"""Wrong application files: one error each, at the right line, with what would be right."""

import os
from pathlib import Path

import pytest

from headgate.application.load import load_application
from headgate.errors import ApplicationError
from tests.application.apps import GOOD, line_of, write_app

# What to replace in GOOD, with what, and fragments of the error; `test_line` checks the line of some of the errors.
MISTAKES: dict[str, tuple[str, str, list[str]]] = {
    # keys
    "unknown top key": ("slots: 3", "slot: 3", ["slot:", "no key 'slot'", "did you mean 'slots'?"]),
    "unknown stream key": ("    time: ts", "    tme: ts", ["streams.sensors.tme", "did you mean 'time'?"]),
    "unknown source key": ("rows: 10000", "row: 10000", ["streams.clicks.source.row", "did you mean 'rows'?"]),
    "unknown operator key": ('where: "temperature > 35"', 'wher: "x"', ["operators.hot.wher", "'where'?"]),
    "unknown query key": ("    tolerance: 0.1", "    tolerence: 0.1", ["fire.tolerence", "'tolerance'?"]),
    "unknown class key": ("{priority: 3}", "{prioritty: 3}", ["classes.normal.prioritty", "'priority'?"]),
    "unknown simulator key": ("noise: 0.1", "noize: 0.1", ["simulator.noize", "did you mean 'noise'?"]),
    "unknown sink key": ("sink: {kind: csv, path: out/fire}", "sink: {kind: csv, pth: x}", ["sink.pth", "'path'?"]),
    "missing source": (
        "    source: {kind: csv, path: sensors.csv, header: true, replay: fast}\n",
        "",
        ["streams.sensors: the key 'source' is missing"],
    ),
    "missing path": ("{kind: csv, path: sensors.csv,", "{kind: csv,", ["streams.sensors.source", "'path' is missing"]),
    "missing priority": ("{priority: 3}", "{}", ["classes.normal", "'priority' is missing"]),
    "missing where": (', where: "temperature > 35"', "", ["operators.hot: the key 'where' is missing"]),
    "missing kind": ("{id: hot, kind: select,", "{id: hot,", ["operators.hot", "'kind' is missing", "select, project"]),
    "missing id": ("{id: hot, kind", "{kind", ["queries.fire.operators.0", "'id' is missing"]),
    "missing rate": ("rate: 1500, ", "", ["streams.clicks.source", "'rate' is missing"]),
    "missing class": ("    class: critical\n", "", ["queries.fire", "'class' is missing", "critical, normal"]),
    "missing input": ("input: hot, table", "table", ["operators.floor.inputs", "no input"]),
    "missing policy name": (
        "policy: {name: rr, quantum: 0.05}",
        "policy: {quantum: 0.05}",
        ["policy", "does not name a policy"],
    ),
    "missing sink path": ("sink: {kind: csv, path: out/fire}", "sink: {kind: csv}", ["fire.sink", "'path'"]),
    # names
    "no such input": ("input: sensors", "input: sensor", ["operators.hot.input", "'sensor'", "mean 'sensors'?"]),
    "no such union input": ("[low, high]", "[low, hihg]", ["operators.both.inputs", "did you mean 'high'?"]),
    "no such branch": ("input: parts.low", "input: parts.lo", ["operators.low.input", "did you mean 'parts.low'?"]),
    "split read as a whole": ("input: parts.low", "input: parts", ["is a split", "read parts.low or parts.high"]),
    "table as input": ("input: sensors", "input: places", ["'places' is a table", "join"]),
    "no such table": ("table: places", "table: place", ["operators.floor.table", "did you mean 'places'?"]),
    "no such class": ("class: critical", "class: critcal", ["queries.fire.class", "did you mean 'critical'?"]),
    "no such policy": ("policy: {name: rr, quantum: 0.05}", "policy: rrr", ["policy", "did you mean 'rr'?"]),
    "no such policy parameter": ("quantum: 0.05", "quantm: 0.05", ["policy.quantm", "did you mean 'quantum'?"]),
    "bad policy parameter": ("quantum: 0.05", "quantum: -1", ["policy.quantum", "number above 0"]),
    "bad query policy": ("quantum: 0.01", "quantum: soon", ["queries.more.policy.quantum", "number above 0"]),
    "no such kind": ("kind: select, input: sensors", "kind: selct, input: sensors", ["hot.kind", "mean 'select'?"]),
    "no such source kind": ("{kind: csv, path: sensors.csv,", "{kind: cvs, path: x,", ["source.kind", "mean 'csv'?"]),
    "no such table kind": (
        "{kind: csv, path: places.csv,",
        "{kind: xml, path: x,",
        ["tables.places.kind", "csv, json"],
    ),
    "no such measure": ("      latency: {", "      latncy: {", ["queries.fire.qos.latncy", "'latency'"]),
    "bad name": ("  clicks:", "  cli.cks:", ["streams.cli.cks", "is not a name"]),
    "bad operator id": ("id: hot,", "id: 9/hot,", ["is not a name"]),
    # columns and types
    "unknown column": ('"temperature > 35"', '"temprature > 35"', ["hot.where", "did you mean 'temperature'?"]),
    "unknown projected column": ("[location, floor,", "[location, flor,", ["out.columns", "did you mean 'floor'?"]),
    "unknown join column": ("on: location", "on: place", ["operators.floor.on", "'place'"]),
    "unknown table column": ("on: location", "on: {location: place}", ["operators.floor.on", "'place'"]),
    "unknown time column": ("    time: ts", "    time: t", ["streams.sensors.time", "no column 't'"]),
    "unknown value column": ('{k: "uniform', '{kk: "uniform', ["source.values.kk", "did you mean 'k'?"]),
    "share of an unknown branch": (
        "{low: 0.5, high",
        "{low: 0.5, hi",
        ["parts.selectivities.hi", "did you mean 'high'?"],
    ),
    "unknown shed column": ("    shed: random", "    shed: {attribute: heat, drop: lowest}", ["fire.shed", "'heat'"]),
    "time of the wrong type": ("    time: ts", "    time: location", ["sensors.time", "TIMESTAMP, or a BIGINT"]),
    "relation from a feeder": (
        '    schema: "k INT, v DOUBLE"',
        '    relation: true\n    schema: "k INT, v DOUBLE"',
        ["clicks.relation", "a feeder cannot", "csv or json"],
    ),
    "type clash": ('"temperature > 35"', '"ts > 35"', ["operators.hot.where", "compares TIMESTAMP with INT"]),
    "arithmetic on text": ("temperature * 2", "location * 2", ["operators.out.columns.twice", "STRING"]),
    "not a condition": ('"temperature > 35"', '"temperature"', ["hot.where", "not a condition"]),
    "not an expression": ('"temperature > 35"', '"temperature >"', ["hot.where", "cannot read"]),
    "join types": ("on: location", "on: {ts: location}", ["operators.floor.on", "comparable types"]),
    "union types": ("""side: "'high'\"""", 'side: "1"', ["operators.both.inputs", "fit together"]),
    "bad schema": ('"k INT, v DOUBLE"', '"k, v"', ["streams.clicks.schema", "cannot read the schema"]),
    "column twice": ('"k INT, v DOUBLE"', '"k INT, K INT"', ["streams.clicks.schema", "twice"]),
    "projected twice": ("[location, floor,", "[location, location,", ["out.columns", "twice"]),
    "column without a name": ("temperature * 2 AS twice", "temperature * 2", ["out.columns", "AS name"]),
    "bad value form": ('"uniform 0 20"', '"unifrm 0 20"', ["source.values.k", "not a known form"]),
    # shape
    "cycle": ("input: hot, table", "input: out, table", ["in a cycle"]),
    "operator that reads itself": ("input: sensors,", "input: hot,", ["operators.hot", "in a cycle"]),
    "cycle of queries": ("input: clicks", "input: more", ["in a cycle"]),
    "output that goes nowhere": (
        "      - {id: out,",
        '      - {id: dead, kind: select, input: hot, where: "humidity > 1"}\n      - {id: out,',
        ["operators.dead", "'dead' goes nowhere"],
    ),
    "branch that goes nowhere": ("inputs: [low, high]", "inputs: [low, low]", ["operators.high", "goes nowhere"]),
    "operator twice": ("id: out,", "id: hot,", ["queries.fire.operators.2.id", "another operator 'hot'"]),
    "stream and query with the same name": ("  some:\n", "  clicks:\n", ["queries.clicks", "a stream named"]),
    "stream and table with the same name": ("  places: {", "  clicks: {", ["tables.clicks", "a stream named"]),
    "key twice": ("slots: 3", "slots: 3\nslots: 4", ["slots", "appears twice"]),
    "stream twice": ("  clicks:", "  sensors:", ["streams.sensors", "appears twice"]),
    "both input and inputs": ("input: sensors,", "input: sensors, inputs: [x],", ["hot.inputs", "both"]),
    "two inputs": ("input: sensors,", "inputs: [sensors, clicks],", ["hot.inputs", "has one input"]),
    "union of one": ("inputs: [low, high]", "inputs: [low]", ["both.inputs", "two or more"]),
    "empty operators": (
        '    operators:\n      - {id: few, kind: select, input: some, where: "k = 3"}\n',
        "",
        ["queries.more", "empty"],
    ),
    "no branches": ('branches: {low: "v < 0.5", high: "v > 0.9"}', "branches: {}", ["parts.branches", "no branches"]),
    "shares above 1": ("{low: 0.5, high: 0.1}", "{low: 0.9, high: 0.2}", ["parts.selectivities", "more tuples"]),
    "same sink path": (
        "    class: normal\n  more",
        "    class: normal\n    sink: {kind: csv, path: out/fire}\n  more",
        ["queries.some.sink.path", "query 'fire' also writes"],
    ),
    "same sink path written differently": (
        "    class: normal\n  more",
        "    class: normal\n    sink: {kind: csv, path: ./out/x/../fire/}\n  more",
        ["queries.some.sink.path", "query 'fire' also writes to './out/x/../fire/'"],
    ),
    "sink inside a sink": (
        "    class: normal\n  more",
        "    class: normal\n    sink: {kind: csv, path: out/fire/some.csv}\n  more",
        ["queries.some.sink.path", "query 'fire' writes to", "inside the other"],
    ),
    "sink around a sink": (
        "    class: normal\n  more",
        "    class: normal\n    sink: {kind: json, path: out}\n  more",
        ["queries.some.sink.path", "query 'fire' writes to", "inside the other"],
    ),
    "sink over a source": (
        "path: out/fire",
        "path: out/../sensors.csv",
        ["fire.sink.path", "file of stream 'sensors'"],
    ),
    "sink over a table": ("path: out/fire", "path: ./places.csv", ["fire.sink.path", "file of table 'places'"]),
    "sink that is not a file name": ("path: out/fire", 'path: "a\\0b"', ["fire.sink.path", "not a file name"]),
    # values
    "zero priority": ("{priority: 3}", "{priority: 0}", ["classes.normal.priority", "above 0"]),
    "negative priority": ("{priority: 3}", "{priority: -3}", ["classes.normal.priority", "above 0"]),
    "priority as text": ("{priority: 3}", "{priority: high}", ["classes.normal.priority", "a whole number"]),
    "zero rate": ("rate: 1500", "rate: 0", ["streams.clicks.source.rate", "above 0"]),
    "negative rate": ("rate: 1500", "rate: -1", ["streams.clicks.source.rate", "above 0"]),
    "infinite rate": ("rate: 1500", "rate: .inf", ["streams.clicks.source.rate"]),
    "zero slots": ("slots: 3", "slots: 0", ["slots", "above 0"]),
    "slots as text": ("slots: 3", "slots: many", ["slots", "'many'", "a whole number"]),
    "bad duration": ("cost: 20us", "cost: 20 parsecs", ["operators.hot.cost", "unknown unit 'parsecs'", "20us"]),
    "negative duration": ("cost: 20us", "cost: -20us", ["operators.hot.cost", "negative"]),
    "bad slack": ("slack: 2 seconds", "slack: soon", ["streams.sensors.slack", "not a duration"]),
    "bad selectivity": ("selectivity: 0.1", "selectivity: -0.1", ["operators.hot.selectivity", "at least 0"]),
    "bad tolerance": ("tolerance: 0.1", "tolerance: 1.5", ["queries.fire.tolerance", "at most 1"]),
    "bad shed": ("shed: random", "shed: often", ["queries.fire.shed", "random"]),
    "bad qos priority": ("priority: must", "priority: maybe", ["fire.qos.latency.priority", "'must'"]),
    "bad qos points": ("[[0, 0.5], [60, 0.5]]", "[[60, 0.5], [0, 0.5]]", ["fire.qos.latency.points", "order of time"]),
    "bad arrivals": ("arrivals: poisson", "arrivals: posson", ["source.arrivals", "poisson"]),
    "bad changes": ("[[5, 2.0], [10, 1.0]]", "[[5, 2.0], [3, 1.0]]", ["clicks.source.changes", "order of time"]),
    "bad replay": ("replay: fast", "replay: slow", ["sensors.source.replay", "fast, real"]),
    "bad noise": ("noise: 0.1", "noise: 1.5", ["simulator.noise", "below 1"]),
    "bad header": ("header: true", "header: maybe", ["sensors.source.header", "true or false"]),
    "operators as text": (
        'operators:\n      - {id: few, kind: select, input: some, where: "k = 3"}',
        "operators: few",
        ["queries.more.operators", "a list"],
    ),
    "operator as text": (
        '- {id: few, kind: select, input: some, where: "k = 3"}',
        "- few",
        ["more.operators.0", "mapping"],
    ),
    "query as text": ("  more:\n", "  more2: hello\n  more:\n", ["queries.more2", "not a mapping"]),
    "function without module": (
        '{id: few, kind: select, input: some, where: "k = 3"}',
        '{id: few, kind: function, input: some, function: f, schema: "a INT"}',
        ["queries.more.operators.few.function", "module:function"],
    ),
    # files
    "no such csv": ("path: sensors.csv", "path: sensor.csv", ["sensors.source.path", "did you mean 'sensors.csv'?"]),
    "no such table file": ("path: places.csv", "path: elsewhere/p.csv", ["tables.places.path", "no file"]),
    "folder as file": ("path: places.csv", "path: .", ["tables.places.path", "folder"]),
    "no such file of gaps": (
        "rate: 1500, arrivals: poisson",
        "arrivals: recorded, path: g.txt",
        ["clicks.source.path", "no file"],
    ),
    "recorded without gaps": ("arrivals: poisson", "arrivals: recorded", ["clicks.source", "'path' is missing"]),
    "gaps for poisson": ("arrivals: poisson", "arrivals: poisson, path: gaps.txt", ["clicks.source.path", "recorded"]),
    "gaps that are not numbers": (
        "rate: 1500, arrivals: poisson",
        "arrivals: recorded, path: places.csv",
        ["clicks.source", "seconds"],
    ),
    # two definitions of one query
    "cql": (
        "    operators:\n      - {id: few",
        "    cql: SELECT 1\n    operators:\n      - {id: few",
        ["more.cql", "operators"],
    ),
}


def failure(path: Path, *changes: str) -> ApplicationError:
    with pytest.raises(ApplicationError) as caught:
        load_application(path, changes)
    return caught.value


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(tmp_path: Path, name: str) -> None:
    old, new, fragments = MISTAKES[name]
    assert GOOD.count(old) >= 1, "GOOD does not contain the text that the test replaces"
    text = GOOD.replace(old, new, 1)
    error = failure(write_app(tmp_path, text))
    for fragment in fragments:
        assert fragment in str(error)
    assert error.where is not None
    assert error.where.startswith(f"{tmp_path / 'app.yaml'}:")
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("name", "marker"),
    [
        ("unknown top key", "slot: 3"),
        ("unknown operator key", "wher:"),
        ("missing source", "  sensors:"),
        ("missing where", "id: hot"),
        ("missing rate", "source: {kind: feeder"),
        ("no such class", "critcal"),
        ("unknown column", "temprature"),
        ("unknown value column", "kk:"),
        ("no such policy parameter", "quantm"),
        ("operator twice", "id: hot, kind: project"),
        ("output that goes nowhere", "id: dead"),
        ("key twice", "slots: 4"),
        ("zero priority", "priority: 0"),
        ("bad duration", "parsecs"),
        ("no such csv", "sensor.csv"),
        ("no such table file", "elsewhere"),
        ("cql", "cql:"),
        ("same sink path", "path: out/fire}\n  more"),
        ("share of an unknown branch", "hi: 0.1"),
    ],
)
def test_line(tmp_path: Path, name: str, marker: str) -> None:
    old, new, _ = MISTAKES[name]
    text = GOOD.replace(old, new, 1)
    line = text[: text.index(marker)].count("\n") + 1
    assert failure(write_app(tmp_path, text)).where == f"{tmp_path / 'app.yaml'}:{line}"


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "empty"),
        ("# nothing\n", "empty"),
        ("- a\n- b\n", "not a mapping"),
        ("hello", "not a mapping"),
        ("streams: [\n", "not valid YAML"),
        ("streams: {}\nqueries: {}\n", "no streams"),
        ("streams:\nqueries:\n", "missing"),
        (GOOD[: GOOD.index("queries:")] + "queries: {}\n", "queries"),
        (GOOD[: GOOD.index("queries:")], "'queries' is missing"),
    ],
)
def test_text_that_is_hardly_an_application(tmp_path: Path, text: str, fragment: str) -> None:
    assert fragment in str(failure(write_app(tmp_path, text)))


def test_no_file(tmp_path: Path) -> None:
    assert "no such file" in str(failure(tmp_path / "absent.yaml"))
    assert "cannot read" in str(failure(tmp_path))


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_bytes(b"\xff\xfe\x00streams")
    assert "not text" in str(failure(tmp_path / "app.yaml"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_unreadable(tmp_path: Path) -> None:
    path = write_app(tmp_path)
    (tmp_path / "places.csv").chmod(0)
    assert "cannot be read" in str(failure(path))


def test_the_first_error_in_the_file_is_reported(tmp_path: Path) -> None:
    text = GOOD.replace("slots: 3", "slots: 0").replace("{priority: 3}", "{priority: 0}").replace("20us", "20 x")
    assert "classes.normal.priority" in str(failure(write_app(tmp_path, text)))
    text = (
        GOOD.replace("class: critical", "class: x").replace("time: ts", "time: t").replace("table: places", "table: x")
    )
    assert "streams.sensors.time" in str(failure(write_app(tmp_path, text)))


def test_replay_by_event_time_needs_a_time_column(tmp_path: Path) -> None:
    text = GOOD.replace("    time: ts\n", "").replace("replay: fast", "replay: real")
    error = failure(write_app(tmp_path, text))
    assert error.place == "streams.sensors.source.replay"
    assert error.where == f"{tmp_path / 'app.yaml'}:{line_of(text, 'replay: real')}"


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        ("nonsense", ["--set nonsense", "key=value"]),
        ("=3", ["--set =3", "key=value"]),
        ("a..b=3", ["--set a..b=3", "key=value"]),
        ("slots=[", ["--set slots=[", "not valid YAML"]),
        ("slots=0", ["--set slots=0: slots", "above 0"]),
        ("slot=1", ["--set slot=1: slot", "did you mean 'slots'?"]),
        ("policy.quantum=-1", ["--set policy.quantum=-1: policy.quantum", "above 0"]),
        ("streams.click.source.rate=1", ["--set streams.click.source.rate=1", "did you mean 'clicks'?"]),
        ("streams.clicks.source.rate=-1", ["--set streams.clicks.source.rate=-1", "above 0"]),
        ("streams.clicks.source.kind=csv", ["--set streams.clicks.source.kind=csv"]),
        ("queries.fire.operators.cold.cost=1", ["--set", "no 'cold'", "floor, hot, out"]),
        ("queries.fire.operators.hot.where=heat > 1", ["--set", "no column 'heat'"]),
        ("slots.a.b=1", ["--set slots.a.b=1"]),
        ("slots.a=1", ["--set slots.a=1", "nothing to put"]),
    ],
)
def test_wrong_override(tmp_path: Path, change: str, fragments: list[str]) -> None:
    message = str(failure(write_app(tmp_path), change))
    assert all(fragment in message for fragment in fragments), message
    assert "app.yaml" not in message
