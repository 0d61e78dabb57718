"""User functions over Arrow batches, run in Spark's Python workers."""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from headgate.errors import ApplicationError

_LIMIT = "time_limit"
_GRACE_S = 5.0  # how long a function may go on after its time limit before its worker is ended
Batches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def show_functions(folder: Path) -> None:
    """Make the folder of the application file importable, for user functions."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def load_function(target: str) -> Callable[..., object]:
    """The callable named by `module:name`. ApplicationError: it cannot be loaded or is not callable."""
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
    # Pickled by value, so that the application's module need not be installed on the workers.
    if module_name not in sys.stdlib_module_names:
        cloudpickle.register_pickle_by_value(module)
    return function


def arrow_function(target: str, schema: pa.Schema, stamps: tuple[str, ...], limit_s: float) -> Batches:
    """Wrap a user's function for Spark's Python workers.

    The function does not see the stamps, its errors name it, and it may take `limit_s` for one batch.
    """
    function = load_function(target)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # Headgate need not be installed there either

    def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pa.array([0])  # makes Arrow import pandas now, outside the function's time limit
        for batch in batches:
            kept = [i for i, name in enumerate(batch.schema.names) if name not in stamps]
            with _guarded(target, limit_s):
                given = function(batch.select(kept))
            result, rows = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
            if not isinstance(result, pa.RecordBatch):
                raise TypeError(
                    f"function {target} returned a {type(result).__name__} instead of a pyarrow.RecordBatch"
                )
            if rows is None and result.num_rows != batch.num_rows:
                raise ValueError(
                    f"{target} got {batch.num_rows} rows and returned {result.num_rows}; to drop or add rows "
                    "it must return (batch, rows) with the input row of each output row"
                )
            columns = [_column(result, field, target) for field in schema]
            stamped = batch.select(list(stamps))
            if rows is not None:
                stamped = _input_stamps(stamped, rows, result.num_rows, target)
            yield pa.RecordBatch.from_arrays(columns + stamped.columns, names=[*schema.names, *stamps])

    return call


def took_too_long(error: Exception) -> bool:
    """Did a call fail because a function exceeded its time limit?"""
    return f"({_LIMIT})" in str(error)


@contextmanager
def _guarded(target: str, limit_s: float) -> Iterator[None]:
    """Surround a call of a user's function: errors name the function, and it is stopped at its time limit.

    A signal interrupts Python code. Native code that holds the interpreter gets no signal; a watchdog that does not
    need the interpreter then ends the worker silently, and Spark starts another.
    """

    def too_long(*_: object) -> None:
        raise TimeoutError(f"it took longer than {limit_s:g} s ({_LIMIT})")

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, too_long) if main else None
    nowhere = os.open(os.devnull, os.O_WRONLY)  # for the stack of the function that the watchdog ends
    try:
        if main:
            signal.setitimer(signal.ITIMER_REAL, limit_s)
        faulthandler.dump_traceback_later(limit_s + _GRACE_S, exit=True, file=nowhere)
        yield
    except GeneratorExit:
        raise
    except BaseException as error:  # SystemExit too: it would end the worker silently
        reason = f"{type(error).__name__}: {error}".rstrip(": ").replace("\n", " ")
        raise RuntimeError(f"function {target} failed: {reason}") from error
    finally:
        faulthandler.cancel_dump_traceback_later()
        os.close(nowhere)
        if main:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _column(result: pa.RecordBatch, field: pa.Field, target: str) -> pa.Array:
    """A column of the type that the schema declares. Numbers may have another width if every value fits."""
    at = result.schema.get_field_index(field.name)
    if at < 0:
        raise ValueError(f"function {target} returned no column {field.name}, which its schema declares")
    column = result.column(at)
    if column.type == field.type:
        return column
    try:
        if not _same_kind(column.type, field.type):
            raise TypeError
        return column.cast(field.type)
    except (pa.ArrowException, TypeError):
        problem = f"function {target} returned column {field.name} as {column.type}; its schema declares {field.type}"
        raise TypeError(problem) from None


def _same_kind(given: pa.DataType, promised: pa.DataType) -> bool:
    kinds: tuple[Callable[[pa.DataType], bool], ...] = (
        pa.types.is_integer,
        lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind),
        lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
        lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
        pa.types.is_timestamp,
        pa.types.is_decimal,
        pa.types.is_nested,
    )
    narrows = pa.types.is_integer(promised) and pa.types.is_floating(given)
    return pa.types.is_null(given) or (not narrows and any(kind(given) and kind(promised) for kind in kinds))


def _input_stamps(stamped: pa.RecordBatch, rows: Any, expected: int, target: str) -> pa.RecordBatch:
    """The stamps of the input rows that a function names, one per output row."""
    try:
        named = pa.array(rows, pa.int64())
        if len(named) != expected or named.null_count:
            raise ValueError(f"{len(named)} rows for {expected}")
        return stamped.take(named)
    except (pa.ArrowException, ValueError, TypeError) as error:
        problem = (
            f"function {target}: (batch, rows) must name one input row, by its number, for each output row: {error}"
        )
        raise ValueError(problem) from None
