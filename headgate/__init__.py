"""Headgate: a data stream management system on Spark.

Register streams and continuous queries, and say how important each query is and what it promises; Headgate decides
what runs next, in a simulator or on Spark, and drops load within the promised error as the last resort.

    import headgate as hg

    app = hg.Application(slots=2)
    app.stream("clicks", "user STRING, price DOUBLE", source=hg.sources.Push())
    app.add_class("critical", priority=6)
    app.query("large", "SELECT user, price FROM clicks WHERE price > 100", in_class="critical")
    with app.start() as run:
        run.push("clicks", [{"user": "ann", "price": 120.0}])
        run.drain()
        print(run.results("large").to_pandas())

What is not used is not imported: `import headgate` is quick.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.api import sinks, sources
    from headgate.api.application import Application, load
    from headgate.api.explanation import Explanation
    from headgate.api.register import register
    from headgate.api.report import Report
    from headgate.api.results import Results
    from headgate.api.run import Run
    from headgate.client.client import Client
    from headgate.connect.sinks import SinkKind
    from headgate.connect.sources import SourceKind
    from headgate.errors import ApplicationError, ServerError
    from headgate.scheduling.policy import Decision, Policy, PolicyError
    from headgate.twin.advice import Advice

try:
    __version__ = version("headgate")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

_HOME = {
    "Advice": "headgate.twin.advice",
    "Application": "headgate.api.application",
    "ApplicationError": "headgate.errors",
    "Client": "headgate.client.client",
    "Decision": "headgate.scheduling.policy",
    "Explanation": "headgate.api.explanation",
    "Policy": "headgate.scheduling.policy",
    "PolicyError": "headgate.scheduling.policy",
    "Report": "headgate.api.report",
    "Results": "headgate.api.results",
    "Run": "headgate.api.run",
    "ServerError": "headgate.errors",
    "SinkKind": "headgate.connect.sinks",
    "SourceKind": "headgate.connect.sources",
    "load": "headgate.api.application",
    "register": "headgate.api.register",
}
_MODULES = {"sinks": "headgate.api.sinks", "sources": "headgate.api.sources"}

__all__ = [
    "Advice",
    "Application",
    "ApplicationError",
    "Client",
    "Decision",
    "Explanation",
    "Policy",
    "PolicyError",
    "Report",
    "Results",
    "Run",
    "ServerError",
    "SinkKind",
    "SourceKind",
    "__version__",
    "load",
    "register",
    "sinks",
    "sources",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'headgate' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
