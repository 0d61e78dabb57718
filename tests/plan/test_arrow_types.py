"""Spark SQL types as Arrow types."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headgate.plan.arrow_types import arrow_schema, arrow_type, port_schema
from headgate.plan.flows import Flow
from headgate.sql.schema import Column, Schema, parse_schema


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("STRING", pa.string()),
        ("VARCHAR(10)", pa.string()),
        ("TINYINT", pa.int8()),
        ("SMALLINT", pa.int16()),
        ("INT", pa.int32()),
        ("BIGINT", pa.int64()),
        ("FLOAT", pa.float32()),
        ("DOUBLE", pa.float64()),
        ("DECIMAL", pa.decimal128(10, 0)),
        ("DECIMAL(7)", pa.decimal128(7, 0)),
        ("DECIMAL(38, 18)", pa.decimal128(38, 18)),
        ("BOOLEAN", pa.bool_()),
        ("DATE", pa.date32()),
        ("TIMESTAMP", pa.timestamp("us", tz="UTC")),
        ("TIMESTAMP_NTZ", pa.timestamp("us")),
        ("BINARY", pa.binary()),
        ("ARRAY<INT>", pa.list_(pa.field("element", pa.int32()))),
        ("MAP<STRING,DOUBLE>", pa.map_(pa.string(), pa.float64())),
        ("STRUCT<a: INT, `b c`: ARRAY<STRING>>", None),
    ],
)
def test_types(name: str, kind: pa.DataType | None) -> None:
    if kind is None:
        kind = pa.struct({"a": pa.int32(), "b c": pa.list_(pa.field("element", pa.string()))})
    assert arrow_type(name) == kind


@pytest.mark.parametrize(
    "name",
    [
        "",
        "INTERVAL",
        "ARRAY",
        "ARRAY<INT",
        "ARRAY<INT>>",
        "MAP<INT>",
        "DECIMAL(39,0)",
        "DECIMAL(2,3)",
        "DECIMAL(x)",
        "?",
    ],
)
def test_unknown_types_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="known types: STRING"):
        arrow_type(name)


def test_schema_with_stamps() -> None:
    schema = arrow_schema(parse_schema("k INT, s STRING", "x"))
    assert schema.names == ["k", "s", "_arrival", "_sequence"]
    assert schema.field("_arrival") == pa.field("_arrival", pa.int64(), nullable=False)
    assert arrow_schema(parse_schema("k INT", "x"), stamps=False).names == ["k"]


def test_the_error_names_the_column_at_fault() -> None:
    with pytest.raises(ValueError, match="column b: its type is not known"):
        arrow_schema(Schema((Column("a", "INT"), Column("b", None))))
    with pytest.raises(ValueError, match="column b: no Arrow type is known for 'VOID'"):
        arrow_schema(Schema((Column("b", "VOID"),)))


def test_all_stamps_flow_between_operators() -> None:
    schema = parse_schema("k INT", "x")
    stream = port_schema(schema, Flow())
    assert stream.names == ["k", "_arrival", "_sequence", "_time"]
    relation = port_schema(schema, Flow(relation=True))
    assert relation.names == ["k", "_arrival", "_sequence", "_time", "_until", "_change"]
    assert [field.name for field in relation if field.nullable] == ["k", "_time"]
