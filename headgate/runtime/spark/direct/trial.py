"""A trial of direct calls, when Spark is set up: does a plan that runs directly read what is put into its leaves?"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from headgate.runtime.spark.direct.server import DirectError, DirectServer, append, move, remove, replace
from headgate.runtime.spark.internals.leaf import Leaf, LogLeaf, serialized

_SCHEMA = pa.schema([pa.field("a", pa.int64())])


def tried_server(session: SparkSession, places: int | None = None) -> DirectServer:
    """A server that has given right answers. DirectError: it cannot, with this JVM or this Spark.

    `places` is how many calls may run at once; None: any number.
    """
    server = DirectServer(session, places)
    try:
        _try(session, server)
    except DirectError:
        server.close()
        raise
    except Exception as error:  # whatever it is, jobs are the safe way
        server.close()
        raise DirectError(f"a trial of it failed: {error}") from error
    return server


def _try(session: SparkSession, server: DirectServer) -> None:
    """A sum over a batch and a log that grows, moves and shrinks."""
    leaf, log = Leaf(session, _SCHEMA), LogLeaf(session, _SCHEMA)
    frame = leaf.frame.unionAll(log.frame).selectExpr("sum(a) AS s")
    plan = server.register(frame, [(leaf.array, None), (log.batches, log.partition)], [])
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    steps = [
        ([replace(0, _batch(1))], 1),
        ([move(1, 0), replace(0, _batch(2))], 3),
        ([append(1, _batch(10)), replace(0, _batch(3))], 14),
        ([remove(1, 0)], 13),
    ]
    for changes, expected in steps:
        rows, _ = server.call(plan, changes, schema)
        if rows.column(0).to_pylist() != [expected]:
            raise DirectError(f"a trial gave {rows.column(0).to_pylist()} instead of {[expected]}")
    server.forget(plan)


def _batch(value: int) -> pa.Buffer:
    return serialized(pa.table({"a": [value]}, schema=_SCHEMA))
