"""Loads what a user's own modules define; modules beside the application are found as well."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headgate.errors import ApplicationError


@contextmanager
def first_in_path(folder: Path) -> Iterator[None]:
    """Let a module beside the application import its neighbors."""
    name = str(folder.resolve())
    sys.path.insert(0, name)
    try:
        yield
    finally:
        sys.path.remove(name)


def load_named(target: str, folder: Path, place: str) -> Any:
    """What `module:name` names. ApplicationError: there is no such thing, or the module cannot be imported."""
    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise ApplicationError(place, f"'{target}' names nothing", "write it as module:Name")
    try:
        with first_in_path(folder):
            module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # an import may fail in any way
        said = " ".join(str(error).split())
        problem = f"'{module_name}' cannot be imported: {type(error).__name__}: {said}"
        raise ApplicationError(place, problem, f"modules are looked for in {folder.resolve()} first") from error
    if not hasattr(module, name):
        problem = f"module '{module_name}' has no '{name}'"
        raise ApplicationError(place, problem, "write it as module:Name, with a name that the module defines")
    return getattr(module, name)
