"""`extensions`: a user's own Python files and modules, which register policies, sources and sinks when imported."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from headgate.connect.imports import first_in_path
from headgate.connect.readable import check_readable
from headgate.errors import ApplicationError

_loaded: dict[Path, ModuleType] = {}  # a file runs once per process, however often its application is checked


def load_extensions(data: Any, folder: Path) -> None:
    """Import an application's extensions before its kinds and policies are looked up. ApplicationError: one fails.

    A value that is not a list of texts is reported later, when the sections are checked.
    """
    names = data.get("extensions") if isinstance(data, dict) else None
    for index, name in enumerate(names if isinstance(names, list) else ()):
        if isinstance(name, str) and name.strip():
            _load(name, folder, f"extensions.{index}")


def _load(name: str, folder: Path, place: str) -> None:
    if name.endswith(".py"):
        check_readable(name, folder, place)
    try:
        if name.endswith(".py"):
            _run((folder / name).resolve())
        else:
            with first_in_path(folder):
                importlib.import_module(name)
    except (Exception, SystemExit) as error:  # an import may fail in any way
        said = " ".join(str(error).split())
        raise ApplicationError(place, f"'{name}' cannot be loaded: {type(error).__name__}: {said}") from error


def _run(file: Path) -> None:
    if file in _loaded:
        return
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(file.stem, module)  # pickles and type hints look it up by its name
    with first_in_path(file.parent):
        spec.loader.exec_module(module)
    _loaded[file] = module
