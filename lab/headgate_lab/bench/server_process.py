"""A server in a process of its own, as users have it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_LISTENING = re.compile(r"listening on (http://\S+?)[;,]?(\s|$)")
_STOP_S = 60.0
_LOOK_S = 0.1


@contextmanager
def server_process(arguments: Sequence[str] = ()) -> Iterator[str]:
    """`headgate serve` on a free port, with a folder of its own; yields its address, and ends it with Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        command = [sys.executable, "-m", "headgate", "serve", *arguments, "--port", "0", "--data", folder]
        log = Path(folder) / "server.log"
        with log.open("w") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            yield _address(process, log)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait for the line that says where the server listens."""
    while process.poll() is None:
        if found := _LISTENING.search(log.read_text()):
            return found[1]
        time.sleep(_LOOK_S)
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-2000:]}")
