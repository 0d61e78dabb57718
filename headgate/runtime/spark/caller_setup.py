"""Sets up the `Caller`, which runs calls on Spark: tables, schemas, markers, state."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.application.checked import CheckedApplication
from headgate.connect.sources import read_table
from headgate.plan.model import Plan
from headgate.runtime.spark.analysis.schemas import typed
from headgate.runtime.spark.calls.caller import Caller
from headgate.runtime.spark.calls.changing_tables import ChangingTable, ChangingTables
from headgate.runtime.spark.calls.spread_tables import SpreadTables, frame_of
from headgate.runtime.spark.calls.user_functions import show_functions
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.direct.places import direct_places
from headgate.runtime.spark.direct.server import DirectError, DirectServer
from headgate.runtime.spark.direct.trial import tried_server
from headgate.runtime.spark.internals.leaf import Leaf, LeafError, try_leaves
from headgate.runtime.spark.internals.row_counts import Markers
from headgate.runtime.spark.stateful.state import States

log = logging.getLogger("headgate.spark")


def make_caller(session: SparkSession, app: CheckedApplication, ways: Ways | None = None) -> Caller:
    """Read the tables, let Spark check every operator, and get ready to run units.

    The caller holds tables in Spark's cache until its `close`. `ways`: those that calls may use; by default all.
    """
    ways = ways or Ways(driver_share=app.driver_share)
    show_functions(app.folder)
    data, changing = _tables(app, app.plan)
    with ThreadPoolExecutor(1, thread_name_prefix="headgate-leaves") as beside:
        tried = beside.submit(try_leaves, session)  # a first job warms the JVM; the analyzer needs only one thread
        leaves = {name: _leaf(session, name, table) for name, table in data.items()}
        single = _frames(session, leaves, data)
        markers = Markers(app.plan)
        found = typed(session, app.plan, single, markers)
    try:
        tried.result()
    except LeafError as reason:
        log.warning("nothing can be prepared on this Spark, every call is planned: %s", reason)
        ways = replace(ways, partitioned_rows=0)
    states = States(session, found.single, found.spread)
    server = _direct_server(session, ways)
    spread = SpreadTables(session, data)
    tables = ChangingTables(spread)
    for table in changing:
        tables.add(table, leaves[table.name])
    return Caller(session, app.plan, found.schemas, single, spread, markers, states, ways, server, tables)


def _direct_server(session: SparkSession, ways: Ways) -> DirectServer | None:
    """None: calls are Spark jobs."""
    places = direct_places(session, ways.driver_share)
    if not ways.direct or not ways.partitioned_rows or places == 0:
        return None
    try:
        return tried_server(session, places)
    except DirectError as reason:
        log.warning("calls are Spark jobs, not direct: %s", reason)
        return None


def extend_caller(caller: Caller, app: CheckedApplication) -> None:
    """Let Spark check added queries, and get ready to run their units, too; `app.plan` has only these queries.

    ApplicationError: Spark rejects one of them; calls go on as before.
    """
    show_functions(app.folder)
    known = caller.changing.frames()  # queries that run read the same rows, so they must change for all at once
    data, changing = _tables(app, app.plan, known)
    leaves = {name: _leaf(caller.session, name, table) for name, table in data.items()}
    single = _frames(caller.session, leaves, data) | known
    caller.markers.add(app.plan)
    found = typed(caller.session, app.plan, single, caller.markers)
    caller.add(app.plan, found, single, data)
    for table in changing:
        caller.changing.add(table, leaves[table.name])


def _tables(
    app: CheckedApplication, plan: Plan, known: Collection[str] = ()
) -> tuple[dict[str, pa.Table], list[ChangingTable]]:
    """The rows of each table that a plan reads, and the tables that are read again: their rows say when they count."""
    used = {getattr(operator, "table", None) for operator in plan.operators.values()}
    read = {name: table for name, table in plan.tables.items() if name in used and name not in known}
    changing = [ChangingTable(table, app.folder) for table in read.values() if table.reload_s is not None]
    rows = {name: read_table(table, app.folder) for name, table in read.items() if table.reload_s is None}
    return rows | {table.name: table.versions.content() for table in changing}, changing


def _frames(
    session: SparkSession, leaves: Mapping[str, Leaf | None], data: Mapping[str, pa.Table]
) -> dict[str, DataFrame]:
    """The tables in one partition each: leaves, or where that fails ordinary DataFrames; the guards judge plans."""
    return {
        name: frame_of(session, data[name]).coalesce(1) if leaf is None else leaf.frame for name, leaf in leaves.items()
    }


def _leaf(session: SparkSession, name: str, table: pa.Table) -> Leaf | None:
    try:
        leaf = Leaf(session, table.schema)
        leaf.set(table)
        return leaf
    except LeafError as reason:
        log.info("table %s cannot be a leaf of prepared plans: %s", name, reason)
        return None
