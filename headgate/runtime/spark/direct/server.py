"""Direct calls: the code that Spark planned and generated, run by threads of the driver's JVM without a Spark job.

A prepared plan is one partition without exchanges, so any thread that has a task context can iterate its RDD. Left out
are the scheduling of jobs, the serialization of tasks and the result server. `DirectCalls.java` does this behind a Unix
socket. Janino, which Spark carries for its generated code, compiles it when Spark starts: no jar, no build step.

This depends on Spark internals, so it is tried when Spark is set up; where it does not work, calls are prepared jobs.
"""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.sql import DataFrame, SparkSession

from headgate.runtime.spark.launch.session import goes_with_spark

log = logging.getLogger("headgate.spark")

LONGEST_PATH = 100  # bytes in the path of a socket; systems allow 104 to 108
SHORT_FOLDERS = ("/tmp", "/dev/shm")  # where the socket goes if the path of the usual folder is too long

_REPLACE, _APPEND, _REMOVE, _MOVE = range(4)  # as in DirectCalls.java
_REQUEST = struct.Struct(">iiii")
_HEAD = struct.Struct(">iiqq")
_CHANGE = struct.Struct(">iiq")


class DirectError(RuntimeError):
    """Plans cannot be run directly on this JVM or with this version of Spark; the message says why."""


class CallInterrupted(RuntimeError):
    """A direct call was ended from outside; the message says why."""


class Change(NamedTuple):
    """A change to a leaf of a plan, made just before a call."""

    kind: int
    leaf: int
    argument: int
    payload: Any = None  # a buffer


def replace(leaf: int, payload: Any) -> Change:
    """The leaf holds this serialized batch from now on."""
    return Change(_REPLACE, leaf, len(payload), payload)


def append(leaf: int, payload: Any) -> Change:
    """A serialized batch joins a log."""
    return Change(_APPEND, leaf, len(payload), payload)


def remove(leaf: int, position: int) -> Change:
    """The batch at a position leaves a log."""
    return Change(_REMOVE, leaf, position)


def move(leaf: int, source: int) -> Change:
    """The batch that another leaf holds now joins a log; no bytes are sent."""
    return Change(_MOVE, leaf, source)


class DirectServer:
    """The server in the JVM, and a connection for each thread that makes calls."""

    def __init__(self, session: SparkSession, places: int | None = None) -> None:
        self._places = None if places is None else threading.BoundedSemaphore(places)
        self._folder = _socket_folder()
        goes_with_spark(session, self._folder)  # even if this process is killed
        self.path = str(self._folder / "calls")
        self._session = session
        self._numbers = itertools.count(1)
        self._own = threading.local()
        self._connections: set[socket.socket] = set()
        self._in_call: set[socket.socket] = set()
        self._interrupted: dict[socket.socket, str] = {}  # connections whose call is to end, and why
        try:
            self._java = _started(session, self.path)
        except (Py4JError, OSError) as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise DirectError(f"the helper does not compile on this JVM with this Spark: {_reason(error)}") from error

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Take one of the places for calls, if one is free: if not, False, and the call should be a job."""
        free = self._places is None or self._places.acquire(blocking=False)
        try:
            yield free
        finally:
            if free and self._places is not None:
                self._places.release()

    def register(self, frame: DataFrame, leaves: Sequence[tuple[Any, Any]], counters: Sequence[Any]) -> int:
        """Make a plan known; returns its number. A leaf is its array or Vector in the JVM, with the partition of a log.

        The frame must be for direct calls alone: a plan that has been run directly cannot be sent as a job any more.
        """
        gateway: Any = self._session.sparkContext._gateway
        jdf: Any = frame._jdf
        rdd = jdf.toArrowBatchRdd(jdf.queryExecution().executedPlan())
        number = next(self._numbers)
        arrays = [_array(gateway, items) for items in ([leaf for leaf, _ in leaves], [part for _, part in leaves])]
        self._java.register(number, rdd, *arrays, _array(gateway, counters))
        return number

    def forget(self, plan: int) -> None:
        """Let go of a plan."""
        self._java.forget(plan)

    def call(
        self, plan: int, changes: Sequence[Change], schema: pa.Schema, interpreted: bool = False
    ) -> tuple[pa.Table, tuple[int, ...]]:
        """Change the leaves of a plan, run it, and return its rows and the values of its counters.

        With the plan comes generated code. But some operators generate a little more when they start, such as how to
        copy a group's key, and for few rows that takes longer than the rows: `interpreted` makes them do without.

        Raises what Spark raises, as a job would. ConnectionError: the JVM is gone.
        """
        status, counters, number, body = self._exchange(plan, changes, interpreted)
        if status:
            with unwrap_spark_exception():
                self._java.rethrow(number)
        return _table(memoryview(body)[8 * counters :], schema), struct.unpack_from(f">{counters}q", body)

    def _exchange(self, plan: int, changes: Sequence[Change], interpreted: bool) -> tuple[int, int, int, bytearray]:
        """Send a request and receive the reply: its status, number of counters, number, and what follows."""
        payloads = [change.payload for change in changes if change.payload is not None]
        parts = [_CHANGE.pack(change.kind, change.leaf, change.argument) for change in changes]
        head = _REQUEST.pack(12 + _CHANGE.size * len(parts), plan, interpreted, len(parts))
        connection = self._connection()
        self._in_call.add(connection)
        try:
            _send(connection, [head + b"".join(parts), *payloads])
            status, counters, number, length = _HEAD.unpack(_receive(connection, _HEAD.size))
            return status, counters, number, _receive(connection, 8 * counters + length)
        except BaseException as error:  # what comes next on this connection would belong to this call
            reason = self._drop(connection)
            if isinstance(error, OSError) and reason is not None:
                raise CallInterrupted(reason) from None
            raise
        finally:
            self._in_call.discard(connection)

    def interrupt(self, reason: str) -> None:
        """End the calls in flight with CallInterrupted. As with a job that is canceled, Spark's code goes on until it
        next looks whether it should; nobody waits for it."""
        for connection in list(self._in_call):
            self._interrupted[connection] = reason
            with suppress(OSError):  # the call has just ended
                connection.shutdown(socket.SHUT_RDWR)
        self._java.interrupt(reason)

    def close(self) -> None:
        """End all connections. A JVM that is gone has ended them."""
        for connection in list(self._connections):
            connection.close()
        try:
            self._java.close()
        except (Py4JError, OSError):
            log.debug("the server of direct calls had ended before it was closed", exc_info=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _connection(self) -> socket.socket:
        """This thread's own."""
        found: socket.socket | None = getattr(self._own, "connection", None)
        if found in self._interrupted:  # its last call had just ended
            self._drop(found)
            found = None
        if found is None:
            found = self._own.connection = socket.socket(socket.AF_UNIX)
            found.connect(self.path)
            self._connections.add(found)
        return found

    def _drop(self, connection: socket.socket) -> str | None:
        """Close this thread's connection; returns why its call was interrupted, if it was."""
        self._connections.discard(connection)
        del self._own.connection
        connection.close()
        return self._interrupted.pop(connection, None)


def _socket_folder() -> Path:
    """A folder that only this user may enter, with a path that is short enough for a socket in it."""
    for parent in (None, *filter(os.path.isdir, SHORT_FOLDERS)):  # None: where temporary files belong
        folder = Path(tempfile.mkdtemp(prefix="headgate-direct-", dir=parent))
        if len(os.fsencode(folder / "calls")) <= LONGEST_PATH:
            return folder
        folder.rmdir()
    raise DirectError("the path of the folder for temporary files is too long for a socket")


def _started(session: SparkSession, path: str) -> Any:
    """A server in the JVM, listening."""
    gateway: Any = session.sparkContext._gateway
    compiling, interpreting = _properties(session), _properties(session)
    interpreting.setProperty("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    given = [path, _memory_manager(gateway.jvm), compiling, interpreting]
    return _constructor(gateway.jvm).newInstance(_array(gateway, given))


@lru_cache(maxsize=1)
def _constructor(jvm: Any) -> Any:
    """Compiled once per JVM, because py4j remembers methods by the name of their class."""
    source = files(__package__).joinpath("DirectCalls.java").read_text(encoding="utf-8")
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(source)
    kind = compiler.getClassLoader().loadClass("headgate.DirectCalls")
    return next(one for one in kind.getConstructors() if one.getParameterCount() == 4)


def _properties(session: SparkSession) -> Any:
    """The session's settings, as a task of one of its jobs would find them."""
    jvm: Any = session._jvm
    found = jvm.java.util.Properties()
    conf = session._jsparkSession.sessionState().conf()
    found.putAll(jvm.scala.jdk.javaapi.CollectionConverters.asJava(conf.getAllConfs()))
    return found


def _memory_manager(jvm: Any) -> Any:
    """Spark's own, through method handles: reflection on SparkEnv needs a class that the pip distribution lacks."""
    handles, kind = jvm.java.lang.invoke.MethodHandles, jvm.java.lang.invoke.MethodType
    environment = jvm.java.lang.Class.forName("org.apache.spark.SparkEnv")
    memory = jvm.java.lang.Class.forName("org.apache.spark.memory.MemoryManager")
    get = handles.publicLookup().findStatic(environment, "get", kind.methodType(environment))
    of = handles.publicLookup().findVirtual(environment, "memoryManager", kind.methodType(memory))
    return handles.filterReturnValue(get, of).invokeWithArguments(jvm.java.util.ArrayList())


def _array(gateway: Any, items: Sequence[Any]) -> Any:
    made = gateway.new_array(gateway.jvm.java.lang.Object, len(items))
    for position, item in enumerate(items):
        if item is not None:
            made[position] = item
    return made


def _send(connection: socket.socket, parts: list[Any]) -> None:
    """All of it, without copying it together."""
    views = [memoryview(part) for part in parts]
    while views:
        sent = connection.sendmsg(views[:64])
        while views and sent >= views[0].nbytes:
            sent -= views.pop(0).nbytes
        if sent:
            views[0] = views[0].cast("B")[sent:]


def _receive(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view, got = memoryview(data), 0
    while got < size:
        read = connection.recv_into(view[got:])
        if not read:
            raise ConnectionResetError("Spark's JVM ended during a direct call")
        got += read
    return data


def _table(data: memoryview, schema: pa.Schema) -> pa.Table:
    """Serialized batches, one behind the other, as a table."""
    reader = pa.BufferReader(pa.py_buffer(data))
    batches = []
    while reader.tell() < len(data):
        batches.append(pa.ipc.read_record_batch(pa.ipc.read_message(reader), schema))
    return pa.Table.from_batches(batches, schema=schema)


def _reason(error: Exception) -> str:
    text = str(error)
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getMessage() is None and cause.getCause() is not None:
            cause = cause.getCause()
        text = str(cause.toString())
    return (text.splitlines() or [type(error).__name__])[0]
