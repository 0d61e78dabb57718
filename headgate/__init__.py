"""Headgate: a data stream management system on Spark.

Register streams and continuous queries, say how important each query is and what quality of service it
needs; Headgate decides what runs next, watches whether the promises hold, changes its scheduling policy when
they do not, and sheds load within a promised error when nothing else helps.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("headgate")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
