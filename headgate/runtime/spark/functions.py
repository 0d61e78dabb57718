"""User functions over Arrow batches, shipped to Spark's Python workers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import cloudpickle

from headgate.plan.errors import ApplicationError

Batches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def load_function(target: str) -> Callable[..., object]:
    """The callable that `module:name` names; raises ApplicationError when it cannot be had."""
    module_name, _, name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
        function = getattr(module, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ApplicationError(
            "function", f"cannot load '{target}': {error}", "name it as module:callable, importable from here"
        ) from error
    if not callable(function):
        raise ApplicationError("function", f"'{target}' is not callable", "name a Python function")
    # Shipped by value: the module of an application need not be installed on the workers.
    if module_name not in sys.stdlib_module_names:
        cloudpickle.register_pickle_by_value(module)
    return function


def arrow_function(target: str, columns: tuple[str, ...], stamps: tuple[str, ...]) -> Batches:
    """Wrap a user's function so that stamps go around it. Runs in Spark's Python workers."""
    function = load_function(target)

    def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = [i for i, name in enumerate(batch.schema.names) if name not in stamps]
            given = function(batch.select(kept))
            result, rows = given if isinstance(given, tuple) else (given, None)
            if rows is None and result.num_rows != batch.num_rows:
                raise ValueError(
                    f"{target} got {batch.num_rows} rows and gave {result.num_rows}; when rows are dropped or added "
                    "it must return (batch, rows) with the input row of each output row"
                )
            if missing := [name for name in columns if name not in result.schema.names]:
                raise ValueError(f"{target} gave no column {', '.join(missing)}; its schema promises it")
            stamped = batch.select(list(stamps))
            if rows is not None:
                stamped = stamped.take(pa.array(rows, pa.int64()))
            yield pa.RecordBatch.from_arrays(
                [result.column(name) for name in columns] + stamped.columns, names=[*columns, *stamps]
            )

    return call
