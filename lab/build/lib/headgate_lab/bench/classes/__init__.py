"""headgate bench classes: Headgate compared with stock Structured Streaming. `comparison.py` says what is measured."""

from headgate.charts.spark_comparison import draw_spark_comparison as draw
from headgate_lab.bench.classes.comparison import SMALLEST, run
from headgate_lab.bench.classes.tables import tables

__all__ = ["SMALLEST", "draw", "run", "tables"]
