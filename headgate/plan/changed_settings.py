"""What an administrator changed while an application ran: it survives a restart, unless the file says otherwise now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headgate.plan.model import Plan, PolicySettings, Query, QueryClass
from headgate.plan.quality import MeasureName, QosGraph, QosMeasure


def settings_of(plan: Plan) -> dict[str, Any]:
    """The settings that may be changed while it runs, as values that JSON can hold."""
    return {
        "classes": {name: {"priority": one.priority, "linger": one.linger_s} for name, one in plan.classes.items()},
        "queries": {name: _query_settings(query) for name, query in plan.queries.items()},
    }


def with_changes(plan: Plan, before: Mapping[str, Any], after: Mapping[str, Any]) -> Plan:
    """A plan with what was changed from `before` to `after`, two results of `settings_of`.

    A setting that is not the same in the plan as it was `before` has been changed by hand since, and stays.
    """
    here = settings_of(plan)
    classes = dict(plan.classes)
    for name, one in after["classes"].items():
        now = _merged(here["classes"].get(name), before["classes"].get(name), one)
        classes[name] = QueryClass(name, now["priority"], now["linger"])
    plan = replace(plan, classes=classes)
    for name in plan.queries.keys() & after["queries"].keys():
        now = _merged(here["queries"][name], before["queries"].get(name), after["queries"][name])
        changed = {key: value for key, value in now.items() if value != here["queries"][name][key]}
        plan = _with_settings(plan, name, changed)
    return plan


def policy_data(policy: PolicySettings) -> dict[str, Any]:
    """A policy as values that JSON can hold; what is no plain value stands there as its text."""
    return {"name": policy.name, "parameters": json.loads(json.dumps(dict(policy.parameters), default=str))}


def _merged(here: dict[str, Any] | None, before: dict[str, Any] | None, after: dict[str, Any]) -> dict[str, Any]:
    if here is None or before is None:
        return after if here is None else here
    return {key: after[key] if here[key] == before[key] else here[key] for key in after}


def _query_settings(query: Query) -> dict[str, Any]:
    return {
        "class": query.class_name,
        "policy": None if query.policy is None else policy_data(query.policy),
        "linger": query.linger_s,
        "qos": {one.name: one.as_data() for one in query.qos},
        "tolerance": [query.tolerance, query.shed],
    }


def _with_settings(plan: Plan, name: str, changed: Mapping[str, Any]) -> Plan:
    """A plan in which these settings of a query are others."""
    for key, value in changed.items():
        match key:
            case "class":
                plan = plan.with_class(name, value)
            case "policy":
                policy = None if value is None else PolicySettings(value["name"], value["parameters"])
                plan = plan.with_policy(name, policy)
            case "linger":
                plan = plan.with_linger(name, value)
            case "qos":
                plan = plan.with_qos(name, tuple(_measure(each, one) for each, one in value.items()))
            case "tolerance":
                plan = plan.with_tolerance(name, *value)
    return plan


def _measure(name: MeasureName, data: Mapping[str, Any]) -> QosMeasure:
    return QosMeasure(name, data["priority"], QosGraph(tuple((at, value) for at, value in data["points"])))
