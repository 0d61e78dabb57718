"""Classes by name: a user's own, those of other packages, and packages that are broken."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import headgate as hg
from headgate import extensions
from headgate.application.load import load_application
from headgate.connect.sources import SOURCES
from headgate.extensions import Registry
from headgate.policies.registry import POLICIES


class Animal:
    name = ""


class Cat(Animal):
    name = "cat"


class Dog(Animal):
    name = "dog"


class Second(Animal):
    name = "cat"


def registry(monkeypatch: pytest.MonkeyPatch, *entries: EntryPoint) -> Registry[Animal]:
    monkeypatch.setattr(extensions, "entry_points", lambda group: entries if group == "zoo" else ())
    return Registry("animal", Animal, "name", "zoo", (Cat,))


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{value}" if ":" not in value else value, "zoo")


def test_classes_are_registered_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    zoo = registry(monkeypatch)
    assert zoo.register(Dog) is Dog
    assert zoo.register(Dog) is Dog, "a second time, as when a cell is run again"
    assert list(zoo) == ["cat", "dog"]
    assert zoo.own == {"cat"}


@pytest.mark.parametrize(
    ("kind", "problem"),
    [(Second, "animal 'cat' already exists"), (Animal, "has no name"), (str, "is not a valid animal")],
)
def test_what_cannot_be_registered(monkeypatch: pytest.MonkeyPatch, kind: type, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        registry(monkeypatch).register(kind)


def test_a_broken_package_costs_one_warning(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    broken = (entry("a", "no_such_module:A"), entry("b", "json:loads"), entry("cat", "json:JSONDecoder"))
    monkeypatch.setattr(EntryPoint, "load", _load)
    zoo = registry(monkeypatch, *broken, EntryPoint("dog", "dogs:Dog", "zoo"))
    with caplog.at_level(logging.WARNING, "headgate.extensions"):
        assert "cat" in zoo, "our own are found without asking"
        assert not caplog.records
        assert "dog" in zoo
        assert set(zoo) == {"cat", "dog"}
        assert "absent" not in zoo
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        f"the animal '{one.name}' of package {one.module} is left out" for one in broken
    ]


def _load(self: EntryPoint) -> object:
    if self.module == "dogs":
        return Dog
    if self.module == "no_such_module":
        raise SystemExit("it ends the process")
    return str


OWN = """
import headgate as hg

@hg.register
class Last(hg.Policy):
    name = "last-of-a-file"

    def choose(self, slot):
        ready = self.view.ready()
        return hg.Decision(ready[-1]) if ready else None


@hg.register
class Ones(hg.SourceKind):
    kind = "ones-of-a-file"
    rows: int = 3

    def batches(self, context):
        yield [{"k": 1}] * self.rows
"""
APP = """
extensions: [own_of_a_file.py]
streams:
  s: {schema: "k INT", source: {kind: ones-of-a-file, rows: 7}}
queries:
  q: {cql: "SELECT k FROM s"}
policy: last-of-a-file
"""


def test_a_file_names_its_own_classes(tmp_path: Path) -> None:
    (tmp_path / "own_of_a_file.py").write_text(OWN)
    (tmp_path / "app.yaml").write_text(APP)
    try:
        report = hg.load(tmp_path / "app.yaml").simulate()
        assert (report.policy, report.queries["q"].outputs) == ("last-of-a-file", 7)
        (tmp_path / "app.yaml").write_text(APP.replace("rows: 7", "row: 7"))
        with pytest.raises(hg.ApplicationError, match=r"app\.yaml:4: streams\.s\.source\.row: .*did you mean 'rows'"):
            load_application(tmp_path / "app.yaml")
    finally:
        POLICIES.pop("last-of-a-file", None)
        SOURCES.pop("ones-of-a-file", None)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("absent.py", None, r"extensions\.0: there is no file 'absent.py'"),
        ("broken_of_a_file.py", "1 / 0", r"extensions\.0: 'broken_of_a_file.py' cannot be loaded: ZeroDivisionError"),
        ("no_such_module_at_all", None, r"extensions\.0: 'no_such_module_at_all' cannot be loaded: ModuleNotFound"),
    ],
)
def test_an_extension_that_cannot_be_loaded(tmp_path: Path, name: str, text: str | None, problem: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    (tmp_path / "app.yaml").write_text(APP.replace("own_of_a_file.py", name))
    with pytest.raises(hg.ApplicationError, match=problem):
        load_application(tmp_path / "app.yaml")
