"""What Spark is started with, and the Java it needs. Imports nothing of Spark, so that its JVM can start before."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from headgate.errors import ApplicationError

# Defaults of the application, when Headgate starts Spark itself.
_CORE = {
    # Every sort and hash table of a job takes at least one page. Pages of the usual 16 to 64 MB are fine for a few
    # large tasks, but many small jobs a second would keep the garbage collector busy with them.
    "spark.buffer.pageSize": "1m",
    # A broadcast is made in blocks of this size, filled with zeros first; the usual 4 MB are for one broadcast a while,
    # and every job broadcasts its few kilobytes of code.
    "spark.broadcast.blockSize": "128k",
    # PySpark notes for each column expression which line of Python made it: three trips to the JVM for one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Generated code is kept by its text. The usual 100 entries are few for tens of queries with several stages each.
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "200",  # thousands of small jobs an hour: keep the newest only
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "2000",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.driver.memory": "4g",
    "spark.scheduler.mode": "FIFO",
}

# What Spark takes as a master. Told anything else, its launcher ends with a stack trace on the console.
_MASTER = re.compile(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?|local-cluster\[[\d\s,]+\]|yarn|(spark|k8s)://.+")


def launch_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Headgate's settings for a Spark of its own, with what the application says; `spark.master` is among them.

    ApplicationError: the master is none.
    """
    chosen = {key: str(value) for key, value in given.items() if key != "master"}
    master = given.get("master") or "local[*]"
    if not _MASTER.fullmatch(master):
        remedy = "write local[*], local[2], spark://host:7077, k8s://host:443 or yarn"
        raise ApplicationError("spark.master", f"'{master}' is no Spark master", remedy)
    defaults = _CORE | ({"spark.ui.enabled": "false"} if master.startswith("local") else {})
    return {"spark.app.name": "headgate", "spark.master": master} | defaults | chosen


def find_java() -> None:
    """Make sure Spark finds Java 17 or newer; raises ApplicationError saying what to install."""
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
    """Its major version; 0 when it does not run. Asking it takes a fifth of a second, its release file nothing."""
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
