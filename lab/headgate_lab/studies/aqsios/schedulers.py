"""The dissertation's schedulers, by the names it gives them, as policies with parameters."""

from __future__ import annotations

from typing import Any

from headgate.application.checked import PolicySettings

_RATES = {"fixed_costs": "ignored", "roots": "copied"}
_SINGLE = {"leaves": "last", **_RATES}
# Chapter 4 ran on AQSIOS itself: its public code polls a class's sources once per turn and ends calls after 50 tuples.
_CQC_SINGLE: dict[str, Any] = {"cycle": 0.001, "polls": 1, "train": 50, **_SINGLE}
_PLAIN: dict[str, Any] = {
    "inversion": None,
    "selectivity": None,
    "priorities": "fixed",
    "fixed_costs": "ignored",
}
DETECTION: dict[str, Any] = {"window": 0.5, "samples": 30}
MODULES = ("DVP", "IVP", "DSP", "ISP")

NAMED: dict[str, PolicySettings] = {
    "RR": PolicySettings("rr", {"quantum": None}),
    "HR": PolicySettings("hr", _SINGLE),
    "CQC single": PolicySettings("cqc", _CQC_SINGLE),
    "CQC single literal": PolicySettings("cqc", {**_CQC_SINGLE, "literal": True}),
    "CQC single polling": PolicySettings("cqc", {**_CQC_SINGLE, "polls": None}),
    "CQC single whole queues": PolicySettings("cqc", {**_CQC_SINGLE, "train": None}),
    "CQC": PolicySettings("cqc", {"cycle": 0.03, **_RATES}),
    "CQC literal": PolicySettings("cqc", {"cycle": 0.03, "literal": True, **_RATES}),
    "WeHR": PolicySettings("wehr", _RATES),
    "ABD": PolicySettings("abd", DETECTION),
    "ABD unlimited": PolicySettings("abd", {"passes": None, **DETECTION}),
    "ABD literal": PolicySettings("abd", {"literal": True, **DETECTION}),
    "AMBD": PolicySettings("ambd", _PLAIN),
    "MRR": PolicySettings("mrr"),
    "MORR": PolicySettings("morr"),
    "ML": PolicySettings("ml"),
    "MOL": PolicySettings("mol"),
    "MOL real": PolicySettings("mol", {"tickets": "real"}),
    "MPRR": PolicySettings("mprr"),
    "MPRR largest": PolicySettings("mprr", {"of": "largest"}),
    "PCT": PolicySettings("pct"),
    "PCT_S": PolicySettings("pct-s"),
}


def settings(name: str) -> PolicySettings:
    """The policy behind a name: `MBD[_DVP|_IVP|_DSP|_ISP][_S|_SA][_UP][_p75][ cumulative]`, `ABD_20us[ literal]` (its
    first quota), or one of `NAMED`. Raises LookupError for any other."""
    if name in NAMED:
        return NAMED[name]
    kind, *suffixes = name.removesuffix(" cumulative").split("_")
    if kind == "ABD":
        quota, _, literal = suffixes[0].partition("us")
        given = {"quota": float(quota) * 1e-6, **DETECTION}
        return PolicySettings("abd", given | ({"literal": True} if literal else {}))
    if kind != "MBD":
        raise LookupError(f"there is no scheduler '{name}'")
    given = {**_PLAIN, **DETECTION}
    if name.endswith(" cumulative"):
        given["window"] = 1e9
    for suffix in suffixes:
        given |= _modules(suffix)
    return PolicySettings("mbd", given)


def _modules(suffix: str) -> dict[str, Any]:
    if suffix in MODULES:
        return {"inversion": suffix.lower()}
    if suffix in ("S", "SA"):
        return {"selectivity": suffix.lower()}
    if suffix == "UP":
        return {"priorities": "follow"}
    return {"percentile": float(suffix.removeprefix("p"))}
