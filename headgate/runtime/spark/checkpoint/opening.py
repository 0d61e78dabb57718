"""Opens the checkpoints of an application at the start of a run: what it goes on from, or that it begins anew."""

from __future__ import annotations

import logging
from typing import NamedTuple

from pyspark.sql import SparkSession

from headgate.application.checked import CheckedApplication, CheckpointSettings
from headgate.connect.sinks import EpochSinkKind, OutputInUse
from headgate.errors import ApplicationError
from headgate.runtime.spark.checkpoint.files import CheckpointInUse, open_files
from headgate.runtime.spark.checkpoint.resumed import Resumed, resume
from headgate.runtime.spark.checkpoint.store import CheckpointDamaged, CheckpointStore, Saved

log = logging.getLogger("headgate.checkpoint")

_PLACE = "checkpoint"


class Opened(NamedTuple):
    """The checkpoints of a run, locked against others, and what it goes on from, if there is any."""

    store: CheckpointStore
    resumed: Resumed | None


def open_checkpoints(
    app: CheckedApplication, settings: CheckpointSettings, spark: SparkSession, fresh: bool = False
) -> Opened:
    """Find out what a run goes on from. With `fresh` that is nothing, and the checkpoints stay where they are.

    ApplicationError: they cannot be read or written, another run uses them, or the application has changed.
    """
    try:
        store = CheckpointStore(open_files(settings.path, app.folder, app.name, spark), settings.keep)
    except (CheckpointInUse, OutputInUse) as error:
        raise ApplicationError(_PLACE, str(error), "wait for it, stop it, or use another path") from error
    except OSError as error:
        remedy = "name a folder where Headgate may write, or a URI such as hdfs://host/folder"
        raise ApplicationError(_PLACE, f"checkpoints cannot be kept there: {error}", remedy) from error
    try:
        resumed = None if fresh else _resumed(app, store)
    except OSError as error:
        store.close()
        raise ApplicationError(_PLACE, f"the latest checkpoint cannot be read: {error}") from error
    except BaseException:
        store.close()
        raise
    return Opened(store, resumed)


def _resumed(app: CheckedApplication, store: CheckpointStore) -> Resumed | None:
    numbers = store.numbers()
    if not numbers:
        return None
    try:
        saved = store.load(numbers[-1])
    except CheckpointDamaged as error:
        saved = _one_before(app, store, numbers, error)
    return resume(app, saved)


def _one_before(
    app: CheckedApplication, store: CheckpointStore, numbers: list[int], problem: CheckpointDamaged
) -> Saved:
    """The checkpoint before a damaged one, if going back to it gives every result exactly once.

    It does not where results were committed for the damaged one: the target leaves out epochs that it has, and what the
    run gives now need not be cut into the same epochs.
    """
    remedy = "restore the folder from a backup, or start over with --fresh"
    committed = [query.name for query in app.plan.queries.values() if isinstance(query.connector, EpochSinkKind)]
    if committed:
        what = f"{problem}; going back to an earlier one could repeat or lose results of {', '.join(committed)}"
        raise ApplicationError(_PLACE, what, remedy) from problem
    if len(numbers) < 2:
        raise ApplicationError(_PLACE, f"{problem}; there is none before it", remedy) from problem
    try:
        saved = store.load(numbers[-2])
    except CheckpointDamaged as error:
        raise ApplicationError(_PLACE, f"{problem}; {error}", remedy) from error
    log.warning("%s; going back to checkpoint %d of %s", problem, saved.number, saved.written)
    store.discard_newest()
    return saved
