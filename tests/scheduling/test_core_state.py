"""A run that is cut anywhere and goes on with another core, from the state of the first, gives the same answer."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InvariantError
from headgate.plan.model import Plan
from headgate.scheduling.core_state import state_of
from tests.conformance.choices import ALL
from tests.conformance.strategies import plans
from tests.scheduling.driven_core import DrivenCore
from tests.scheduling.plain_caller import TimedCaller
from tests.scheduling.test_core import CHANCE, EXAMPLES, TIMED, Script, TimedScript
from tests.scheduling.timed import source_table


class Cut(Script):
    """Restarts come in between, besides everything else that may happen."""

    def ask(self) -> None:
        if self.chance.random() < 0.1:
            self.driven.restart()
        super().ask()


class TimedCut(TimedScript):
    """The same for plans with state."""

    def ask(self) -> None:
        if self.chance.random() < 0.1:
            self.driven.restart()
        super().ask()


@EXAMPLES
@given(plan=plans(max_operators=6), policy=st.sampled_from(ALL), chance=CHANCE)
def test_cut_anywhere_a_run_goes_on_to_the_same_answer(plan: Plan, policy: object, chance: Random) -> None:
    script = Cut(plan, policy, chance)
    script.run()
    script.driven.restart()
    script.driven.drain()
    script.driven.ask(0)
    script.check()


@EXAMPLES
@given(queries=st.sampled_from(sorted(TIMED)), policy=st.sampled_from(ALL), chance=CHANCE)
def test_cut_anywhere_every_instant_is_evaluated_once(queries: str, policy: object, chance: Random) -> None:
    script = TimedCut(TIMED[queries], policy, chance)
    script.run()
    script.driven.restart()
    script.driven.drain()
    script.driven.ask(0)
    script.check()


def test_what_was_learned_goes_along() -> None:
    driven = DrivenCore(TIMED["chain"], caller=TimedCaller())
    driven.arrive({name: source_table(list(range(50)), 0) for name in driven.plan.streams})
    driven.drain()
    before = driven.core.stats.summary()
    assert before["call"] is not None
    driven.restart()
    assert driven.core.stats.summary() == before
    assert driven.core.board.call_fixed_s == driven.core.stats.call_fixed_s


def test_during_a_call_there_is_no_state_to_take() -> None:
    driven = DrivenCore(TIMED["chain"], caller=TimedCaller())
    driven.arrive({name: source_table([1, 2, 9], 0) for name in driven.plan.streams})
    assert driven.ask(0)
    with pytest.raises(InvariantError, match="in flight"):
        state_of(driven.core)
