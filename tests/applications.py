"""Applications for tests: those of the Python API in one call, and plans of operators that a test makes by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import headgate as hg
from headgate.application.checked import CheckedApplication, PolicySettings
from headgate.plan.graph import build_plan
from headgate.plan.model import Plan, Query, QueryClass, Stream, Table
from headgate.plan.operators import Operator, Port

FEEDER = {"kind": "feeder", "rate": 1}


def application(
    streams: Mapping[str, str | Mapping[str, Any]],
    queries: Mapping[str, str | Sequence[Mapping[str, Any]] | Mapping[str, Any]],
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    **settings: Any,
) -> hg.Application:
    """An application as users build it; ApplicationError as they get it.

    A stream is its schema, or the arguments of `Application.stream`; without a source it has a feeder. A query is its
    CQL, its operators, or the arguments of `Application.query`. Tables are sections.
    """
    app = hg.Application(**settings)
    for name, stream in streams.items():
        app.stream(name, **{"source": FEEDER} | ({"schema": stream} if isinstance(stream, str) else dict(stream)))
    for name, table in (tables or {}).items():
        app.table(name, table)
    for name, query in queries.items():
        if isinstance(query, Mapping):
            app.query(name, **query)
        elif isinstance(query, str):
            app.query(name, query)
        else:
            app.query(name, operators=query)
    return app


def bare_plan(
    streams: Iterable[Stream],
    operators: Iterable[Operator],
    roots: Mapping[str, Port],
    classes: Mapping[str, int] | None = None,
    members: Mapping[str, str] | None = None,
    tables: Iterable[Table] = (),
    **more: Any,
) -> Plan:
    """A plan of operators made by hand, for what is tested below the level of applications: policies on the examples of
    their papers, the compiler without its rules, operators that no file can say.

    `roots`: query -> where its results come out; `members`: query -> its class (default: the first). `more` is for all
    queries.
    """
    ranks = dict(classes or {"normal": 1})
    first = next(iter(ranks))
    return build_plan(
        {stream.name: stream for stream in streams},
        {table.name: table for table in tables},
        {name: QueryClass(name, priority) for name, priority in ranks.items()},
        operators,
        [Query(name, (members or {}).get(name, first), root, (), **more) for name, root in roots.items()],
    )


def app_of_plan(
    plan: Plan, policy: PolicySettings | str = "rr", parameters: Mapping[str, Any] | None = None, **more: Any
) -> CheckedApplication:
    """What a runtime takes, with a plan made by hand; `more` are the application's other settings."""
    chosen = PolicySettings(policy, parameters or {}) if isinstance(policy, str) else policy
    return CheckedApplication(plan, chosen, **more)
