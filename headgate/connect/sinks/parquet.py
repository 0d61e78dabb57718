"""Results in a folder of Parquet files, one for each epoch."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs
from pydantic import Field

from headgate.connect.sinks.base import Shape
from headgate.connect.sinks.checks import refuse_repeated_names, refuse_whole_relation
from headgate.connect.sinks.kind import EpochSinkKind, SinkContext
from headgate.connect.sinks.lock import OutputLock, locked
from headgate.connect.sinks.output_files import sync_file, sync_folder
from headgate.errors import ApplicationError
from headgate.settings.sections import Duration, Filled

_FILE = re.compile(r"part-(\d{8,})-\d+\.parquet")
MOST_PARTITIONS = 10_000  # values of the partition columns in one epoch
_BESIDE = ".headgate-epoch"  # readers of folders skip such names


class Parquet(EpochSinkKind):
    """Results as Parquet files in a folder, one for each epoch. Readers see an epoch's file whole or not at all."""

    kind = "parquet"
    path: Filled  # of the folder; may be a URI that Arrow knows: s3://, hdfs://, gs://
    partition_by: list[Filled] = Field(default_factory=list)  # columns that become folders
    every: Duration = 10.0  # seconds; each time makes a file

    @property
    def files(self) -> list[str]:
        """See `SinkKind`."""
        return [] if "://" in self.path else [self.path]

    def connect(self, context: SinkContext) -> ParquetFolder:
        """See `EpochSinkKind`. A run that begins anew removes the files of the run before."""
        self._check(context.shape, context.place)
        if "://" in self.path:
            try:
                files, path = fs.FileSystem.from_uri(self.path)
            except ValueError as error:  # no such scheme
                remedy = "use file, s3, gs or hdfs, or a path without a scheme"
                raise ApplicationError(f"{context.place}.path", str(error), remedy) from None
            return ParquetFolder(files, path, self.partition_by, anew=context.resume is None)
        local = context.folder / self.path
        lock = locked(local, context.application)
        with lock.released_on_failure():
            return ParquetFolder(fs.LocalFileSystem(), str(local), self.partition_by, context.resume is None, lock)

    def _check(self, shape: Shape, place: str) -> None:
        refuse_whole_relation(shape, place, self.kind)
        refuse_repeated_names(shape, place, self.kind)
        for name in self.partition_by:
            if name not in shape.names:
                known = f"known: {', '.join(shape.names)}"
                raise ApplicationError(f"{place}.partition_by", f"the results have no column '{name}'", known)
        if len(self.partition_by) >= len(shape.names):
            raise ApplicationError(f"{place}.partition_by", "no column is left for the files", "leave one out")


class ParquetFolder:
    """An `EpochSink`: the file `part-00000042-0.parquet` holds epoch 42. In partitions, there is one in each folder.

    Files are written beside their place and renamed. On S3, which has no renaming, they are copied.
    """

    def __init__(
        self, files: fs.FileSystem, path: str, partition_by: list[str], anew: bool, lock: OutputLock | None = None
    ) -> None:
        self._files = files
        self._path = path
        self._partition_by = partition_by
        self._lock = lock
        self._local = isinstance(files, fs.LocalFileSystem)
        files.create_dir(path)
        self._remove_beside()
        if anew:
            for file in self._written():
                files.delete_file(file.path)

    @property
    def last_epoch(self) -> int:
        """See `EpochSink`."""
        numbers = [_FILE.fullmatch(file.base_name) for file in self._written()]
        return max((int(found[1]) for found in numbers if found), default=0)

    def commit(self, epoch: int, table: pa.Table) -> None:
        """See `EpochSink`. An epoch of which some files are missing, after a crash, gets them."""
        beside = f"{self._path}/{_BESIDE}"
        self._remove_beside()
        self._files.create_dir(beside)
        self._write(table, beside, f"part-{epoch:08d}-{{i}}.parquet")
        for file in self._files.get_file_info(fs.FileSelector(beside, recursive=True)):
            if file.type == fs.FileType.File:
                self._put_in_place(file.path, self._path + file.path.removeprefix(beside))
        self._remove_beside()

    def close(self) -> None:
        """See `EpochSink`."""
        if self._lock is not None:
            self._lock.release()

    def _write(self, table: pa.Table, folder: str, names: str) -> None:
        columns = pa.schema([table.schema.field(name) for name in self._partition_by])
        ds.write_dataset(
            table,
            folder,
            filesystem=self._files,
            format="parquet",
            partitioning=ds.partitioning(columns, flavor="hive"),
            basename_template=names,
            use_threads=False,
            max_partitions=MOST_PARTITIONS,
        )

    def _put_in_place(self, beside: str, path: str) -> None:
        if self._files.get_file_info(path).type == fs.FileType.File:
            return  # committed before
        folder = path.rpartition("/")[0]
        self._files.create_dir(folder)
        if self._local:
            sync_file(beside)
        self._files.move(beside, path)
        if self._local:
            for up in (Path(folder), *Path(folder).parents):
                sync_folder(up)
                if up == Path(self._path):
                    break

    def _written(self) -> list[fs.FileInfo]:
        found = self._files.get_file_info(fs.FileSelector(self._path, recursive=bool(self._partition_by)))
        return [file for file in found if file.type == fs.FileType.File and _FILE.fullmatch(file.base_name)]

    def _remove_beside(self) -> None:
        if self._files.get_file_info(f"{self._path}/{_BESIDE}").type == fs.FileType.Directory:
            self._files.delete_dir(f"{self._path}/{_BESIDE}")
