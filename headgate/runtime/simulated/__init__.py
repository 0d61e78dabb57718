"""The simulator: virtual time and a cost model in place of Spark; the same policies, board and monitor."""

from headgate.runtime.simulated.simulation import SimulationResult, Trace, simulate

__all__ = ["SimulationResult", "Trace", "simulate"]
