"""One-time queries over what a run holds now; `Run.snapshot` is their front door."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate.application.untrusted import Allowed
from headgate.connect.sinks.memory import MemorySink
from headgate.errors import ApplicationError, known_names
from headgate.language.compile import errors_at
from headgate.language.snapshot_text import Reading, read_snapshot_text
from headgate.plan.model import Plan
from headgate.plan.operators import Changes, Project, RowWindow, TimeWindow
from headgate.plan.operators.base import Operator, Port
from headgate.plan.windows import Clock, RangeWindow, Window
from headgate.sql.errors import CqlError
from headgate.sql.request_checks import refuse_unlisted

if TYPE_CHECKING:
    from headgate.api.application import Application
    from headgate.runtime.spark.engine import SparkRuntime

ROWS = 10_000
TIMEOUT_S = 30.0
_PLACE = "snapshot"
# Functions that a request may use here besides those of continuous queries: a one-time query may unfold lists.
_MORE = frozenset(
    "explode explode_outer posexplode posexplode_outer inline inline_outer grouping grouping_id".split()  # noqa: SIM905
)


class SnapshotTimeout(ApplicationError):
    """A one-time query took too long; its jobs on Spark were canceled."""


def take_snapshot(
    runtime: SparkRuntime,
    app: Application,
    cql: str,
    limit: int = ROWS,
    timeout: float = TIMEOUT_S,
    untrusted: Allowed | None = None,
) -> pa.Table:
    """See `Run.snapshot`. `app` knows the tables that no running query reads, too."""
    if limit < 1 or not 0 < timeout <= threading.TIMEOUT_MAX:
        raise ValueError(f"limit must be at least 1 and timeout above 0, not {limit} and {timeout}")
    if untrusted is not None and len(cql) > untrusted.characters:
        problem = f"this text has {len(cql):,} characters"
        raise ApplicationError(_PLACE, problem, f"keep it to {untrusted.characters:,}")
    views: dict[str, pa.Table] = {}
    with errors_at(_PLACE, cql):
        text = read_snapshot_text(cql)
        if untrusted is not None:
            refuse_unlisted(text.tree, untrusted.constant, _MORE)
        for reading in text.reads:
            views[reading.view] = _rows(runtime, app, reading)
    from headgate.runtime.spark.snapshot import compute_snapshot

    try:
        return compute_snapshot(runtime.caller.session, text.sql, views, limit, timeout, cql)
    except TimeoutError as error:
        remedy = "ask for less, or give it more time"
        raise SnapshotTimeout(_PLACE, str(error), remedy) from error


def _rows(runtime: SparkRuntime, app: Application, reading: Reading) -> pa.Table:
    """What a name in FROM holds now. CqlError: nothing has that name, or nobody holds these rows."""
    plan = runtime.core.plan
    stream = _spelled(reading.name, plan.streams)
    if stream is not None:
        query = None if reading.window is None else window_holder(plan, stream, reading.window, runtime.sinks.get)
        if query is None:
            raise _nobody_holds(stream, reading)
        return _held(runtime.sinks[query])
    query = _spelled(reading.name, runtime.sinks)
    table = _spelled(reading.name, app.tables) if query is None else None
    if query is None and table is None:
        names = {*list(runtime.sinks), *app.tables, *plan.streams}
        raise CqlError(f"there is no '{reading.name}' to read", known_names("names", names, reading.name), reading.at)
    if reading.window is not None:
        remedy = "windows go on streams; leave the window out"
        raise CqlError(f"'{reading.name}' is no stream and cannot have a window here", remedy, reading.at)
    if table is not None:
        rows = runtime.caller.table_rows(table)
        return app.read_table(table) if rows is None else rows
    assert query is not None
    if not isinstance(runtime.sinks[query], MemorySink):
        problem = f"the results of query '{query}' are not kept in memory"
        raise CqlError(problem, "give it a sink of kind memory, which is the default", reading.at)
    return _held(runtime.sinks[query])


def _spelled(name: str, known: Iterable[str]) -> str | None:
    """The known name that is meant: spelled like this, or else in other case."""
    names = list(known)
    return next((one for one in [name, *names] if one in names and one.lower() == name.lower()), None)


def _nobody_holds(stream: str, reading: Reading) -> CqlError:
    window = reading.window
    if window is None:
        problem = f"'{stream}' is a stream, of which nothing is kept"
        return CqlError(
            problem, f"read a query, or a window that one holds: FROM {stream} [RANGE 1 MINUTE]", reading.at
        )
    problem = f"no running query holds the rows of {stream} [{window}]"
    remedy = f"register it as a query first, SELECT * FROM {stream} [{window}], and read that"
    return CqlError(problem, remedy, reading.at)


def _held(sink: object) -> pa.Table:
    assert isinstance(sink, MemorySink)
    tables = sink.tables()
    return pa.concat_tables(tables) if tables else sink.empty()


# Windows that a query holds ---------------------------------------------------------------------------------------


def window_holder(plan: Plan, stream: str, window: Window, sink_of: Callable[[str], object]) -> str | None:
    """A running query whose results in memory are just the rows of this window, with all columns of the stream."""
    for query in plan.queries.values():
        sink = sink_of(query.name)
        if query.tolerance is None and isinstance(sink, MemorySink) and sink.whole:
            found = _only_window(plan, query.root, stream)
            if found is not None and _same(found, window, plan.streams[stream].clock):
                return query.name
    return None


def _only_window(plan: Plan, root: Port, stream: str) -> Window | None:
    """The window, if what comes out here is a window over this stream and nothing else."""
    found: Window | None = None
    port, columns = root, plan.streams[stream].schema.names
    if plan.schemas[root].names != columns:
        return None
    while port.node != stream:
        operator: Operator | None = plan.operators.get(port.node)
        if isinstance(operator, (TimeWindow, RowWindow)) and found is None:
            found = operator.window
        elif not (isinstance(operator, Changes) and operator.mode == "changes" and operator.window is None) and not (
            isinstance(operator, Project) and all(name == text for name, text in operator.columns.items())
        ):
            return None
        port = operator.inputs[0]
    return found


def _same(one: Window, other: Window, clock: Clock) -> bool:
    """Do these windows hold the same rows? 60 SECONDS are 1 MINUTE."""
    if isinstance(one, RangeWindow) and isinstance(other, RangeWindow):
        try:
            lengths = (one.length_ticks(clock), one.slide_ticks(clock))
            return lengths == (other.length_ticks(clock), other.slide_ticks(clock))
        except ValueError:  # a unit where time has none, or the other way around
            return False
    return str(one).lower() == str(other).lower()
