"""Registers the user's own classes by name."""

from __future__ import annotations

from typing import Any, TypeVar

from headgate.connect.sinks import SINKS
from headgate.connect.sources import SOURCES
from headgate.extensions import Registry
from headgate.policies.registry import POLICIES

K = TypeVar("K", bound=type[Any])


def register(kind: K) -> K:
    """Make a policy, a source or a sink known by its name. Use it as a decorator.

    Files may then name it, once they list the module under `extensions`. ValueError: the class has no name, or
    another class has it.

    >>> import headgate as hg
    >>> @hg.register
    ... class Latest(hg.Policy):
    ...     name = "latest"
    ...     def choose(self, slot):
    ...         ready = self.view.ready()
    ...         return hg.Decision(ready[-1]) if ready else None
    >>> hg.Application(policy="latest")
    <Application: 0 streams, 0 tables, 0 classes, 0 queries>
    """
    registries: tuple[Registry[Any], ...] = (POLICIES, SOURCES, SINKS)
    for registry in registries:
        if isinstance(kind, type) and issubclass(kind, registry.base):
            registry.register(kind)
            return kind
    raise ValueError(f"{kind!r} is neither a policy nor a source nor a sink: derive it from one of their base classes")
