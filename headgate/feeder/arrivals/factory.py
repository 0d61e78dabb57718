"""Makes an arrival process from the settings of an application (`arrivals`, `rate`, `rows`, ...)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headgate.feeder.arrivals.base import ArrivalProcess
from headgate.feeder.arrivals.recorded import Recorded
from headgate.feeder.arrivals.self_similar import SelfSimilar
from headgate.feeder.arrivals.steady import Constant, Poisson
from headgate.feeder.arrivals.time_warp import Floats, Pairs

# Kind -> the parameters that its mapping form `{kind: ..., parameter: value}` takes.
KINDS: dict[str, tuple[str, ...]] = {
    "constant": (),
    "poisson": (),
    "self-similar": ("flows", "on_shape", "off_shape", "on_scale", "off_scale"),
    "recorded": ("repeat",),
}


def make_arrivals(
    kind: str | Mapping[str, Any],
    rate: float | None,
    rows: int | None = None,
    seed: int = 0,
    changes: Pairs = (),
    pauses: Pairs = (),
    gaps: str | Sequence[float] | Floats | None = None,
) -> ArrivalProcess:
    """The arrival process for a feeder's settings. Both runtimes call it once per stream.

    `rows=None` means endless. `rate` is in tuples per second; only for `recorded` it may be None (as recorded). `gaps`
    is the content of the file of recorded gaps, for `recorded`. A ValueError says what would be right.
    """
    name, extra = _kind_and_parameters(kind)
    if gaps is not None and name != "recorded":
        raise ValueError(f"recorded gaps go with arrivals of kind recorded, not {name}")
    if gaps is None and name == "recorded":
        raise ValueError("arrivals of kind recorded need recorded gaps, in seconds")
    if rate is None and name != "recorded":
        raise ValueError(f"arrivals of kind {name} need a rate in tuples per second")
    common: dict[str, Any] = {"rate": rate, "rows": rows, "changes": changes, "pauses": pauses}
    makers: dict[str, Callable[[], ArrivalProcess]] = {
        "constant": lambda: Constant(**common),
        "poisson": lambda: Poisson(seed=seed, **common),
        "self-similar": lambda: SelfSimilar(seed=seed, **common, **extra),
        "recorded": lambda: Recorded(gaps=[] if gaps is None else gaps, **common, **extra),
    }
    return makers[name]()


def _kind_and_parameters(kind: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    extra = dict(kind) if isinstance(kind, Mapping) else {"kind": kind}
    if "kind" not in extra:
        raise ValueError(f"arrivals need a kind: one of {', '.join(KINDS)}")
    name = extra.pop("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise ValueError(f"unknown kind of arrivals {name!r}: use one of {', '.join(KINDS)}")
    for parameter in extra:
        if parameter not in KINDS[name]:
            known = ", ".join(KINDS[name]) or "no parameters of its own"
            raise ValueError(f"unknown parameter {parameter!r} of {name} arrivals: it takes {known}")
    return name, extra
