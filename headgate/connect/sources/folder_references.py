"""References to the parquet files of a folder."""

from __future__ import annotations

from typing import Any

from headgate.connect.sources.folder_files import FolderFiles, stamp_of
from headgate.connect.sources.parquet_references import MOST_FILES, ReadableFile, readable_file, refer_to_files
from headgate.scheduling.reference import Reference


class ParquetFolderFiles(FolderFiles):
    """Files that executors may read: as many of the next ones as have the very types of the stream."""

    _readable: dict[str, ReadableFile | None] | None = None  # of the files that come next

    def refer(self, place: Any, now: float, sequence: int, least: int, most: int) -> Reference | None:
        """See `ReferringReader`."""
        if not self._waiting:
            self._look(now)
        names = [*([place["file"]] if "file" in place else []), *self._waiting]
        known, self._readable = self._readable or {}, {}
        files: list[ReadableFile] = []
        for name in names[:MOST_FILES]:
            path = self._listing.folder / name
            found = self._readable[name] = known[name] if name in known else readable_file(path, self._context)
            if found is None:
                break
            files.append(found)
        if not files:
            return None
        row = files[0].row_at(place["at"]["group"], place["at"]["row"]) if "file" in place else 0
        return refer_to_files(self._context.stream.name, files, row, now, sequence, least, most)

    def go_to(self, reference: Reference) -> None:
        """See `ReferringReader`."""
        self._ahead = None
        self._end()
        assert self._seen is not None
        last = reference.parts[-1].place.rpartition("/")[2]
        while self._waiting and self._waiting[0] <= last:
            name = self._waiting.popleft()
            self._seen.add(name)
            self._read_last.append((name, stamp_of(self._listing.folder / name)))
        self._done = last
        self.ended = not self._watch and not self._waiting
