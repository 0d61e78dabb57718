"""From what is saved, and an application file of the operator, to a service that runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from headgate.api.application import Application
from headgate.api.run import Run
from headgate.errors import ApplicationError
from headgate.server.limits import Limits
from headgate.server.saved_sections import KEYS, SavedSections
from headgate.server.service import Lost, Service

log = logging.getLogger("headgate.server")


def start_service(
    base: Application, saved: SavedSections, limits: Limits, spark: Any = None, fresh: bool = False
) -> Service:
    """Start what is saved and what `base` holds, which is an application of the operator, or empty.

    If `base` has a checkpoint, queries go on from there, unless they are to start over, `fresh`. What was saved of a
    section counts more than what `base` says. A query that cannot be started is registered with its error; the others
    run. ApplicationError: Spark does not start, `base` is wrong, or the checkpoint cannot be read.
    """
    app, lost, broken = _registered(base, saved)
    queries = saved.of("queries")
    stopped = [name for name, one in queries.items() if not one.started]
    since = {f"{key}.{name}": one.since for key in ("streams", "queries") for name, one in saved.of(key).items()}
    run = _started(app, {*broken, *stopped}, broken, spark, fresh, since)
    if saved.policy is not None:
        _keep_policy(run, saved.policy)
    return Service(app, run, saved, limits, lost, broken, operators=base)


def _registered(base: Application, saved: SavedSections) -> tuple[Application, Lost, dict[str, str]]:
    """The application with everything that is saved; what of it is wrong by now; and by query, why."""
    app = base.copy()
    lost: Lost = {key: {} for key in KEYS}
    broken: dict[str, str] = {}
    for key in KEYS:
        for name, one in saved.of(key).items():
            try:
                if name in app.sections(key):
                    app = app.replaced(key, name, one.section)
                else:
                    app.add(key, name, one.section)
            except ApplicationError as error:
                log.error("%s.%s cannot be brought back: %s", key, name, error)
                lost[key][name] = one.section
                if key == "queries":
                    broken[name] = str(error)
    return app, lost, broken


def _started(
    app: Application, left_out: set[str], broken: dict[str, str], spark: Any, fresh: bool, since: Mapping[str, float]
) -> Run:
    """Start what can be started: a query that Spark refuses is left out, too, and those that read it."""
    while True:
        trial = app.copy()
        for name in left_out & app.sections("queries").keys():
            trial = trial.forget("queries", name)
        try:
            return trial.start(spark, stay_open=True, fresh=fresh, since=since)
        except ApplicationError as error:
            culprit = _query_of(error, trial.sections("queries"))
            if culprit is None:
                raise
            log.error("query %s cannot be started: %s", culprit, error)
            broken[culprit] = str(error)
            left_out.add(culprit)


def _query_of(error: ApplicationError, queries: Mapping[str, Any]) -> str | None:
    """The query that an error is about, if it is about one."""
    within = [name for name in queries if f"{error.place}.".startswith(f"queries.{name}.")]
    return max(within, key=len, default=None)


def _keep_policy(run: Run, policy: Mapping[str, Any]) -> None:
    parameters = dict(policy)
    try:
        run.set_policy(parameters.pop("name"), **parameters)
    except ApplicationError as error:
        log.error("the policy %s cannot be brought back: %s", policy, error)
