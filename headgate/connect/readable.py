"""Checks, before anything runs, that the files that an application reads are there and readable."""

from __future__ import annotations

import os
from pathlib import Path

from headgate.errors import ApplicationError, known_names

_START = "relative names start at the application's folder"


def check_readable(path: str, folder: Path, place: str) -> None:
    """Refuse a file that is not there or may not be read."""
    full = folder / path
    try:
        if full.is_dir():
            raise ApplicationError(place, f"'{path}' is a folder", "name a file in it")
        if not full.is_file():
            raise ApplicationError(place, f"there is no file '{path}' in {_shown(folder)}", _similar(full))
        readable = os.access(full, os.R_OK)
    except (OSError, ValueError) as error:
        raise ApplicationError(place, f"'{path}' is not a file name: {error}", "check the name") from error
    if not readable:
        raise ApplicationError(place, f"the file '{path}' cannot be read", "check its permissions")


def read_text(path: Path, place: str, what: str) -> str:
    """The text of a file; `what` says in an error what the file should be."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ApplicationError(place, f"cannot read '{path}'", f"it should be {what}") from error


def _shown(folder: Path) -> str:
    return "the current folder" if folder == Path() else f"'{folder}'"


def _similar(missing: Path) -> str:
    try:
        there = [entry.name for entry in missing.parent.iterdir() if entry.suffix == missing.suffix]
    except OSError:
        return _START
    hint = known_names("files", there, missing.name)
    return hint.split("?")[0] + "?" if "?" in hint else _START
