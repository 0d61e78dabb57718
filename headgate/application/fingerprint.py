"""What a checkpoint says of the application that it was taken of, and what has changed since.

State belongs to streams and operators as they were defined then. Whatever does not touch it may change: policies,
slots, priorities, promises, how long tuples linger.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headgate.connect.connector import Connector
from headgate.plan.model import Plan, Query, Stream
from headgate.plan.operators.base import Declared, Operator


def fingerprint(plan: Plan, seed: int) -> dict[str, Any]:
    """What must stay the same, as values that JSON can hold. It holds no settings that might be secret."""
    return {
        "seed": seed,
        "streams": {name: _stream(stream) for name, stream in plan.streams.items() if plan.entrances(name)},
        "queries": {name: _query(plan, query) for name, query in plan.queries.items()},
    }


def what_changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """By place in the application file, what is not as it was. Streams and queries that are in one alone are left out:
    they come or go."""
    found: dict[str, str] = {}
    if before["seed"] != now["seed"]:
        found["seed"] = f"it was {before['seed']}, and is {now['seed']} now"
    for name, stream in now["streams"].items():
        for key, value in before["streams"].get(name, {}).items():
            if value != stream.get(key):
                found[f"streams.{name}"] = f"its {key} {_difference(value, stream.get(key))}"
    for name, query in now["queries"].items():
        if name in before["queries"] and (problem := _change(before["queries"][name], query)):
            found[f"queries.{name}"] = problem
    return found


def _change(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What has changed in a query; empty: nothing."""
    then, here = before["operators"], now["operators"]
    for name in (*here, *then):
        if name not in then or name not in here:
            return f"its operator {name} is {'new' if name in here else 'no longer there'}"
        if then[name] != here[name]:
            return f"its operator {name} {_difference(*(each[name]['text'] for each in (then, here)))}"
    if before["root"] != now["root"]:
        return f"its result {_difference(before['root'], now['root'])}"
    return "" if before["sink"] == now["sink"] else f"its sink {_difference(before['sink'], now['sink'])}"


def _difference(before: Any, now: Any) -> str:
    was, now_is = (f"kind {one['kind']}" if isinstance(one, dict) else repr(one) for one in (before, now))
    return f"was {was}, and is {now_is} now" if was != now_is else "is defined otherwise now"


def _stream(stream: Stream) -> dict[str, Any]:
    return {
        "schema": str(stream.schema),
        "time": stream.time,
        "slack": stream.slack_s,
        "relation": stream.relation,
        "source": _connector(stream.source, stream.connector),
    }


def _query(plan: Plan, query: Query) -> dict[str, Any]:
    return {
        "operators": {name: _operator(plan.operators[name]) for name in query.operators},
        "root": str(query.root),
        "sink": _connector(query.sink, query.connector),
    }


def _operator(operator: Operator) -> dict[str, str]:
    """What people see of an operator, and a hash of all that defines it: operators are data, so their texts do."""
    text = f"{operator.kind} {operator.describe()}"
    return {"text": text, "hash": _hash(type(operator).__name__ + repr(replace(operator, declared=Declared())))}


def _connector(settings: Mapping[str, Any], connector: object) -> dict[str, str]:
    free = connector.may_change if isinstance(connector, Connector) else frozenset()
    fixed = {key: value for key, value in sorted(settings.items()) if key not in free}
    return {"kind": str(settings.get("kind")), "hash": _hash(json.dumps(fixed, default=_name))}


def _name(value: Any) -> str:
    """A stable name for what is no plain data, a function for example."""
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
