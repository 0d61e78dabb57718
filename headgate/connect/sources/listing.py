"""Which files a folder has."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

_UNFINISHED = (".", "_")  # how names begin, by custom, of files that nobody should read yet


class Listing:
    """The files that a path means: a folder, or a pattern for the names of files in one."""

    def __init__(self, base: Path, path: str) -> None:
        full = base / path
        whole = full.is_dir() or not any(sign in full.name for sign in "*?[")
        self.folder = full if whole else full.parent
        self._pattern = "*" if whole else full.name

    def names(self) -> list[str]:
        """Their names in order. OSError: the folder cannot be read."""
        with os.scandir(self.folder) as entries:
            return sorted(entry.name for entry in entries if self._fits(entry.name) and entry.is_file())

    def _fits(self, name: str) -> bool:
        return not name.startswith(_UNFINISHED) and fnmatchcase(name, self._pattern)
