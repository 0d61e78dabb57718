"""How much of a test runs in which tier: a few examples and cases by default, all of them in `make nightly`.

CONTRIBUTING.md has the table of tiers. `make nightly` chooses hypothesis's profile `nightly`, and every marker.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

DEFAULT, NIGHTLY = "default", "nightly"
# No deadlines: a busy machine must not fail a test.
settings.register_profile(DEFAULT, deadline=None)
settings.register_profile(NIGHTLY, deadline=None)


def examples(few: int, nightly: int) -> int:
    """How many examples a test draws: `few`, and `nightly` under the profile of that name."""
    return nightly if settings.get_current_profile_name() == NIGHTLY else few


def only_nightly(cases: Iterable[Any], but: Iterable[Any] = ()) -> list[Any]:
    """The values of one parameter of a test, of which only `but` run by default."""
    kept = list(but)
    return [case if case in kept else pytest.param(case, marks=pytest.mark.nightly) for case in cases]
