"""User functions that cannot be interrupted, without Spark."""

from __future__ import annotations

import subprocess
import sys

STUBBORN = """
import time
from headgate.runtime.spark.calls import user_functions
user_functions._GRACE_S = 0.2
with user_functions._guarded("m:f", 0.1):
    while True:
        try:
            time.sleep(10)
        except BaseException:
            pass
"""


def test_a_function_that_ignores_its_time_limit_is_ended_silently() -> None:
    """Each attempt used to print its stack, some twenty lines on standard error."""
    ended = subprocess.run([sys.executable, "-c", STUBBORN], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "")
