"""Reads an application file, checks it, and returns the application that a runtime takes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headgate.application.checked import CheckedApplication
from headgate.application.document import Document
from headgate.application.overrides import Override, apply_overrides, parse_override
from headgate.application.planner import check
from headgate.errors import ApplicationError

log = logging.getLogger("headgate.plan")


class Draft:
    """The sections of an application before they are checked.

    `data` may hold live connectors, too. A draft that was read from a file remembers that file, for errors.
    """

    def __init__(
        self, data: dict[str, Any], folder: Path = Path(), name: str = "", file: DraftFile | None = None
    ) -> None:
        self.data = data
        self.folder = folder
        self.name = name
        self._file = file

    def checked(self, data: dict[str, Any] | None = None, may_be_empty: bool = False) -> CheckedApplication:
        """The checked application, or that of `data`, a part of the draft. Raises ApplicationError."""
        file = self._file
        with self.located():
            path, line_of = (None, _no_line) if file is None else (file.path, file.document.line)
            given = self.data if data is None else data
            return check(given, self.folder, self.name, path, line_of, may_be_empty)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Add file and line to errors, including those that only come up in a run."""
        try:
            yield
        except ApplicationError as error:
            if self._file is not None and error.where is None:
                self._file.locate(error)
            raise


class DraftFile:
    """The file that a draft was read from, and the changes that were made to it."""

    def __init__(self, path: Path, document: Document, changes: Sequence[Override]) -> None:
        self.path = path
        self.document = document
        self._changes = changes

    def locate(self, error: ApplicationError) -> None:
        """Name the line, or the change, that an error is about."""
        _locate(error, self.path, self.document, self._changes)
        if self._changes and error.where and error.where.startswith(f"{self.path}:") and self._is_valid_alone():
            error.where = ", ".join(change.label for change in self._changes)

    def _is_valid_alone(self) -> bool:
        """Is the file valid without the changes? Then they cause the error, even at a place that they do not touch."""
        try:
            check(_mapping(self.document.data), self.path.parent, "", self.path, self.document.line)
        except ApplicationError:
            return False
        return True


def _no_line(place: str) -> int:
    return 0


def read_draft(path: str | Path, overrides: Sequence[str | Override] = ()) -> Draft:
    """The sections in a file, with `--set` style overrides. Raises ApplicationError when it is not YAML."""
    file = Path(path)
    changes = [parse_override(o) if isinstance(o, str) else o for o in overrides]
    text = _read(file)
    document: Document | None = None
    try:
        document = Document(text)
        data = apply_overrides(_mapping(document.data), changes)
    except ApplicationError as error:
        _locate(error, file, document, changes)
        raise
    return Draft(data, file.parent, str(file), DraftFile(file, document, changes))


def load_application(path: str | Path, overrides: Sequence[str | Override] = ()) -> CheckedApplication:
    """The application in a file, with `--set` style overrides applied before it is checked.

    Raises ApplicationError for one problem, with file and line (or the override) in `where`: the first in the file
    among those of shape (YAML, keys, types), else the first among those of meaning (names, files, columns).
    """
    app = read_draft(path, overrides).checked()
    for warning in app.plan.warnings:
        log.warning("%s: %s", path, warning)
    return app


@contextmanager
def located(path: str | Path, overrides: Sequence[str | Override] = ()) -> Iterator[None]:
    """Add file and line to errors that only come up in a run. For commands, around a run."""
    try:
        yield
    except ApplicationError as error:
        if error.where is None:
            changes = [parse_override(o) if isinstance(o, str) else o for o in overrides]
            _locate(error, Path(path), Document(_read(Path(path))), changes)
        raise


def _locate(error: ApplicationError, file: Path, document: Document | None, changes: Sequence[Override]) -> None:
    if not error.place.startswith("--"):
        line = error.line or (document.line(error.place) if document else 1)
        error.where = _label(error.place, changes) or f"{file}:{line}"


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ApplicationError(str(file), "there is no such file", "check the name") from error
    except UnicodeDecodeError as error:
        raise ApplicationError(str(file), "the file is not text", "an application file is YAML in UTF-8") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ApplicationError(str(file), f"cannot read the file: {reason}", "check the name") from error


def _mapping(data: Any) -> dict[str, Any]:
    if isinstance(data, dict):
        return data
    what = "the file is empty" if data is None else "this is not a mapping"
    raise ApplicationError("the file", what, "an application has the keys streams and queries, among others")


def _label(place: str, changes: Sequence[Override]) -> str | None:
    """The override that an error is about: it set the place, something around it or, failing those, inside it."""
    for change in reversed(changes):
        if f"{place}.".startswith(f"{change.place}."):
            return change.label
    return next((c.label for c in reversed(changes) if c.place.startswith(f"{place}.")), None)
