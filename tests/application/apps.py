"""Application files for tests."""

from pathlib import Path

GOOD = """\
streams:
  sensors:
    schema: "location STRING, humidity INT, temperature INT, ts TIMESTAMP"
    time: ts
    slack: 2 seconds
    source: {kind: csv, path: sensors.csv, header: true, replay: fast}
  clicks:
    schema: "k INT, v DOUBLE"
    source: {kind: feeder, rate: 1500, arrivals: poisson, rows: 10000, seed: 7,
             values: {k: "uniform 0 20", v: "uniform 0 1"},
             changes: [[5, 2.0], [10, 1.0]]}
tables:
  places: {kind: csv, path: places.csv, schema: "location STRING, floor INT"}
classes:
  critical: {priority: 6}
  normal: {priority: 3}
queries:
  fire:
    operators:
      - {id: hot, kind: select, input: sensors, where: "temperature > 35", cost: 20us, selectivity: 0.1}
      - {id: floor, kind: join, input: hot, table: places, on: location, cost: 50us, fixed_cost: 1 ms}
      - {id: out, kind: project, input: floor, columns: [location, floor, "temperature * 2 AS twice"]}
    class: critical
    qos:
      latency: {priority: must, points: [[0, 0.5], [60, 0.5]]}
    tolerance: 0.1
    shed: random
    sink: {kind: csv, path: out/fire}
  some:
    operators:
      - id: parts
        kind: split
        input: clicks
        branches: {low: "v < 0.5", high: "v > 0.9"}
        selectivities: {low: 0.5, high: 0.1}
      - {id: low, kind: project, input: parts.low, columns: {k: k, side: "'low'"}}
      - {id: high, kind: project, input: parts.high, columns: {k: k, side: "'high'"}}
      - {id: both, kind: union, inputs: [low, high]}
    class: normal
  more:
    operators:
      - {id: few, kind: select, input: some, where: "k = 3"}
    class: normal
    policy: {name: rr, quantum: 0.01}
policy: {name: rr, quantum: 0.05}
slots: 3
checkpoint: state/
seed: 5
simulator: {noise: 0.1, decision: 1us, switch: 5 us, source_slots: 1}
spark: {master: "local[2]", spark.sql.shuffle.partitions: 1}
"""


def write_app(folder: Path, text: str = GOOD) -> Path:
    """Write an application file and the files that it reads. Returns the path of the application file."""
    (folder / "sensors.csv").write_text("location,humidity,temperature,ts\nlobby,40,20,2024-01-01 00:00:00\n")
    (folder / "places.csv").write_text("location,floor\nlobby,0\n")
    (folder / "gaps.txt").write_text("0.1 0.2 0.3\n")
    path = folder / "app.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def line_of(text: str, fragment: str) -> int:
    """The number of the first line that holds the fragment."""
    return next(i for i, line in enumerate(text.splitlines(), start=1) if fragment in line)
