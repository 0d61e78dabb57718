"""A client of a server, with the verbs of applications and runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from headgate.api.explanation import Explanation
from headgate.api.report import Report
from headgate.api.sections import (
    Section,
    class_section,
    policy_section,
    query_section,
    stream_section,
    table_section,
)
from headgate.api.write import plain_data
from headgate.client.connection import URL, Connection, path_of
from headgate.client.push import push
from headgate.client.results import RemoteResults
from headgate.client.rows import wire_value
from headgate.server.http.rows import ARROW

Key = Literal["streams", "tables", "classes", "queries"]


class QueryState(NamedTuple):
    """A registered query: its section, as in an application file, and how it does."""

    section: Section
    state: str  # running, stopped, ended (its streams have) or failed
    error: str | None


class Client:
    """A server's streams, tables, classes and queries. Any thread may use it.

    ApplicationError: what was asked for is wrong, and nothing has changed. ServerError: the server is gone, does not
    let this client in, or failed. Leaving its `with` block closes its connections; the queries go on.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        """The server at `url`, by default HEADGATE_URL or http://127.0.0.1:8600. ServerError: none answers there.

        `token`: by default HEADGATE_TOKEN; a server on loopback may ask for none.
        """
        url = url or os.environ.get("HEADGATE_URL") or URL
        self._connection = Connection(url, token or os.environ.get("HEADGATE_TOKEN"))
        try:
            self._connection.json("GET", path_of("health"))
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """The server's address."""
        return self._connection.url

    # Register ----------------------------------------------------------------------------------------------------

    def stream(self, name: str, schema: str, **settings: Any) -> None:
        """Register a stream, with the settings of `Application.stream`. Without a source, rows are pushed into it."""
        self.add("streams", name, stream_section(schema, **settings))

    def table(self, name: str, rows: Any, schema: str | None = None) -> None:
        """Register a stored table: its rows, as a data frame, an Arrow table or a list of dicts."""
        self.add("tables", name, table_section(name, rows, schema))

    def add_class(self, name: str, priority: int, *, linger: float | str | None = None) -> None:
        """Register a class of queries; a larger priority is more important."""
        self.add("classes", name, class_section(priority, linger))

    def query(
        self, name: str, cql: str | None = None, *, start: bool = True, force: bool = False, **settings: Any
    ) -> None:
        """Register a query, with the settings of `Application.query`, and start it, unless `start` is False.

        One that leaves too little room for queries with a must-promise is refused, unless it joins by `force`.
        """
        self.add("queries", name, query_section(cql, **settings), start=start, force=force)

    def add(self, key: Key, name: str, section: Mapping[str, Any], *, start: bool = True, force: bool = False) -> None:
        """Register a section as an application file has it."""
        params = {"start": start, "force": force} if key == "queries" else None
        body = {"name": name, **plain_section(key, name, section)}
        self._connection.json("POST", path_of(key), body, params)

    def validate(self, name: str, cql: str | None = None, **settings: Any) -> tuple[list[dict[str, Any]], list[str]]:
        """Check a query without registering it. Returns the columns of its results, and warnings."""
        body = {"name": name, **plain_section("queries", name, query_section(cql, **settings))}
        found = self._connection.json("POST", path_of("queries", "validate"), body)
        return found["columns"], found["warnings"]

    # Start, stop, remove -----------------------------------------------------------------------------------------

    def start_query(self, name: str, *, force: bool = False) -> None:
        """Start a query that does not run; it reads what arrives from now on."""
        self._connection.json("POST", path_of("queries", name, "start"), params={"force": force})

    def stop_query(self, name: str) -> None:
        """Stop a query, and keep it registered."""
        self._connection.json("POST", path_of("queries", name, "stop"))

    def remove_query(self, name: str) -> None:
        """Remove a query; it is stopped, if it runs."""
        self.remove("queries", name)

    def remove_stream(self, name: str) -> None:
        """Remove a stream that no query reads."""
        self.remove("streams", name)

    def remove_table(self, name: str) -> None:
        """Remove a stored table that no query reads."""
        self.remove("tables", name)

    def remove_class(self, name: str) -> None:
        """Remove a class that no query is in."""
        self.remove("classes", name)

    def remove(self, key: Key, name: str) -> None:
        """Remove what is registered under a key."""
        self._connection.json("DELETE", path_of(key, name))

    # Rows in, results out ----------------------------------------------------------------------------------------

    def push(self, stream: str, rows: Any, timeout: float = 60.0) -> int:
        """Push rows into a stream: dicts, tuples, a pandas data frame or an Arrow table. Returns how many there were.

        Large pushes go in several requests. While the server is busy or has no room, it is asked again, at most for
        `timeout` seconds: then TimeoutError. ApplicationError: a row does not fit. Of a failed push the rows of the
        requests before are taken; the error says how many.
        """
        return push(self._connection, stream, rows, timeout)

    def end(self, stream: str) -> None:
        """No more rows will be pushed into a stream."""
        self._connection.json("POST", path_of("streams", stream, "end"))

    def results(self, query: str) -> RemoteResults:
        """The results of a query: to be iterated over while they come, or to be looked at."""
        return RemoteResults(self._connection, query)

    def snapshot(self, cql: str, limit: int = 10_000) -> pa.Table:
        """The answer of a query that is asked once, over what running queries hold now and stored tables."""
        body = {"cql": cql, "limit": limit}
        answer = self._connection.ask("POST", path_of("snapshot"), json=body, headers={"Accept": ARROW})
        with pa.ipc.open_stream(answer.content) as reader:
            return reader.read_all()

    # Change ------------------------------------------------------------------------------------------------------

    def set_priority(self, class_name: str, priority: int) -> None:
        """Give a class another priority."""
        self._connection.json("PATCH", path_of("classes", class_name), {"priority": priority})

    def set_class(self, query: str, class_name: str) -> None:
        """Put a query into another class."""
        self.change_query(query, {"class": class_name})

    def set_qos(self, query: str, qos: Mapping[str, Any] | None) -> None:
        """Give a query other promises; None: none."""
        self.change_query(query, {"qos": None if qos is None else dict(qos)})

    def set_tolerance(self, query: str, tolerance: float | None, *, shed: Any = None) -> None:
        """Say what share of a query's load may be shed, and how; None: nothing may be."""
        self.change_query(query, {"tolerance": tolerance} | ({} if shed is None else {"shed": shed}))

    def set_query_policy(self, query: str, name: str | None, **parameters: Any) -> None:
        """Give a query a policy of its own, or with None take it away."""
        self.change_query(query, {"policy": None if name is None else {"name": name, **parameters}})

    def change_query(self, query: str, changes: Mapping[str, Any]) -> None:
        """Change several things of a query at once; keys as in an application file, None takes a value away."""
        self._connection.json("PATCH", path_of("queries", query), plain_data(dict(changes), f"queries.{query}"))

    def set_policy(self, name: str, **parameters: Any) -> None:
        """Continue with another policy."""
        self._connection.json("PUT", path_of("policy"), {"name": name, "parameters": parameters})

    # Look --------------------------------------------------------------------------------------------------------

    def streams(self) -> dict[str, Section]:
        """The registered streams by name, as an application file has them."""
        return self.sections("streams")

    def tables(self) -> dict[str, Section]:
        """The stored tables."""
        return self.sections("tables")

    def classes(self) -> dict[str, Section]:
        """The classes."""
        return self.sections("classes")

    def queries(self) -> dict[str, QueryState]:
        """The queries, running or not."""
        found = self._connection.json("GET", path_of("queries"))
        return {one["name"]: QueryState(one["section"], one["state"], one.get("error")) for one in found}

    def sections(self, key: Key) -> dict[str, Section]:
        """What is registered under a key, by name."""
        return {one["name"]: one["section"] for one in self._connection.json("GET", path_of(key))}

    def overview(self) -> dict[str, Any]:
        """Classes, queries, queues, load and active policy as of now."""
        found: dict[str, Any] = self._connection.json("GET", path_of("overview"))
        return found

    def query_overview(self, query: str) -> dict[str, Any]:
        """A query as of now: its operators, queues, latencies over time, decisions about it."""
        found: dict[str, Any] = self._connection.json("GET", path_of("queries", query, "overview"))
        return found

    def explain(self, query: str | None = None) -> Explanation:
        """The whole application, or one query, as operators and paths."""
        path = path_of("explain") if query is None else path_of("queries", query, "explain")
        return Explanation(self._connection.json("GET", path))

    def report(self) -> Report:
        """The report of the run as of now."""
        return Report(self._connection.json("GET", path_of("report")))

    def decisions(self, last: int = 100) -> Sequence[dict[str, Any]]:
        """The newest decisions of the optimizer, with their reasons, oldest first."""
        found: list[dict[str, Any]] = self._connection.json("GET", path_of("decisions"), params={"last": last})
        return found

    @property
    def policy(self) -> dict[str, Any]:
        """The policy: its `name` and its `parameters`."""
        found: dict[str, Any] = self._connection.json("GET", path_of("policy"))
        return found

    # The end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connections; the server goes on."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self.url}>"


def plain_section(key: Key, name: str, section: Mapping[str, Any]) -> Section:
    """A section as it is sent: plain data. ApplicationError names what exists only in Python."""
    found = dict(section)
    if key == "tables" and found.get("rows") is not None:
        rows = found["rows"]
        found["rows"] = wire_value(rows.to_pylist() if isinstance(rows, pa.Table) else rows)
    if isinstance(found.get("policy"), str):
        found["policy"] = policy_section(found["policy"])
    plain: Section = plain_data(found, f"{key}.{name}")
    return plain
