"""Ends a command cleanly when something outside ends it: signals, a closed or full standard output, a dead JVM.

In every case the command leaves no process and no folder behind, prints one line, and exits with a code of its own.
Imports little, so that it takes effect before anything slow is imported.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EIO, ENOSPC
from types import FrameType
from typing import Any, NoReturn, TypeGuard

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOST = 1  # exit code when something outside failed: Spark's JVM, or the file behind standard output
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


class Interrupted(BaseException):
    """A signal asks the command to end. Not an Exception, and not a KeyboardInterrupt: libraries catch those."""

    def __init__(self, number: int) -> None:
        super().__init__(_WORDS[signal.Signals(number)])


class Signals:
    """What signals do to this process. The first one ends Spark's JVM and raises `Interrupted`; during a run it
    is only noted, and the run ends with its report. The next one ends the process at once."""

    def __init__(self) -> None:
        self.noted: int | None = None  # a run was asked to end
        self.ended_by: int | None = None  # the command has to end
        self._noting = False
        self._ended = False  # Spark, by a signal
        self._terminal: list[Any] | None = None  # its settings when the command began

    def install(self) -> None:
        with suppress(termios.error, OSError, ValueError):  # no terminal
            self._terminal = termios.tcgetattr(0)
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup, say
                signal.signal(number, self._received)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._noting and self.noted is None:
            self.noted = number
        elif self.ended_by is None:
            self.ended_by = number
            logging.disable()  # without Spark, further failures are to be expected
            end_spark()
            self._ended = True
            if self._noting:  # a second one, while the run ends
                self._leave()
            raise Interrupted(number)
        elif self._ended:  # a further one
            self._leave()

    def _leave(self) -> NoReturn:
        assert self.ended_by is not None
        self._restore_terminal()
        say(_WORDS[signal.Signals(self.ended_by)])
        leave(128 + self.ended_by)

    def _restore_terminal(self) -> None:
        """Echo keys again and show the usual screen: nothing else does when the process ends at once."""
        if self._terminal is not None:
            with suppress(termios.error, OSError):
                termios.tcsetattr(0, termios.TCSANOW, self._terminal)
                if os.isatty(1):
                    os.write(1, b"\x1b[?1049l\x1b[?25h")

    @contextmanager
    def noting(self) -> Iterator[Callable[[], None]]:
        """Note signals. Yields a check that raises `Interrupted` after a signal, and SparkDied when the JVM is gone."""
        from headgate.runtime.spark.launch.jvm import check_jvm

        def check() -> None:
            check_jvm()
            if self.noted is not None:
                raise Interrupted(self.noted)

        self._noting, self.noted = True, None
        try:
            yield check
        finally:
            self._noting = False


SIGNALLED = Signals()


def run_command(command: Callable[[], object]) -> NoReturn:
    """Run the whole `headgate` command and leave with its exit code."""
    _open_standard_files()
    SIGNALLED.install()
    code = 0
    error: BaseException | None = None
    try:
        command()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException as problem:
        code, error = LOST, problem
    if SIGNALLED.ended_by is not None:  # however the command took it
        code, error = 128 + SIGNALLED.ended_by, None
        say(_WORDS[signal.Signals(SIGNALLED.ended_by)])
    elif _is_output_error(error):
        say(f"error: cannot write to standard output: {error.strerror}")
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
    end_spark()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the reader has seen enough
    except OSError as problem:
        if not _is_output_error(error):
            say(f"error: cannot write to standard output: {problem.strerror}")
        code = code or LOST
    leave(code)


def _is_output_error(error: BaseException | None) -> TypeGuard[OSError]:
    """Did printing fail? Errors of files that were opened by name carry that name."""
    return isinstance(error, OSError) and error.filename is None and error.errno in (ENOSPC, EIO)


def reader_left() -> bool:
    """Is standard output a pipe that nobody reads anymore?"""
    watched = select.poll()
    try:
        watched.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # no file at all
        return False
    return any(events & select.POLLERR for _, events in watched.poll(0))


def say(line: str) -> None:
    """Print a line on standard error, if that is still open."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def leave(code: int) -> NoReturn:
    """End the process now. Threads may still wait for a Spark that is gone, and would keep it alive."""
    if spill := sys.modules.get("headgate.runtime.spark.spill"):
        spill.remove_spilled()
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def end_spark() -> None:
    """End Spark's JVM, if this process has started one."""
    if jvm := sys.modules.get("headgate.runtime.spark.launch.jvm"):
        jvm.end_jvm()


def _open_standard_files() -> None:
    """Open standard files that the command was started without: other files would take their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
