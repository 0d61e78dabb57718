"""The settings that Spark starts with, and the Java it needs.

Imports nothing from Spark, so that the JVM can start before PySpark is imported.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from headgate.errors import ApplicationError

# Defaults when Headgate starts Spark itself; the application's own settings win.
_CORE = {
    # Every sort and hash table of a job takes at least one page. The usual pages of 16 to 64 MB suit a few large
    # tasks; with many small jobs a second they would keep the garbage collector busy.
    "spark.buffer.pageSize": "1m",
    # A broadcast is built in blocks of this size, zero-filled first. Every job broadcasts its few kilobytes of code,
    # so the usual 4 MB would be zeroed for each job.
    "spark.broadcast.blockSize": "128k",
    # PySpark records which line of Python made each column expression: three trips to the JVM instead of one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Generated code is cached by its text. The usual 100 entries are too few for tens of queries of several stages.
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "200",  # thousands of small jobs an hour: keep only the newest
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "2000",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.driver.memory": "4g",
    "spark.scheduler.mode": "FIFO",
}

# The masters that Spark accepts. Given anything else, its launcher prints a stack trace and ends.
_MASTER = re.compile(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?|local-cluster\[[\d\s,]+\]|yarn|(spark|k8s)://.+")


def launch_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Headgate's settings for starting Spark, overridden by the application's; `spark.master` is among them.

    ApplicationError: the master is invalid.
    """
    chosen = {key: str(value) for key, value in given.items() if key != "master"}
    master = given.get("master") or "local[*]"
    if not _MASTER.fullmatch(master):
        remedy = "write local[*], local[2], spark://host:7077, k8s://host:443 or yarn"
        raise ApplicationError("spark.master", f"'{master}' is not a Spark master", remedy)
    defaults = _CORE | ({"spark.ui.enabled": "false"} if master.startswith("local") else {})
    return {"spark.app.name": "headgate", "spark.master": master} | defaults | chosen


def find_java() -> None:
    """Make sure that Spark finds Java 17 or newer. ApplicationError: there is none."""
    homes = [os.environ.get("JAVA_HOME", ""), *sorted(glob.glob("/usr/lib/jvm/*"))]
    candidates = [os.path.join(h, "bin", "java") for h in homes[:1] if h]
    candidates += [path for path in [shutil.which("java")] if path]
    candidates += [os.path.join(h, "bin", "java") for h in homes[1:]]
    for java in candidates:
        if os.access(java, os.X_OK) and _java_version(java) >= 17:
            if java != shutil.which("java"):
                os.environ["JAVA_HOME"] = os.path.dirname(os.path.dirname(java))
            elif _is_too_old(os.environ.get("JAVA_HOME", "")):
                del os.environ["JAVA_HOME"]
            return
    raise ApplicationError("java", "Spark needs Java 17 or newer and none was found", "install openjdk-17-jre-headless")


def _is_too_old(home: str) -> bool:
    java = os.path.join(home, "bin", "java")
    return bool(home) and (not os.access(java, os.X_OK) or _java_version(java) < 17)


def _java_version(java: str) -> int:
    """Java's major version; 0 when it does not run. Running it takes 0.2 s; reading its release file, no time."""
    try:
        text = (Path(java).resolve().parent.parent / "release").read_text()
        if found := re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE):
            return int(found[1])
    except (OSError, UnicodeDecodeError):
        pass  # not every Java has one
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False).stderr
        number = text.split('"')[1].split(".")
        return int(number[1] if number[0] == "1" else number[0])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return 0
