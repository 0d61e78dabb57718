"""headgate bench classes: Headgate beside stock Structured Streaming. What is measured: `comparison.py`."""

from headgate.bench.classes.comparison import run

__all__ = ["run"]
