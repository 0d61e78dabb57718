"""Reads keys that are pressed while a command runs."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Keys = Callable[[], str]


@contextmanager
def pressed_keys(wanted: bool) -> Iterator[Keys]:
    """Yields a function that returns the keys pressed since its last call; without a terminal there are none.

    Keys are read as they are pressed, without a line end and without an echo. Ctrl-C keeps its meaning.
    """
    if not wanted or not sys.stdin.isatty():
        yield str
        return
    import termios  # there is none on Windows, and no terminal of this kind
    import tty

    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number)
        yield lambda: _waiting(number)
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _waiting(number: int) -> str:
    if not select.select([number], [], [], 0)[0]:
        return ""
    return os.read(number, 1024).decode(errors="replace")
