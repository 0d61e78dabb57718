"""How the optimizer of an application works, and how to make one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from headgate.plan.model import Query
from headgate.qos.decision_maker import Choice, QueryShedding, Selector, Situation
from headgate.qos.decision_table import PAPERS_TABLE
from headgate.qos.learned import CommonChoice, LearnedSelector
from headgate.qos.learned_table import Forecast, LearnedTable, no_forecast
from headgate.qos.measuring import Observed
from headgate.qos.monitoring import Monitoring
from headgate.qos.optimizer import Optimizer
from headgate.qos.selectors import RouletteSelector, TableSelector

Selection = Literal["learned", "table", "roulette", "none"]
CANDIDATES = tuple(PAPERS_TABLE.policies)


@dataclass(frozen=True)
class OptimizerSettings:
    """Which policies queries may be given, how they are chosen, and how often promises are looked at."""

    selection: Selection = "table"
    candidates: tuple[str, ...] = CANDIDATES  # of the roulette wheel and the learned table
    monitoring: Monitoring = field(default_factory=Monitoring)
    linger: bool = True  # is the linger of queries with a promised latency adjusted?


class NoSelector:
    """Leaves every query to the policy that it has."""

    def choose(self, situation: Situation) -> Choice:
        return Choice(situation.current, {})

    def observe(self, situation: Situation) -> Choice | None:
        return None

    def follow(self, current: str) -> Choice | None:
        return None


def make_optimizer(
    board: Observed,
    settings: OptimizerSettings,
    default_policy: str,
    seed: int,
    shedding: Callable[[Query], QueryShedding | None],
    linger_s: float = 0.0,
    forecast: Forecast = no_forecast,
) -> Optimizer:
    """The optimizer of a run; `shedding` says what a runtime can drop of a query's input, `linger_s` how long queries
    linger there that do not say, `forecast` what other policies would give a query."""
    table = LearnedTable(
        settings.candidates, forecast, lambda: {name for name, query in board.plan.queries.items() if query.qos}
    )
    selector = partial(_selector, settings, seed, table, CommonChoice(table))
    start_s = linger_s if settings.linger else None
    return Optimizer(board, default_policy, selector, shedding, settings.monitoring, start_s)


def _selector(
    settings: OptimizerSettings, seed: int, table: LearnedTable, common: CommonChoice, query: Query
) -> Selector:
    match settings.selection:
        case "learned":
            table.add(query)
            return LearnedSelector(common)
        case "table":
            return TableSelector()
        case "roulette":
            return RouletteSelector(settings.candidates, seed, query.name)
        case "none":
            return NoSelector()
