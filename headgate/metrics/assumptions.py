"""Defaults for costs and selectivities that nobody declared, so that any application can be simulated.

The report of a simulation lists them: a number that rests on a default must not look like a declared one.
"""

from __future__ import annotations

from typing import Any

from headgate.plan.model import Plan
from headgate.plan.operators.base import Operator

# A small call on Spark takes about 1 ms; spread over a batch of 100 tuples, that is 10 us each.
ASSUMED_COST_S = 10e-6
ASSUMED_SELECTIVITY = 1.0


def assumptions(plan: Plan) -> dict[str, Any]:
    """The defaults, and the operators they are used for. It is `assumed` in the report of a simulation."""
    operators = plan.operators.values()
    return {
        "cost": ASSUMED_COST_S,
        "costs": [one.id for one in operators if not _has_costs(one)],
        "selectivity": ASSUMED_SELECTIVITY,
        "selectivities": [one.id for one in operators if not _has_selectivities(one)],
    }


def _has_costs(operator: Operator) -> bool:
    return all(operator.side(index).cost_s is not None for index in range(len(operator.inputs)))


def _has_selectivities(operator: Operator) -> bool:
    if operator.passes_all or operator.declared.branches or operator.declared.match is not None:
        return True
    return all(operator.side(index).selectivity is not None for index in range(len(operator.inputs)))
