"""Where file sinks write: one file, or parts in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

_PART = re.compile(r"part-\d{5,}\.(csv|json)")  # Spark writes no files of such names


def is_single(path: Path, endings: Sequence[str]) -> bool:
    """Does the path name a file of its own, rather than a folder of parts?"""
    return path.suffix.lower() in endings


def is_part(path: Path) -> bool:
    """Is it a part, which a run that writes to its folder replaces?"""
    return _PART.fullmatch(path.name) is not None


def part(folder: Path, number: int, endings: Sequence[str]) -> Path:
    """The name of a part."""
    return folder / f"part-{number:05d}{endings[0]}"


def first_file(path: Path, endings: Sequence[str]) -> Path:
    """The file to begin with. Creates its folder; removes the parts of an earlier Headgate run, and no other file."""
    if is_single(path, endings):
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
    path.mkdir(parents=True, exist_ok=True)
    for entry in path.iterdir():
        if is_part(entry):
            entry.unlink()
    return part(path, 0, endings)


def current_file(path: Path, endings: Sequence[str], parts: int) -> Path:
    """The file to go on with after so many parts have been begun. Removes later parts."""
    if is_single(path, endings):
        return path
    known = {part(path, number, endings) for number in range(parts)}
    for entry in path.iterdir() if path.is_dir() else ():
        if is_part(entry) and entry not in known:
            entry.unlink()
    return part(path, parts - 1, endings)


def sync_file(path: str | Path) -> None:
    """Wait until a file is on its disk."""
    _sync(path, os.O_RDONLY)


def sync_folder(folder: Path) -> None:
    """Wait until the names of new files are on the disk."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: str | Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
