"""A registry of classes by name: Headgate's own, those that a program registers, and those of other packages."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Iterator, MutableMapping
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

log = logging.getLogger("headgate.extensions")

T = TypeVar("T")


class Registry(MutableMapping[str, type[T]], Generic[T]):
    """The classes of one sort, by the name that application files and commands use.

    Packages offer theirs under the entry point `group`. These are loaded when a name is first looked up that is not
    registered, or when all names are first listed. One that cannot be loaded causes a warning and nothing else.
    """

    def __init__(self, sort: str, base: type[T], attribute: str, group: str, own: Iterable[type[T]] = ()) -> None:
        self.sort = sort  # "policy", "source", "sink": for messages
        self.base = base
        self._attribute = attribute
        self._group = group
        self._found: dict[str, type[T]] = {}
        self._loaded_packages = False
        self._own: frozenset[str] = frozenset()
        self.register_own(own)

    def register_own(self, kinds: Iterable[type[T]]) -> None:
        """Register Headgate's own classes. For a registry that some of them look others up in, after it is made."""
        for kind in kinds:
            self.register(kind)
        self._own = frozenset(self._found)

    def register(self, kind: type[T]) -> type[T]:
        """Make a class known by its name. ValueError: it has none, or another class has it.

        A class may replace an earlier version of itself, as when a notebook's cell is run again.
        """
        name = self._name(kind)
        taken = self._found.get(name)
        if taken is not None and taken is not kind and _full_name(taken) != _full_name(kind):
            raise ValueError(f"{self.sort} '{name}' already exists, {_full_name(taken)}; choose another name")
        self._found[name] = kind
        return kind

    def _name(self, kind: object) -> str:
        if not (isinstance(kind, type) and issubclass(kind, self.base)):
            raise ValueError(f"{kind!r} is not a valid {self.sort}: it must be a subclass of {self.base.__name__}")
        name = getattr(kind, self._attribute, "")
        if not isinstance(name, str) or not name:
            raise ValueError(f'{_full_name(kind)} has no name; write {self._attribute} = "..." in the class')
        if inspect.isabstract(kind):
            missing = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
            raise ValueError(f"{_full_name(kind)} does not define {missing}")
        return name

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._found:
            self._load_packages()
        return self._found[name]

    def __setitem__(self, name: str, kind: type[T]) -> None:
        self._found[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        self._load_packages()
        return iter(self._found)

    def __len__(self) -> int:
        self._load_packages()
        return len(self._found)

    @property
    def own(self) -> frozenset[str]:
        """The names of Headgate's own classes."""
        return self._own

    def _load_packages(self) -> None:
        if self._loaded_packages:
            return
        self._loaded_packages = True  # first: a package may look names up while it is imported
        for entry in entry_points(group=self._group):
            try:
                kind = entry.load()
                if self._name(kind) != entry.name:
                    raise ValueError(f'the entry point is called {entry.name}, the class "{self._name(kind)}"')
                self.register(kind)
            except (Exception, SystemExit) as error:  # an import may fail in any way
                said = " ".join(str(error).split()) or type(error).__name__
                log.warning("the %s '%s' of package %s is left out: %s", self.sort, entry.name, _package(entry), said)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
