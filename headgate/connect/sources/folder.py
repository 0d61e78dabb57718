"""The files of a folder as one stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from headgate.connect.sources.base import Source, stored_columns
from headgate.connect.sources.folder_files import FolderFiles
from headgate.connect.sources.folder_references import ParquetFolderFiles
from headgate.connect.sources.formats import make_reader
from headgate.connect.sources.growing import GrowingReader
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.connect.sources.limits import make_limits
from headgate.connect.sources.listing import Listing
from headgate.connect.sources.live import LiveReader, LiveSource
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.settings.sections import Duration, Filled

_ENDINGS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
_PACKED = (".gz", ".bz2", ".zst", ".lz4")


class Folder(SourceKind):
    """The rows of all files of a folder, one file after another, in the order of their names.

    `path` is a folder, or a pattern for files in one: `logs/*.csv`. Every `interval` it is looked for new files, unless
    `watch` is off: then the stream ends with the last file that is there. A file must be complete when it gets its
    name; with `grows`, lines may be added to the files.
    """

    kind = "folder"
    path: Filled
    format: Literal["csv", "json", "parquet"] | None = None  # None: as the names of the files end
    header: bool = True
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    null: str = ""
    watch: bool = True
    grows: bool = False
    interval: Duration = 0.5

    def settings(self) -> dict[str, Any]:
        """See `Connector`."""
        return super().settings() | {"format": self._format()}

    @property
    def files(self) -> list[str]:
        """See `SourceKind`: the folder, since any file in it may be read."""
        return [str(Listing(Path(), self.path).folder)]

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """See `SourceKind`. The first file is looked into, if there is one."""
        if self._format() is None:
            remedy = "say format: csv, json or parquet, or use a pattern such as logs/*.csv"
            raise ApplicationError(f"{place}.format", "the format of the files is not known", remedy)
        if self.grows and self._format() == "parquet":
            remedy = "leave grows out: a parquet file is complete, or it cannot be read"
            raise ApplicationError(f"{place}.grows", "no lines can be added to a parquet file", remedy)
        listing = Listing(folder, self.path)
        if not listing.folder.is_dir():
            remedy = "make it, or name another; the files may come later"
            raise ApplicationError(f"{place}.path", f"there is no folder '{listing.folder}'", remedy)
        for name in listing.names()[:1]:
            columns = stored_columns(SourceContext(stream).schema)
            if not self.grows:
                make_reader(listing.folder / name, columns, self.settings(), f"{place}.path", ())

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`."""
        return LiveSource(self._reader(context, stored_columns(context.schema)), context)

    def _reader(self, context: SourceContext, columns: pa.Schema) -> LiveReader:
        times = context.times_seen()
        limits = make_limits(context.stream, times.latest if times else None)
        watch = self.watch and not context.sample
        whole = ParquetFolderFiles if self._format() == "parquet" else FolderFiles
        kind = GrowingReader if self.grows else whole
        return kind(Listing(context.folder, self.path), columns, self.settings(), limits, context, watch)

    def _format(self) -> str | None:
        if self.format is not None:
            return self.format
        name = Path(self.path)
        return _ENDINGS.get(name.with_suffix("").suffix if name.suffix in _PACKED else name.suffix)
