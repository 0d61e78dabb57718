"""What a request must not get at: files, commands, other people's tables, settings of the machine, tokens."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.spark

SECRET = "a-secret-of-the-machine"
FUNCTION = {"id": "f", "kind": "function", "input": "hostile_s", "function": "os:system"}
SELECTION = {"id": "f", "kind": "select", "input": "hostile_s", "where": "reflect('java.lang.System', 'exit', 1) = 1"}
HOSTILE = [
    "SELECT reflect('java.lang.Runtime', 'getRuntime') AS x FROM hostile_s",
    "SELECT try_reflect('java.lang.System', 'getenv', 'HEADGATE_SECRET') AS x FROM hostile_s",
    "SELECT java_method('java.lang.System', 'getProperty', 'user.home') AS x FROM hostile_s",
    "SELECT input_file_name() AS x FROM hostile_s",
    "SELECT * FROM csv.`/etc/passwd`",
    "SELECT * FROM text.`{file}`",
    "SELECT * FROM parquet.`file:///etc`",
    "SELECT s.* FROM hostile_s AS s, text.`{file}` AS t",
    "SELECT * FROM read_files('{file}')",
    "SELECT * FROM range(10)",
    "SELECT * FROM others_view",
    "SELECT * FROM global_temp.others_view",
    "SELECT * FROM default.others_view",
    "SELECT * FROM spark_catalog.default.t",
    "LOAD DATA LOCAL INPATH '/etc/passwd' INTO TABLE hostile_s",
    "INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT * FROM hostile_s",
    "CREATE TABLE t AS SELECT * FROM hostile_s",
    "DROP TABLE hostile_s",
    "ADD JAR '/tmp/evil.jar'",
    "SET spark.sql.variable.substitute = true",
    "SELECT k FROM hostile_s; SELECT k FROM hostile_s",
    "SELECT TRANSFORM (k) USING 'cat /etc/passwd' AS (x STRING) FROM hostile_s",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "SELECT identifier('k') AS x FROM hostile_s",
    "SELECT k FROM identifier('hostile_s')",
    "SELECT session_user() AS x FROM hostile_s",
    "SELECT current_catalog() AS x FROM hostile_s",
    "SELECT from_protobuf(v, 'M', '{file}') AS x FROM hostile_s",
    "SELECT others_function(k) AS x FROM hostile_s",
    "SELECT repeat('x', 2000000000) AS x FROM hostile_s",
    "SELECT size(sequence(1, 2000000000)) AS x FROM hostile_s",
    "SELECT (SELECT max(x) FROM others_view) AS x FROM hostile_s",
]


@pytest.fixture
def client(server, spark) -> Iterator[httpx.Client]:
    """A client, beside a session in which somebody else has views and functions."""
    spark.range(3).createOrReplaceTempView("others_view")
    spark.range(3).createOrReplaceGlobalTempView("others_view")
    spark.udf.register("others_function", lambda k: SECRET, "STRING")
    os.environ["HEADGATE_SECRET"] = SECRET
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as opened:
        opened.post("/v1/streams", json={"name": "hostile_s", "schema": "k INT, v BINARY"}).raise_for_status()
        yield opened
        for one in opened.get("/v1/queries").json():
            opened.delete(f"/v1/queries/{one['name']}")
        opened.delete("/v1/streams/hostile_s").raise_for_status()
    del os.environ["HEADGATE_SECRET"]
    spark.catalog.dropTempView("others_view")
    spark.catalog.dropGlobalTempView("others_view")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "private.txt"
    path.write_text(SECRET)
    return path


@pytest.mark.parametrize("cql", HOSTILE)
@pytest.mark.parametrize("path", ["/v1/queries", "/v1/queries/validate", "/v1/snapshot"])
def test_hostile_cql_is_refused(client: httpx.Client, file: Path, cql: str, path: str) -> None:
    body = {"cql": cql.format(file=file)} | ({} if path == "/v1/snapshot" else {"name": "hostile_q"})
    answer = client.post(path, json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["problem"]
    assert SECRET not in answer.text


def test_texts_of_queries_are_what_they_say(client: httpx.Client) -> None:
    texts = ["${env:HEADGATE_SECRET}", "${system:user.home}", "${spark.app.id}", "${hivevar:x}"]
    columns = ", ".join(f"'{text}' AS c{at}" for at, text in enumerate(texts))
    new = {"name": "hostile_q", "cql": f"SELECT k, {columns} FROM hostile_s"}
    client.post("/v1/queries", json=new).raise_for_status()
    client.post("/v1/streams/hostile_s/rows", json=[{"k": 1, "v": None}]).raise_for_status()
    rows: list[dict[str, object]] = []
    for _ in range(200):
        if rows := client.get("/v1/queries/hostile_q/results").json()["rows"]:
            break
        time.sleep(0.05)
    assert rows == [{"k": 1, **{f"c{at}": text for at, text in enumerate(texts)}}]
    asked = client.post("/v1/snapshot", json={"cql": f"SELECT {columns} FROM hostile_q"})
    assert asked.json()["rows"] == [{f"c{at}": text for at, text in enumerate(texts)}]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/streams", {"name": "x", "schema": "a STRING", "source": {"kind": "csv", "path": "{file}"}}),
        ("/v1/streams", {"name": "x", "schema": "a STRING", "source": {"kind": "json", "path": "{file}"}}),
        ("/v1/tables", {"name": "x", "schema": "a STRING", "kind": "csv", "path": "{file}"}),
        ("/v1/queries", {"name": "x", "cql": "SELECT k FROM hostile_s", "sink": {"kind": "csv", "path": "{file}"}}),
        ("/v1/queries", {"name": "x", "cql": "SELECT k FROM hostile_s", "sink": {"kind": "json", "path": "{file}"}}),
        (
            "/v1/queries",
            {
                "name": "x",
                "operators": [{"id": "f", "kind": "function", "input": "hostile_s", "function": "os:system"}],
            },
        ),
        (
            "/v1/queries",
            {
                "name": "x",
                "operators": [{"id": "f", "kind": "select", "input": "hostile_s", "where": "reflect('a','b')"}],
            },
        ),
        ("/v1/streams", {"name": "x", "schema": "a STRING", "extensions": ["{file}"]}),
    ],
)
def test_requests_name_neither_files_nor_code(client: httpx.Client, file: Path, path: str, body: object) -> None:
    text = json.dumps(body).replace("{file}", str(file))
    answer = client.post(path, content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert SECRET not in answer.text
    assert file.read_text() == SECRET
