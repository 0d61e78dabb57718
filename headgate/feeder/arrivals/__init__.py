"""When tuples arrive: seeded arrival processes, the same for the simulator and for the feeder on Spark.

    >>> from headgate.feeder.arrivals import make_arrivals
    >>> make_arrivals("constant", rate=4, rows=4, changes=[[0.5, 2.0]]).take(10).tolist()
    [0.25, 0.5, 0.625, 0.75]

Everything here is pure: time is in seconds since the start of the process; the runtime adds its clock.
"""

from headgate.feeder.arrivals.base import ArrivalProcess
from headgate.feeder.arrivals.factory import KINDS, make_arrivals
from headgate.feeder.arrivals.recorded import Recorded, parse_gaps
from headgate.feeder.arrivals.self_similar import SelfSimilar
from headgate.feeder.arrivals.steady import Constant, Poisson

__all__ = [
    "KINDS",
    "ArrivalProcess",
    "Constant",
    "Poisson",
    "Recorded",
    "SelfSimilar",
    "make_arrivals",
    "parse_gaps",
]
