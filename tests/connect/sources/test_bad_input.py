"""Bad input of every kind goes to the dead letters, with reason and position, and the rows around it arrive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.connect.sources import SourceContext, SourceKind, make_source, read_table, records
from headgate.connect.sources import json as json_source
from headgate.errors import ApplicationError
from headgate.plan.model import Stream, Table
from headgate.sql.schema import parse_schema

Letter = tuple[int, str, str]  # position, reason, kind


class Given(SourceKind):
    """Rows as they are."""

    kind = "given-rows"
    rows: Any

    def batches(self, context: SourceContext) -> Iterator[Any]:
        yield self.rows


def read(folder: Path, kind: str, content: Any, schema: str, **more: Any) -> tuple[list[Any], list[Letter]]:
    """The rows that a source of this kind gives of some content, and what it puts aside."""
    connector = Given(rows=content) if kind == "given" else None
    if connector is None:
        (folder / "in").write_text(content)
    said = connector.settings() if connector else {"kind": kind, "path": "in"}
    letters: list[Letter] = []
    stream = Stream("s", parse_schema(schema, "s"), said, connector=connector, **more)
    put = lambda line, row, reason, kind: letters.append((line, reason, kind))  # noqa: E731
    source = make_source(stream, folder, 0, 0, on_reject=put)
    rows: list[Any] = []
    while (table := source.poll(0.0)) is not None:
        rows += [tuple(row.values())[:-2] for row in table.to_pylist()]
    assert source.rejected == len(letters)
    return rows, letters


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_malformed_rows(tmp_path: Path) -> None:
    rows, letters = read(tmp_path, "csv", 'a,b\n1,x\nno,y\n"2,z\n3,w\n', "a INT, b STRING")
    assert rows == [(1, "x"), (3, "w")]
    assert letters == [
        (3, "column a: 'no' does not fit the type int32", "malformed"),
        (4, "has a quotation mark that is not closed, or not followed by a delimiter", "malformed"),
    ]
    rows, letters = read(tmp_path, "json", '{"a": 1}\n{"a": 1\n[1]\n{"a": 2}\n', "a INT")
    assert rows == [(1,), (2,)]
    assert letters == [(2, "is not JSON", "malformed"), (3, "is not a JSON object", "malformed")]


def test_a_column_that_is_missing_from_some_row_on(tmp_path: Path) -> None:
    rows, letters = read(tmp_path, "csv", "a,b\n1,x\n2\n3,y\n", "a INT, b STRING")
    assert rows == [(1, "x"), (3, "y")]
    assert letters == [(3, "has 1 fields instead of 2", "malformed")]
    text = lines({"a": 1, "b": "x"}, {"a": 2})
    assert read(tmp_path, "json", text, "a INT, b STRING") == ([(1, "x"), (2, None)], [])
    rows, letters = read(tmp_path, "json", text, "a INT, b STRING NOT NULL")
    assert rows == [(1, "x")]
    assert letters == [(2, "column b: 'None' is null, and the column is NOT NULL", "malformed")]


def test_a_column_that_is_added_from_some_row_on(tmp_path: Path) -> None:
    rows, letters = read(tmp_path, "csv", "a,b\n1,x\n2,y,new\n3,z\n", "a INT, b STRING")
    assert rows == [(1, "x"), (3, "z")]
    assert letters == [(3, "has 3 fields instead of 2", "malformed")]
    assert read(tmp_path, "json", lines({"a": 1}, {"a": 2, "new": 3}), "a INT") == ([(1,), (2,)], [])
    rows, letters = read(tmp_path, "given", [{"a": 1}, {"a": 2, "new": 3}], "a INT")
    assert rows == [(1,)]
    assert letters == [(1, "is no column; known columns: a", "malformed")]


@pytest.mark.parametrize("kind", ["csv", "json", "given"])
def test_a_column_of_another_type_from_some_row_on(kind: str, tmp_path: Path) -> None:
    rows = [{"a": 1}, {"a": 2.5}, {"a": "three"}, {"a": 4}]
    content = {"csv": "a\n1\n2.5\nthree\n4\n", "json": lines(*rows), "given": rows}[kind]
    found, letters = read(tmp_path, kind, content, "a INT")
    assert found == [(1,), (4,)]
    first = {"csv": 2, "json": 1, "given": 0}[kind]
    assert [letter[0] for letter in letters] == [first + 1, first + 2]
    assert all("column a:" in letter[1] and "does not fit the type" in letter[1] for letter in letters)


@pytest.mark.parametrize("kind", ["csv", "json", "given"])
def test_nulls_where_none_are_allowed(kind: str, tmp_path: Path) -> None:
    rows = [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 3, "b": None}, {"a": 4, "b": "z"}]
    content = {"csv": "a,b\n1,x\n,y\n3,\n4,z\n", "json": lines(*rows), "given": rows}[kind]
    found, letters = read(tmp_path, kind, content, "a INT NOT NULL, b STRING")
    assert found == [(1, "x"), (3, None), (4, "z")]
    position = {"csv": 3, "json": 2, "given": 1}[kind]
    assert letters == [(position, "column a: 'None' is null, and the column is NOT NULL", "malformed")]


def test_huge_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (records, json_source):
        monkeypatch.setattr(module, "LONGEST", 1000)
    monkeypatch.setattr(records, "CHUNK", 100)
    huge = "x" * 2000
    rows, letters = read(tmp_path, "csv", f'a,b\n1,x\n2,"{huge}\n3,y\n', "a INT, b STRING")
    assert rows == [(1, "x"), (3, "y")]
    assert [letter[0] for letter in letters] == [3]
    rows, letters = read(tmp_path, "json", lines({"a": 1}, {"a": 2, "b": huge}, {"a": 3}), "a INT")
    assert rows == [(1,), (3,)]
    assert letters == [(2, "is longer than 1000 bytes", "malformed")]


@pytest.mark.parametrize("kind", ["csv", "json", "given"])
def test_clock_jumps(kind: str, tmp_path: Path) -> None:
    rows = [{"t": 10}, {"t": 10**9}, {"t": 12}]
    content = {"csv": "t\n10\n1000000000\n12\n", "json": lines(*rows), "given": rows}[kind]
    found, letters = read(tmp_path, kind, content, "t BIGINT", time="t", max_jump_s=100.0)
    assert found == [(10,), (12,)]
    assert [(letter[0], letter[2]) for letter in letters] == [({"csv": 3, "json": 2, "given": 1}[kind], "max_jump")]


def test_tables_know_not_null_too(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n,y\n")
    schema = parse_schema("a INT NOT NULL, b STRING", "tables.t.schema")
    assert str(schema) == "a INT NOT NULL, b STRING"
    stored = read_table(Table("t", schema, {"kind": "csv", "path": "t.csv"}), tmp_path)
    assert stored.to_pylist() == [{"a": 1, "b": "x"}]
    rows = Table("t", schema, {"kind": "rows", "rows": [{"a": 1}, {"b": "y"}]})
    with pytest.raises(ApplicationError, match=r"tables\.t\.rows\[1\], column a: None is null, and the column is NOT"):
        read_table(rows, tmp_path)


@pytest.mark.parametrize("said", ["DEFAULT 3", "PRIMARY KEY", "UNIQUE"])
def test_what_else_sql_says_of_columns_is_refused(said: str) -> None:
    with pytest.raises(ApplicationError, match=f"column 'a': {said}.* has no meaning here; take it out"):
        parse_schema(f"a INT {said}, b STRING", "streams.s.schema")


def test_null_and_comments_are_understood() -> None:
    schema = parse_schema("a INT NULL, b STRING NOT NULL COMMENT 'the name'", "streams.s.schema")
    assert [column.filled for column in schema] == [False, True]
