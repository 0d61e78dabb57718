"""Draw docs/images/demo.svg: the report of thirty seconds of the demonstration. `make picture` runs it."""

import io
import re
from pathlib import Path

from rich.console import Console

from headgate.cli.demo import APP
from headgate.cli.reporting import report_tables
from headgate.plan.application import RunLimits
from headgate.plan.load import load_application
from headgate.runtime.spark.engine import run

console = Console(record=True, width=114, file=io.StringIO())
console.print(report_tables(run(load_application(APP), RunLimits(seconds=30))))
target = Path(__file__).parent.parent / "docs" / "images" / "demo.svg"
drawing = console.export_svg(title="headgate demo --seconds 30")
target.write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawing, flags=re.DOTALL))  # no font from the network
