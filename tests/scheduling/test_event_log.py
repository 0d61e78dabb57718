"""A replay of what cannot be taken at face value: events that were refused, and logs that end too early."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.policies.registry import make_policy
from headgate.scheduling.event_log import EventLog, EventLogError, EventRefused, replay
from headgate.scheduling.events import Event, PriorityChanged
from tests.scheduling.driven_core import DrivenCore
from tests.scheduling.plain_caller import TimedCaller
from tests.scheduling.timed import PLANS, plan_of


def recorded(path: Path) -> tuple[DrivenCore, list[Event]]:
    """A log of three changes of priority, of which the second names a class that does not exist."""
    driven = DrivenCore(plan_of(PLANS["chain"]), caller=TimedCaller())
    name = next(iter(driven.plan.classes))
    events: list[Event] = [
        PriorityChanged(0.1, name, 3),
        PriorityChanged(0.2, "nobody", 4),
        PriorityChanged(0.3, name, 5),
    ]
    log = EventLog(path, driven.settings, None)
    for event in events:
        log.record(event)
    log.close()
    return driven, events


def test_what_was_refused_is_refused_again_and_the_replay_goes_on(tmp_path: Path) -> None:
    driven, events = recorded(tmp_path / "log")
    with pytest.raises(ValueError, match="there is no class 'nobody'"):
        driven.handle(events[1])
    answers = [answer for _, answer, _ in replay(tmp_path / "log", make_policy)]
    assert [any(isinstance(one, EventRefused) for one in answer) for answer in answers] == [False, True, False]


def test_a_log_that_was_cut_off_is_replayed_as_far_as_it_goes(tmp_path: Path) -> None:
    recorded(tmp_path / "log")
    whole = (tmp_path / "log").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-3])
    assert len(list(replay(tmp_path / "cut", make_policy))) == 2


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a log")
    for name in ("text", "missing"):
        with pytest.raises(EventLogError):
            next(replay(tmp_path / name, make_policy))
