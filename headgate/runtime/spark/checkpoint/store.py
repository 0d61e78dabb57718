"""The checkpoints in a folder: written whole or not at all, numbered, the latest few kept.

`checkpoint-NNNNNNNN.json` is a checkpoint: a line with its checksum, then a line with the state as JSON and the places
of its tables in the files `data-NNNNNNNN.arrows`. It exists once it has been renamed into place.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import weakref
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from headgate.runtime.spark.checkpoint.files import Files
from headgate.runtime.spark.checkpoint.packs import (
    PackFile,
    PackWriter,
    Place,
    checksum,
    packs_to_write_again,
    read_table,
)
from headgate.runtime.spark.checkpoint.tree import Rows, put_together, take_apart
from headgate.scheduling.queue import FiledRows

log = logging.getLogger("headgate.checkpoint")

FORMAT = 1  # of the files; one that this version does not know is refused
_MANIFEST = re.compile(r"checkpoint-(\d{8,})\.json")
_PACK = re.compile(r"data-(\d{8,})\.arrows")


class CheckpointDamaged(ValueError):
    """A checkpoint cannot be read; the message says what is wrong with which file."""


class Saved(NamedTuple):
    """A checkpoint that was read."""

    number: int
    written: str  # date and time
    version: str  # of Headgate
    state: Any


class Written(NamedTuple):
    """A checkpoint that was written."""

    number: int
    bytes: int  # written for it; tables that were there already do not count
    state_bytes: int  # all that it refers to


class _Contents(NamedTuple):
    """A manifest."""

    head: dict[str, Any]
    packs: dict[str, PackFile]
    places: list[Place]
    state: Any


class CheckpointStore:
    """Writes checkpoints into a folder and reads them. One per run; used by one thread at a time."""

    def __init__(self, files: Files, keep: int = 3) -> None:
        self._files = files
        self._keep = keep
        self._next = max([0, *self.numbers()]) + 1
        self._packs: dict[str, PackFile] = {}  # those of the latest checkpoint
        self._stored: dict[int, tuple[weakref.ref[pa.Table], Place]] = {}  # by the address of a table
        self._used: dict[int, set[str]] = {}  # checkpoint -> its files, of those that are kept

    def numbers(self) -> list[int]:
        """The checkpoints that are there, oldest first."""
        return sorted(int(found[1]) for name in self._files.names() if (found := _MANIFEST.fullmatch(name)))

    def load(self, number: int) -> Saved:
        """Read a checkpoint, to go on from it. CheckpointDamaged; OSError."""
        contents = self._contents(number)
        tables = self._read(contents)
        self._packs = contents.packs
        self._stored = {id(t): (weakref.ref(t), at) for t, at in zip(tables, contents.places, strict=True)}
        for older in self.numbers():
            if older <= number:
                self._used[older] = self._packs_of(older)
        head = contents.head
        return Saved(number, head["written"], head["headgate"], put_together(contents.state, tables))

    def write(self, state: Any) -> Written:
        """Write a checkpoint; it is durable when this returns. OSError, SpillError: it is not there."""
        number, (plain, rows) = self._next, take_apart(state)
        manifest, pack = _manifest_name(number), f"data-{number:08d}.arrows"
        stored = self._known(rows)
        scratch = self._files.scratch
        with PackWriter(scratch / f".{pack}.new", pack) as writer:
            places = [self._place(one, stored, writer) for one in rows]
        packs = {name: self._packs[name] for name in {at.pack for at in places} if name != pack}
        if writer.bytes:
            packs[pack] = writer.whole
            self._files.put(scratch / f".{pack}.new", pack)
        else:
            (scratch / f".{pack}.new").unlink()
        size = self._put_manifest(manifest, packs, places, plain)
        self._next += 1
        self._packs, self._used[number] = packs, packs.keys() | {manifest}
        self._stored = {
            id(one): (weakref.ref(one), at)
            for one, at in zip(rows, places, strict=True)
            if not isinstance(one, FiledRows)
        }
        self._clean()
        return Written(number, writer.bytes + size, sum(at.bytes for at in places) + size)

    def discard_newest(self) -> None:
        """Remove the newest checkpoint: it is damaged, and the run goes on from the one before."""
        self._files.remove(_manifest_name(self.numbers()[-1]))

    def clear(self) -> int:
        """Remove all checkpoints; returns how many there were."""
        numbers = self.numbers()
        for name in self._files.names():
            if _MANIFEST.fullmatch(name):
                self._files.remove(name)
        self._remove_packs(set())
        return len(numbers)

    def close(self) -> None:
        """Let another run use the folder."""
        self._files.close()

    # Reading -----------------------------------------------------------------------------------------------------

    def _contents(self, number: int) -> _Contents:
        name = _manifest_name(number)
        with self._files.local(name) as path:
            text = path.read_bytes()
        first, _, body = text.partition(b"\n")
        try:
            seal = json.loads(first)
            form, expected = seal["format"], seal["sha256"]
        except (ValueError, KeyError, TypeError):
            raise CheckpointDamaged(f"{name} is not a checkpoint, or its beginning is damaged") from None
        if form != FORMAT:
            raise CheckpointDamaged(f"{name} has format {form}; this version of Headgate reads format {FORMAT}")
        if hashlib.sha256(body).hexdigest() != expected:
            raise CheckpointDamaged(f"{name} is damaged: its checksum is wrong")
        data = json.loads(body)
        packs = {pack: PackFile(*found) for pack, found in data["packs"].items()}
        return _Contents(data, packs, [Place(*one) for one in data["tables"]], data["state"])

    def _packs_of(self, number: int) -> set[str]:
        """The files of a checkpoint, with its own; if it is damaged, it needs none."""
        try:
            return {_manifest_name(number), *self._contents(number).packs}
        except CheckpointDamaged:
            return {_manifest_name(number)}

    def _read(self, contents: _Contents) -> list[pa.Table]:
        tables: dict[Place, pa.Table] = {}
        for pack, expected in contents.packs.items():
            if pack not in self._files.names():
                raise CheckpointDamaged(f"{pack} is missing")
            with self._files.local(pack) as path:
                if checksum(path) != expected:
                    raise CheckpointDamaged(f"{pack} is damaged: its length or its checksum is wrong")
                with path.open("rb") as file:
                    tables |= {at: read_table(file, at) for at in contents.places if at.pack == pack}
        return [tables[at] for at in contents.places]

    # Writing -----------------------------------------------------------------------------------------------------

    def _known(self, rows: Iterable[Rows]) -> dict[int, Place]:
        """Where tables are stored that need not be written, by their addresses."""
        found: dict[int, Place] = {}
        for one in rows:
            table, at = self._stored.get(id(one), (lambda: None, None))
            if at is not None and table() is one:
                found[id(one)] = at
        needed: Counter[str] = Counter()
        for at in found.values():
            needed[at.pack] += at.bytes
        again = packs_to_write_again({pack: one.bytes for pack, one in self._packs.items()}, needed)
        return {address: at for address, at in found.items() if at.pack not in again}

    @staticmethod
    def _place(one: Rows, stored: dict[int, Place], writer: PackWriter) -> Place:
        if id(one) not in stored:
            stored[id(one)] = writer.add(one.table() if isinstance(one, FiledRows) else one)
        return stored[id(one)]

    def _put_manifest(self, name: str, packs: dict[str, PackFile], places: list[Place], plain: Any) -> int:
        now = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
        data = {"headgate": version("headgate"), "written": now, "packs": packs, "tables": places, "state": plain}
        body = json.dumps(data, separators=(",", ":")).encode()
        seal = {"format": FORMAT, "sha256": hashlib.sha256(body).hexdigest()}
        written: Path = self._files.scratch / f".{name}.new"
        written.write_bytes(json.dumps(seal).encode() + b"\n" + body)
        self._files.hold()
        self._files.put(written, name)
        return len(body)

    def _clean(self) -> None:
        """Remove checkpoints that are too old, and files that none of the others needs. A failure is only logged."""
        try:
            for number in self.numbers()[: -self._keep]:
                self._files.remove(_manifest_name(number))
                self._used.pop(number, None)
            self._remove_packs(set().union(*self._used.values()))
        except OSError as error:
            log.warning("old checkpoints could not be removed: %s", error)

    def _remove_packs(self, needed: set[str]) -> None:
        for name in self._files.names():
            if _PACK.fullmatch(name) and name not in needed:
                self._files.remove(name)


def _manifest_name(number: int) -> str:
    return f"checkpoint-{number:08d}.json"
