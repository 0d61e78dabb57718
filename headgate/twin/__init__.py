"""What if: a forecast of a running application under other policies.

The twin is the scheduling core of the run, driven by a clock that jumps: the same queues, windows, waits and policies.
Only Spark is replaced, by what calls took lately and how many tuples operators pass; and the sources, by the arrivals
of the last seconds, which are assumed to come again.
"""
