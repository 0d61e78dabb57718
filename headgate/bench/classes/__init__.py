"""headgate bench classes: Headgate beside stock Structured Streaming. What is measured: `comparison.py`."""

from headgate.bench.classes.comparison import SMALLEST, run
from headgate.bench.classes.tables import tables
from headgate.charts.class_comparison import draw_comparison as draw

__all__ = ["SMALLEST", "draw", "run", "tables"]
