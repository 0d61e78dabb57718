"""Which tuples an operator passes: decided by a hash of seed, operator and tuple, so that every schedule passes the
same ones.

A simulated tuple is `(arrival, key, weight)`: its arrival time in seconds, a 64-bit identity made of stream and
sequence number, and its size in tuples, which is 1 unless the simulation is fluid.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from headgate.plan.operators import Split
from headgate.plan.operators.base import Operator
from headgate.seeds import derived_seed

Item = tuple[float, int, float]


class JoinResult(tuple[float, int, float]):
    """The result of a join that another join reads: a tuple that also knows when it is valid."""

    since: float
    until: float

    def renewed(self, key: int) -> JoinResult:
        """The same result with another identity."""
        return join_result((self[0], key, self[2]), self.since, self.until)


def join_result(item: Item, since: float, until: float) -> JoinResult:
    made = JoinResult(item)
    made.since, made.until = since, until
    return made


Outputs = tuple[list[float], list[Item]]  # finish time and tuple, in order
Draw = Callable[[list[float], list[Item]], Sequence[Outputs]]  # finish times, inputs -> outputs of each branch
# The same where it matters by which input a tuple came in: finish times, tuples, numbers of their inputs.
SidedDraw = Callable[[list[float], list[Item], list[int]], Sequence[Outputs]]

_MASK = (1 << 64) - 1
_ODD_1, _ODD_2, _GOLDEN = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 0x9E3779B97F4A7C15
_BLOCK = 1024


def mixed(value: int) -> int:
    """64 well-mixed bits. The inputs are keys that are already random, so two rounds suffice."""
    value = (value * _ODD_1) & _MASK
    value = ((value ^ (value >> 32)) * _ODD_2) & _MASK
    return value ^ (value >> 32)


def stream_keys(stream: str, first: int, count: int) -> NDArray[np.uint64]:
    """The keys of `count` tuples of a stream, from number `first` on."""
    numbers = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    value = numbers * np.uint64(_GOLDEN) + np.uint64(derived_seed(0, "keys", stream))
    for odd in (_ODD_1, _ODD_2, _ODD_1):  # counters are not random, so one more round
        value = (value ^ (value >> np.uint64(32))) * np.uint64(odd)
    keys: NDArray[np.uint64] = value ^ (value >> np.uint64(32))
    return keys


def make_draw(operator: Operator, shares: Mapping[str, float], seed: int, fluid: bool) -> Draw:
    """How an operator turns tuples into outputs in one simulation; `shares` has the selectivity of each output."""
    salts = [derived_seed(seed, "selectivity", operator.id, branch) for branch in shares]
    if fluid:
        return _each([_shrink(share) for share in shares.values()])
    if isinstance(operator, Split) and operator.match == "first":
        return _first_of(list(shares.values()), salts[0])
    return _each([_copies(share, salt) for share, salt in zip(shares.values(), salts, strict=True)])


def make_sided_draw(operator: Operator, shares: Sequence[float], seed: int, fluid: bool) -> SidedDraw:
    """The same for an operator whose inputs have different selectivities."""
    sides = [make_draw(operator, {"": share}, seed, fluid) for share in shares]

    def draw(times: list[float], items: list[Item], inputs: list[int]) -> Sequence[Outputs]:
        outputs: Outputs = ([], [])
        for time, item, side in zip(times, items, inputs, strict=True):
            ((ends, made),) = sides[side]([time], [item])
            outputs[0].extend(ends)
            outputs[1].extend(made)
        return (outputs,)

    return draw


def make_varying_draw(operator: Operator, profile: Sequence[tuple[float, float]], seed: int) -> Draw:
    """How an operator with one output passes tuples when its selectivity changes: `profile` has pairs (start, share
    that passes from then on). The arrival of a tuple decides, so the outcome does not depend on the schedule."""
    salt = derived_seed(seed, "selectivity", operator.id, "")
    starts = [start for start, _ in profile]
    limits = [int(min(share, 1.0) * 2.0**64) for _, share in profile]

    def draw(times: list[float], items: list[Item]) -> Sequence[Outputs]:
        kept: Outputs = ([], [])
        for time, item in zip(times, items, strict=True):
            if mixed(item[1] ^ salt) < limits[max(0, bisect_right(starts, item[0]) - 1)]:
                kept[0].append(time)
                kept[1].append(item)
        return (kept,)

    return draw


_Branch = Callable[[list[float], list[Item]], Outputs]


def _each(branches: list[_Branch]) -> Draw:
    if len(branches) == 1:
        only = branches[0]
        return lambda times, items: (only(times, items),)
    return lambda times, items: [branch(times, items) for branch in branches]


def _shrink(share: float) -> _Branch:
    def draw(times: list[float], items: list[Item]) -> Outputs:
        if share == 0.0:
            return [], []
        return times, [(arrival, key, weight * share) for arrival, key, weight in items]

    return draw


def _copies(share: float, salt: int) -> _Branch:
    whole = math.floor(share)
    limit = int((share - whole) * 2.0**64)
    if whole == 0:
        return _some(limit, salt)
    if whole == 1 and limit == 0:
        return lambda times, items: (times, items)

    def draw(times: list[float], items: list[Item]) -> Outputs:
        outputs: Outputs = ([], [])
        for time, item in zip(times, items, strict=True):
            start = mixed(item[1] ^ salt)
            for number in range(whole + (start < limit)):
                key = mixed(start + number * _GOLDEN & _MASK)
                outputs[0].append(time)
                outputs[1].append(item.renewed(key) if isinstance(item, JoinResult) else (item[0], key, item[2]))
        return outputs

    return draw


def _some(limit: int, salt: int) -> _Branch:
    def draw(times: list[float], items: list[Item]) -> Outputs:
        kept: Outputs = ([], [])
        for time, item in zip(times, items, strict=True):
            value = ((item[1] ^ salt) * _ODD_1) & _MASK  # `mixed`, without the call
            value = ((value ^ (value >> 32)) * _ODD_2) & _MASK
            if value ^ (value >> 32) < limit:
                kept[0].append(time)
                kept[1].append(item)
        return kept

    return draw


def _first_of(shares: list[float], salt: int) -> Draw:
    """One draw, divided among the branches by their shares; the remainder passes nowhere."""
    ends = [min(int(end * 2.0**64), 1 << 64) for end in np.cumsum(shares).tolist()]

    def draw(times: list[float], items: list[Item]) -> Sequence[Outputs]:
        outputs: list[Outputs] = [([], []) for _ in ends]
        for time, item in zip(times, items, strict=True):
            value = mixed(item[1] ^ salt)
            for branch, end in zip(outputs, ends, strict=True):
                if value < end:
                    branch[0].append(time)
                    branch[1].append(item)
                    break
        return outputs

    return draw


def noise_factors(seed: int, noise: float) -> Iterator[float]:
    """An endless series of random factors between 1 - noise and 1 + noise."""
    rng = np.random.default_rng(seed)
    while True:
        yield from rng.uniform(1.0 - noise, 1.0 + noise, _BLOCK).tolist()
