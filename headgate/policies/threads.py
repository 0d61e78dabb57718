"""PCT's threads: one per class. With more cores than classes, PCT-S gives the most important classes two.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from headgate.policies.parameters import whole

Q = TypeVar("Q")


class Thread(NamedTuple, Generic[Q]):
    """Queries of one class that are served one after another."""

    class_name: str
    queries: tuple[Q, ...]


def class_threads(classes: Mapping[str, Sequence[Q]], cores: int, split: bool = False) -> list[Thread[Q]]:
    """The threads for `classes`, given as class -> its queries, the most important class first.

    With `split`, classes are split in two, the most important first, as long as there are more cores than threads;
    their queries are dealt alternately. No class gets a third thread: cores beyond twice the classes stay idle. A class
    with fewer than two queries is not split, as its second thread would have nothing to do.
    """
    spare = max(0, whole("cores", cores) - len(classes)) if split else 0
    threads = list[Thread[Q]]()
    for name, queries in classes.items():
        parts = 2 if spare and len(queries) > 1 else 1
        spare -= parts - 1
        threads += [Thread(name, tuple(queries[part::parts])) for part in range(parts)]
    return threads
