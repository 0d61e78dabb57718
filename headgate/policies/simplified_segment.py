"""simplified-segment: at most two segments per path."""

from __future__ import annotations

from functools import partial

from headgate.policies.parameters import between
from headgate.policies.path_segments import CutRule
from headgate.policies.segment import Segments
from headgate.policies.starvation import Starvation
from headgate.scheduling.segments import halve


class SimplifiedSegments(Segments):
    """As segment, but a path is cut at most once, where an operator releases memory much more slowly than the last.

    Much more slowly means below `share` of it (Jiang and Chakravarthy section 3.3). Calls are fewer and longer than
    with segment.
    """

    name = "simplified-segment"

    def __init__(self, share: float = 0.75, starvation: Starvation = None, period: int = 20) -> None:
        self.share = between("share", share, 0.0, 1.0)
        super().__init__(starvation, period)

    def cut(self) -> CutRule:
        return partial(halve, share=self.share)
