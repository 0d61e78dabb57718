"""Forecasts for the optimizer of a run, made while the run goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence

from headgate.plan.model import PolicySettings
from headgate.qos.learned_table import Values
from headgate.twin.helper import Failed
from headgate.twin.prediction import Alternative
from headgate.twin.process import Helper, HelperError

log = logging.getLogger("headgate.twin")

FIRST_S = 10.0  # after the start, so that there is something to forecast from
REST = 50  # times as long as a forecast took, there is none: then they take a fiftieth of a processor at most
SECONDS = 10.0  # that are forecast


class BackgroundForecasts:
    """What each candidate would give each query if all queries with promises were scheduled by it (a `Forecast`).

    It answers at once with what is known, at first nothing, and now and then has a helper process forecast the present
    situation anew. What is forecast is for the present load, so it does not depend on the load that is asked for.
    """

    def __init__(
        self,
        snapshot: Callable[[], bytes],
        candidates: Sequence[str],
        promised: Callable[[], Collection[str]],
        now: Callable[[], float],
        first_s: float = FIRST_S,
    ) -> None:
        self._snapshot = snapshot
        self._candidates = candidates
        self._promised = promised
        self._known: Mapping[str, Mapping[str, Values]] = {}  # query -> candidate -> what it would get
        self._now = now
        self._next = now() + first_s
        self._helper: Helper | None = None
        self._working: threading.Thread | None = None

    def __call__(self, query: str, offered: float | None) -> Mapping[str, Values]:
        """What is known; see `Forecast`."""
        if self._now() >= self._next and not (self._working is not None and self._working.is_alive()):
            self._begin()
        return self._known.get(query, {})

    def close(self) -> None:
        """The run ends."""
        self._next = float("inf")
        if self._helper is not None:
            self._helper.stop()
        if self._working is not None:
            self._working.join()

    def _begin(self) -> None:
        promised = tuple(self._promised())
        alternatives = [Alternative(PolicySettings(name), queries=promised) for name in self._candidates]
        self._helper = Helper(self._snapshot(), alternatives, SECONDS)
        self._working = threading.Thread(target=self._work, args=(self._helper,), name="headgate-twin", daemon=True)
        self._working.start()

    def _work(self, helper: Helper) -> None:
        began = self._now()
        known: dict[str, dict[str, Values]] = {}
        try:
            for one in helper:
                if isinstance(one, Failed):
                    log.warning("policy %s cannot be forecast: %s", one.alternative, one.reason)
                    continue
                for query, values in one.queries.items():
                    known.setdefault(query, {})[one.alternative.policy.name] = values
            self._known = known
        except HelperError as error:
            if self._next < float("inf"):
                log.warning("no forecasts for the optimizer: %s", error)
        finally:
            if self._next < float("inf"):
                self._next = self._now() + REST * (self._now() - began)
