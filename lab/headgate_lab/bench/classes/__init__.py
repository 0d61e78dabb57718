"""headgate bench classes: Headgate beside stock Structured Streaming. What is measured: `comparison.py`."""

from headgate.charts.spark_comparison import draw_spark_comparison as draw
from headgate_lab.bench.classes.comparison import SMALLEST, run
from headgate_lab.bench.classes.tables import tables

__all__ = ["SMALLEST", "draw", "run", "tables"]
