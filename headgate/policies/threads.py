"""PCT's threads: one for each class; PCT-S, with more cores than classes, gives the most important ones two.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from headgate.policies.parameters import whole

Q = TypeVar("Q")


class Thread(NamedTuple, Generic[Q]):
    """Queries of one class that are served one after the other."""

    class_name: str
    queries: tuple[Q, ...]


def class_threads(classes: Mapping[str, Sequence[Q]], cores: int, split: bool = False) -> list[Thread[Q]]:
    """The threads of classes, given with their queries and the most important first.

    With `split` classes are cut in two, the most important first, while there are more cores than threads, and their
    queries dealt alternately. No class gets a third thread: cores beyond twice the classes stay idle. A class with
    fewer than two queries is left whole, as its second thread would have nothing to do.
    """
    spare = max(0, whole("cores", cores) - len(classes)) if split else 0
    threads = list[Thread[Q]]()
    for name, queries in classes.items():
        parts = 2 if spare and len(queries) > 1 else 1
        spare -= parts - 1
        threads += [Thread(name, tuple(queries[part::parts])) for part in range(parts)]
    return threads
