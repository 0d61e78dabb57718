"""A source and a sink of your own: one class each, with its settings as fields.

python examples/own_connectors.py
"""

from collections.abc import Iterator

import headgate as hg
from headgate.testing import check_sink, check_source


@hg.register
class Countdown(hg.SourceKind):
    """Numbers, down to 1."""

    kind = "countdown"
    start: int = 10

    def batches(self, context: hg.sources.SourceContext) -> Iterator[list[dict[str, int]]]:
        yield [{"n": n} for n in range(self.start, 0, -1)]


@hg.register
class Shout(hg.SinkKind):
    """Prints each batch of results."""

    kind = "shout"
    ending: str = "!"

    def open(self, context: hg.sinks.SinkContext) -> hg.sinks.EachBatch:
        def write(table: object) -> None:
            print(f"{context.query.name}: {table.column(0).to_pylist()}{self.ending}")  # type: ignore[attr-defined]

        return hg.sinks.EachBatch(context, write)


check_source(Countdown(start=5), "n INT", rows=5)
check_sink(Shout())

app = hg.Application()
app.stream("numbers", "n INT", source=Countdown(start=5))
app.query("even", "SELECT n FROM numbers WHERE n % 2 = 0", sink=Shout())
print(app.to_yaml())
print(app.run(until_idle=True).queries["even"].outputs)
