"""ml, mol: lotteries among queries or among operators."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal

from headgate.metrics.stats import Stats
from headgate.plan.model import Plan
from headgate.policies.groupings import separate_queries
from headgate.policies.papers import AL_MOAKAR
from headgate.policies.parameters import one_of
from headgate.policies.query_costs import QueryCosts, operator_costs
from headgate.policies.query_shares import CLOSE, UnitCosts, class_shares, shares
from headgate.policies.tickets import Tickets
from headgate.scheduling.policy import Decision, Granularity, Policy, View
from headgate.scheduling.units import Group, Unit
from headgate.seeds import derived_seed


class QueryLottery(Policy):
    """A lottery among the queries that may run, each with as many tickets as mbd would give it slots.

    Tickets are based on the costs known at the start and do not change.
    """

    name = "ml"
    unit: Granularity = "query"
    needs = ("cost_s", "selectivity")
    paper = f"{AL_MOAKAR}, chapter 6"

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        return separate_queries(plan)

    def start(self, view: View) -> None:
        super().start(view)
        self._chance = random.Random(derived_seed(view.seed, self.name))
        self._weights = self.weights()
        self._tickets = Tickets(len(view.units))

    def weights(self) -> Sequence[float]:
        """The tickets of each unit."""
        seconds = QueryCosts(self.view).seconds
        queries = [UnitCosts(u.id, u.class_name, [seconds[q] for q in u.queries]) for u in self.view.units]
        found = shares(queries, self.view.priorities)
        return [found[unit.id].priority for unit in self.view.units]

    def became_ready(self, unit: Unit) -> None:
        self._tickets.put(unit.index, self._weights[unit.index])

    def choose(self, slot: int) -> Decision | None:
        while len(self._tickets):
            index = self._tickets.draw(self._chance.random())
            self._tickets.put(index, 0.0)  # it will be announced when it may run again
            if self.view.units[index].ready:
                return Decision(self.view.units[index])
        return None


class OperatorLottery(QueryLottery):
    """A lottery among operators, each with a share of its class's priority in proportion to its cost.

    Tickets are whole, at least one: a share is not scaled up as it is for queries, so many operators of a class may
    have one ticket each, whatever its priority. With `tickets: real` shares are not rounded; an operator that costs
    nothing then has as many as the one with the fewest.
    """

    name = "mol"
    unit = "operator"

    def __init__(self, tickets: Literal["whole", "real"] = "whole") -> None:
        self._whole = one_of("tickets", tickets, ("whole", "real")) == "whole"

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        return Policy.units(self, plan, stats)

    def weights(self) -> Sequence[float]:
        costs = operator_costs(self.view)
        operators = [UnitCosts(unit.id, unit.class_name, [costs[unit.operators[0]]]) for unit in self.view.units]
        if self._whole:
            plain = class_shares(operators, self.view.priorities)
            return [max(1, math.floor(plain[unit.id] + CLOSE)) for unit in self.view.units]
        found = shares(operators, self.view.priorities)
        return [found[unit.id].priority for unit in self.view.units]
