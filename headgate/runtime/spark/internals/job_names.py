"""Names Spark jobs after the unit that they work for.

For each thread, Spark keeps the name of the jobs to come, in the JVM. Setting it takes a tenth of a millisecond, and
most calls run no job. So the name is noted here, and given to Spark just before a job.
"""

from __future__ import annotations

import threading

from pyspark import SparkContext


class _Names(threading.local):
    wanted: tuple[str, str] | None = None  # group and description
    given: tuple[str, str] | None = None


_names = _Names()


def name_jobs(group: str, description: str) -> None:
    """This thread's next jobs belong to a group, and are described like this in Spark's UI."""
    _names.wanted = group, description


def give_name(context: SparkContext) -> None:
    """Called before a job: tell Spark its name, if that has changed."""
    if _names.wanted is not None and _names.wanted != _names.given:
        context.setJobGroup(*_names.wanted, True)
        _names.given = _names.wanted
