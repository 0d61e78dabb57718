"""PostgreSQL: rows and epoch in one transaction, whatever happens to the connection or the server."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connect.sinks import Postgresql, StagedSink, make_sink
from headgate.connect.sinks.base import content_of, position_of
from headgate.errors import ApplicationError
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.sql.schema import FOREVER, Column, Schema, parse_schema
from headgate.testing import check_sink
from headgate_lab.postgresql import PASSWORD, NoPostgreSQL, PostgreSQLServer
from tests.tiers import examples

pytestmark = pytest.mark.slow
SCHEMA = parse_schema("k INT, s STRING", "q")
LOSES = Flow(relation=True, expires=True, retracts=True)
LONG_S = 20.0


@pytest.fixture(scope="module")
def database() -> Iterator[PostgreSQLServer]:
    try:
        server = PostgreSQLServer()
    except NoPostgreSQL as error:
        pytest.skip(str(error))
    yield server
    server.remove()


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, database: PostgreSQLServer) -> None:
    monkeypatch.setenv("THE_PASSWORD", PASSWORD)
    monkeypatch.setattr("headgate.connect.sinks.staged.RETRY_S", 0.05)
    ask(database, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")


def ask(database: PostgreSQLServer, text: Any, *values: Any) -> list[Any]:
    with psycopg.connect(database.url, password=PASSWORD, autocommit=True) as connection:
        done = connection.execute(text, values or None)
        return done.fetchall() if done.description else []


def open_sink(
    database: PostgreSQLServer,
    resume: Any = None,
    content: Any = None,
    checkpointed: bool = True,
    schema: Schema = SCHEMA,
    flow: Flow | None = None,
    **said: Any,
) -> StagedSink:
    settings = {"kind": "postgresql", "url": database.url, "password_env": "THE_PASSWORD", "table": "t"}
    query = Query("q", "c", Port("x"), (), settings | {"create": True} | said)
    sink = make_sink(query, schema, Path(), flow, "mine.yaml", resume, content, checkpointed)
    assert isinstance(sink, StagedSink)
    return sink


def rows(first: int, count: int) -> pa.Table:
    k = pa.array(range(first, first + count), pa.int32())
    return pa.table({"k": k, "s": k.cast(pa.string()), "_arrival": k.cast(pa.int64()), "_sequence": k.cast(pa.int64())})


def checkpoint(sink: StagedSink) -> tuple[Any, pa.Table | None]:
    sink.take()
    saved = position_of(sink), content_of(sink)
    sink.release()
    return saved


def wait_until(test: Any) -> None:
    deadline = time.monotonic() + LONG_S
    while not test():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_rows_and_epochs(database: PostgreSQLServer) -> None:
    sink = open_sink(database)
    for first in (0, 2):
        sink.write(rows(first, 2))
        saved = checkpoint(sink)
    sink.write(rows(4, 2))  # no checkpoint has these
    sink.close()
    assert ask(database, "SELECT * FROM t ORDER BY k") == [(0, "0"), (1, "1"), (2, "2"), (3, "3")]
    assert ask(database, "SELECT sink, epoch FROM headgate_epochs") == [("q in t", 2)]
    sink = open_sink(database, *saved)
    sink.write(rows(4, 1))
    checkpoint(sink)
    sink.close()
    assert [k for k, _ in ask(database, "SELECT * FROM t ORDER BY k")] == [0, 1, 2, 3, 4]


def test_what_every_sink_is_checked_for(database: PostgreSQLServer) -> None:
    said = {"url": database.url, "password_env": "THE_PASSWORD", "table": "t", "create": True}
    check_sink(Postgresql(**said), read=lambda: ask(database, "SELECT * FROM t"))


def test_without_checkpoints_epochs_go_on(database: PostgreSQLServer) -> None:
    for first in (0, 1):
        sink = open_sink(database, checkpointed=False)
        sink.write(rows(first, 1))
        sink.close()
    assert ask(database, "SELECT epoch FROM headgate_epochs") == [(2,)]
    assert ask(database, "SELECT k FROM t ORDER BY k") == [(0,), (1,)]


VALUES = {
    "a BOOLEAN": (pa.array([True, None]), [True, None]),
    "b TINYINT": (pa.array([-128, None], pa.int8()), [-128, None]),
    "c BIGINT": (pa.array([2**63 - 1, None]), [2**63 - 1, None]),
    "d FLOAT": (pa.array([1.5, None], pa.float32()), [1.5, None]),
    "e DOUBLE": (pa.array([float("-inf"), 1e-300]), [float("-inf"), 1e-300]),
    "f DECIMAL(20,10)": (pa.array([Decimal("0.0000000001"), None], pa.decimal128(20, 10)), [Decimal("1e-10"), None]),
    "g STRING": (pa.array(["", None]), ["", None]),
    "h STRING": (pa.array(['say "hi",\n\\N', "\\."]), ['say "hi",\n\\N', "\\."]),
    "i BINARY": (pa.array([b"\x00\\\xff", None], pa.binary()), [b"\x00\\\xff", None]),
    "j DATE": (pa.array([date(2024, 2, 29), None]), [date(2024, 2, 29), None]),
    "l TIMESTAMP": (
        pa.array([datetime(2024, 1, 1, 5, 0, 0, 250_000, tzinfo=UTC), None], pa.timestamp("us", tz="UTC")),
        [datetime(2024, 1, 1, 5, 0, 0, 250_000, tzinfo=UTC), None],
    ),
    "m TIMESTAMP_NTZ": (pa.array([datetime(2024, 1, 1, 5), None], pa.timestamp("us")), [datetime(2024, 1, 1, 5), None]),
    "n INTERVAL DAY TO SECOND": (
        pa.array([timedelta(days=-1, microseconds=1), None], pa.duration("us")),
        [timedelta(days=-1, microseconds=1), None],
    ),
    "o ARRAY<INT>": (pa.array([[1, None], None]), [[1, None], None]),
    "p STRUCT<x: STRING>": (pa.array([{"x": 'a"b'}, None]), [{"x": 'a"b'}, None]),
}


def test_values_come_back_as_they_were(database: PostgreSQLServer) -> None:
    table = pa.table(
        {text.split()[0]: values for text, (values, _) in VALUES.items()} | {"_arrival": [0, 0], "_sequence": [0, 1]}
    )
    sink = open_sink(database, checkpointed=False, schema=parse_schema(", ".join(VALUES), "q"))
    sink.write(table)
    sink.close()
    wanted = [expected for _, expected in VALUES.values()]
    assert ask(database, "SELECT * FROM t") == [tuple(column[at] for column in wanted) for at in (0, 1)]


@pytest.mark.parametrize("text", ["", "\\.", "\\N", '"', None])
def test_a_table_of_one_text(database: PostgreSQLServer, text: str | None) -> None:
    sink = open_sink(database, checkpointed=False, schema=parse_schema("s STRING", "q"))
    sink.write(pa.table({"s": pa.array([text, "after"], pa.string()), "_arrival": [0, 0], "_sequence": [0, 1]}))
    sink.close()
    assert ask(database, "SELECT s FROM t") == [(text,), ("after",)]


def test_a_type_that_only_spark_knows_is_known_with_the_first_rows(database: PostgreSQLServer) -> None:
    sink = open_sink(database, checkpointed=False, schema=Schema((Column("k", None), Column("s", "STRING"))))
    assert ask(database, "SELECT to_regclass('t')") == [(None,)]
    sink.write(rows(0, 2))
    sink.close()
    assert ask(database, "SELECT k + 1, s FROM t") == [(1, "0"), (2, "1")]


def test_a_connection_that_is_cut_in_mid_commit(database: PostgreSQLServer) -> None:
    """Connections are cut again and again, also inside of transactions."""
    sink = open_sink(database)
    stop = threading.Event()
    cut = 0

    def cuts() -> None:
        nonlocal cut
        others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'headgate'"
        while not stop.wait(0.02):
            cut += ask(database, others)[0][0]

    thread = threading.Thread(target=cuts)
    thread.start()
    for first in range(0, 60_000, 3_000):
        sink.write(rows(first, 3_000))
        checkpoint(sink)
        time.sleep(0.05)
    stop.set()
    thread.join()
    sink.close()
    assert cut > 3
    assert ask(database, "SELECT count(*), count(DISTINCT k), max(k) FROM t") == [(60_000, 60_000, 59_999)]


def test_the_server_is_restarted(database: PostgreSQLServer) -> None:
    sink = open_sink(database)
    sink.write(rows(0, 3))
    checkpoint(sink)
    wait_until(lambda: sink.status()["epoch"] == 1)
    database.stop(at_once=True)
    try:
        sink.write(rows(3, 3))
        saved = checkpoint(sink)
        wait_until(lambda: sink.status()["error"] is not None)
        assert sink.status()["waiting"] == 3
        assert PASSWORD not in sink.status()["error"]
        with pytest.raises(OSError, match="3 results were not committed"):
            sink.close()
        with pytest.raises(ApplicationError, match=r"queries.q.sink: PostgreSQL: .*connection"):
            open_sink(database, *saved)
    finally:
        database.start()
    sink = open_sink(database, *saved)
    sink.close()
    assert ask(database, "SELECT k FROM t ORDER BY k") == [(k,) for k in range(6)]


def test_a_later_run_shuts_an_earlier_one_out(database: PostgreSQLServer) -> None:
    first = open_sink(database)
    first.write(rows(0, 1))
    saved = checkpoint(first)
    wait_until(lambda: first.status()["epoch"] == 1)
    second = open_sink(database, *saved)
    first.write(rows(1, 1))
    checkpoint(first)
    wait_until(lambda: first.status()["error"] is not None)
    with pytest.raises(ValueError, match="another run has begun to write the results of q in t"):
        first.refresh()
    second.write(rows(1, 1))
    checkpoint(second)
    second.close()
    first.close()
    assert ask(database, "SELECT k FROM t ORDER BY k") == [(0,), (1,)]


def test_a_row_that_the_table_refuses_ends_the_query(database: PostgreSQLServer) -> None:
    ask(database, "CREATE TABLE t (k integer CHECK (k < 2), s text)")
    sink = open_sink(database, checkpointed=False)
    sink.write(rows(0, 3))
    wait_until(lambda: sink.status()["error"] is not None)
    with pytest.raises(ValueError, match=r'PostgreSQL: new row .* violates check constraint "t_k_check"'):
        sink.refresh()
    sink.close()
    assert ask(database, "SELECT * FROM t") == []


@pytest.mark.parametrize(
    ("made", "said", "says"),
    [
        (None, {"create": False}, r'table: there is no table "t"; .*CREATE TABLE "t" \("k" integer, "s" text\)'),
        ("CREATE TABLE t (k boolean, s text)", {}, 'column "k" is of type boolean but expression is of type integer'),
        ("CREATE TABLE t (k integer)", {}, 'column "s" of relation "t" does not exist'),
        (None, {"table": "no.where"}, 'schema "no" does not exist'),
        (None, {"table": "a.b.c"}, "write table or schema.table"),
        (None, {"password_env": "NONE_SUCH"}, r"password_env: there is no variable NONE_SUCH in the environment"),
        (None, {"key": ["k"]}, "a key is for results that can lose rows"),
    ],
)
def test_what_is_refused(database: PostgreSQLServer, made: str | None, said: dict[str, Any], says: str) -> None:
    if made:
        ask(database, made)
    with pytest.raises(ApplicationError, match=says) as refused:
        open_sink(database, **said)
    assert refused.value.place.startswith("queries.q.sink")
    assert PASSWORD not in str(refused.value)


def test_a_wrong_password_is_not_shown(database: PostgreSQLServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_PASSWORD", "wrong-one")
    with pytest.raises(ApplicationError, match="password authentication failed") as refused:
        open_sink(database)
    assert "wrong-one" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["postgresql://me:secret@host/db", "host=h password=secret", "postgresql://h/d?password=x"]
)
def test_passwords_do_not_belong_in_the_url(url: str) -> None:
    with pytest.raises(ApplicationError, match=r"url: a password does not belong here; .*password_env") as refused:
        Postgresql(url=url, table="t")
    assert "secret" not in str(refused.value)


# Relations that lose rows ---------------------------------------------------------------------------------------------


def changes(*said: tuple[int, int | None, str]) -> pa.Table:
    """Rows of (change, k, s)."""
    n = len(said)
    stamps = {"_arrival": 0, "_sequence": 0, "_time": 7, "_until": FOREVER}
    columns = {name: pa.array([value] * n, pa.int64()) for name, value in stamps.items()}
    k, s = pa.array([k for _, k, _ in said], pa.int32()), pa.array([s for *_, s in said], pa.string())
    return pa.table({"k": k, "s": s, **columns, "_change": pa.array([change for change, *_ in said], pa.int64())})


def test_a_relation_without_a_key_is_refused(database: PostgreSQLServer) -> None:
    with pytest.raises(
        ApplicationError, match=r"can lose rows; name the columns that identify a row as its key, .*changes"
    ):
        open_sink(database, flow=LOSES)
    with pytest.raises(ApplicationError, match="the results have no column 'x'; known: k, s"):
        open_sink(database, flow=LOSES, key=["x"])


def test_the_changes_of_a_relation_as_rows(database: PostgreSQLServer) -> None:
    sink = open_sink(database, checkpointed=False, flow=LOSES, format="changes")
    sink.write(changes((1, 1, "a"), (-1, 1, "a")))
    sink.close()
    assert ask(database, "SELECT change, k, s FROM t") == [("+", 1, "a"), ("-", 1, "a")]


KEYED = st.lists(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.sampled_from(["a", "b", None]))), max_size=5
)


@settings(max_examples=examples(15, 200))
@given(KEYED)
def test_a_table_with_a_key_is_what_the_relation_is(database: PostgreSQLServer, epochs: list[list[Any]]) -> None:
    ask(database, "DROP TABLE IF EXISTS t")
    sink = open_sink(database, flow=LOSES, key=["k"])
    held: dict[int | None, str] = {}
    for steps in epochs:
        for k, s in steps:  # a key gets another value, or goes
            said = [(-1, k, held.pop(k))] if k in held else []
            if s is not None:
                said.append((1, k, s))
                held[k] = s
            sink.write(changes(*said))
        checkpoint(sink)
    sink.close()
    assert Counter(ask(database, "SELECT k, s FROM t")) == Counter(held.items())


def test_a_key_that_is_none_ends_the_query(database: PostgreSQLServer) -> None:
    sink = open_sink(database, checkpointed=False, flow=LOSES, key=["k"])
    sink.write(changes((1, 1, "a"), (1, 1, "b")))
    wait_until(lambda: sink.status()["error"] is not None)
    with pytest.raises(ValueError, match=r"several rows of the results have the same key \(k\)"):
        sink.refresh()
    sink.close()
