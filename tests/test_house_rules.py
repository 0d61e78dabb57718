"""The rules of the house, checked on the syntax tree of every file.

1. Packages form one order (`scripts/packages.py`); each imports only packages above it.
2. Only `runtime/spark`, `connect` and the laboratory import `pyspark`.
3. Everything above the runtimes but `connect` is pure: time and randomness are passed in, never taken from the air.
4. No file over 500 lines.
5. Nobody reaches into another object's underscores, tests included (`tests/private_names.py`).
6. Applications come from the Python API or from sections; only `BUILDERS` put plans together by hand.

A checker takes a module's dotted name and its source, and returns one line per offence, so that each rule
is also tested for being able to fail.
"""

import ast
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.packages import ORDER, graph, imports, package_of
from tests.private_names import THIRD_PARTY, check_private_names

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(ORDER)
PURE = tuple(name for name in PACKAGES[: PACKAGES.index("runtime.simulated")] if name != "connect")
SPARK_USERS = ("runtime.spark", "connect")
MOST_LINES = 500
BUILDERS = {
    "headgate.application.planner": "what all applications come from",
    "headgate.plan.weighing": "plans that were built, with weights in queries that may be shed",
    "tests.applications": "operators made by hand, below the level of applications",
    "lab.headgate_lab.studies.aqsios.workload": "ids of operators outside their query, which seed what is drawn",
}
BY_HAND = {"headgate.plan.graph.build_plan", "headgate.application.checked.CheckedApplication"}

Checker = Callable[[str, str], list[str]]

CLOCK_FUNCTIONS = frozenset(
    f"time.{name}{suffix}"
    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    for suffix in ("", "_ns")
) | {
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "os.urandom",
    "uuid.uuid1",
    "uuid.uuid4",
}
# Generators that are objects made from a seed; everything else in these modules is shared, hidden state.
RANDOM_MODULES = ("random", "numpy.random", "secrets")
SEEDED = frozenset(
    {"random.Random"}
    | {f"numpy.random.{name}" for name in ("default_rng", "Generator", "BitGenerator", "SeedSequence")}
    | {f"numpy.random.{name}" for name in ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")}
)


def inside(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == f"headgate.{p}" or module.startswith(f"headgate.{p}.") for p in packages)


def split_package(module: str) -> tuple[str, bool]:
    is_package = module.endswith(".__init__")
    return module.removesuffix(".__init__"), is_package


def check_order(module: str, source: str) -> list[str]:
    """The front door, `headgate/__init__.py`, and `__main__` stand below everything else."""
    name, is_package = split_package(module)
    mine = package_of(name)
    if mine is None:
        known = name in ("headgate", "headgate.__main__", "headgate.runtime") or not name.startswith("headgate.")
        return [] if known else [f"{module}: not in the order of scripts/packages.py"]
    above = PACKAGES[: PACKAGES.index(mine) + 1]
    return [
        f"{module}:{line}: imports {imported}; {mine} may import only {', '.join(above)}"
        for line, imported in imports(name, ast.parse(source), is_package)
        if (inside(imported, PACKAGES) and not inside(imported, above))
        or imported.startswith("headgate_lab")
        or imported in ("headgate.runtime", "headgate.server")
    ]


def check_pyspark(module: str, source: str) -> list[str]:
    name, is_package = split_package(module)
    if inside(name, SPARK_USERS):
        return []
    return [
        f"{module}:{line}: imports {imported}; only {', '.join(SPARK_USERS)} may"
        for line, imported in imports(name, ast.parse(source), is_package)
        if imported == "pyspark" or imported.startswith("pyspark.")
    ]


def bound_names(tree: ast.AST) -> dict[str, str]:
    """What each name bound by an import stands for: `import numpy as np` gives np -> numpy."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted(node: ast.AST, names: dict[str, str]) -> str | None:
    """The full name an expression stands for, when it starts at an import."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        base = dotted(node.value, names)
        return f"{base}.{node.attr}" if base else None
    return None


def takes_from_the_air(name: str) -> bool:
    if name in CLOCK_FUNCTIONS:
        return True
    module = name.rpartition(".")[0]
    return module in RANDOM_MODULES and name not in SEEDED


def check_clocks(module: str, source: str) -> list[str]:
    """Uses, not only calls: `clock=time.monotonic` as a default is taking time from the air as well."""
    if not inside(split_package(module)[0], PURE):
        return []
    tree = ast.parse(source)
    names = bound_names(tree)
    offences = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            imported = [f"{node.module}.{alias.name}" for alias in node.names]
            bad = [name for name in imported if takes_from_the_air(name) or name == "time.*"]
        elif isinstance(node, ast.Attribute):
            name = dotted(node, names)
            bad = [name] if name and takes_from_the_air(name) else []
        elif isinstance(node, ast.Call) and not node.args and not node.keywords:
            name = dotted(node.func, names)
            bad = [f"{name}() without a seed"] if name in SEEDED else []
        else:
            continue
        offences |= {f"{module}:{node.lineno}: {what}; time and randomness are passed in" for what in bad}
    return sorted(offences)


def check_length(module: str, source: str) -> list[str]:
    lines = len(source.splitlines())
    return [f"{module}: {lines} lines; split it by meaning, {MOST_LINES} is the most"] if lines > MOST_LINES else []


def check_builders(module: str, source: str) -> list[str]:
    if module in BUILDERS:
        return []
    tree = ast.parse(source)
    names = bound_names(tree)
    calls = [(node.lineno, dotted(node.func, names)) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [f"{module}:{line}: calls {called}; use headgate.Application" for line, called in calls if called in BY_HAND]


def offences(checker: Checker, *folders: str, root: Path = ROOT) -> list[str]:
    """Run a checker over every Python file of the folders; a folder that does not exist has no offences."""
    found: list[str] = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            found += checker(module, path.read_text(encoding="utf-8"))
    return found


def report(found: list[str]) -> str:
    return "\n" + "\n".join(found)


def test_packages_keep_their_order() -> None:
    found = offences(check_order, "headgate")
    assert not found, report(found)


def test_graph_of_packages_has_no_cycle() -> None:
    """Follows from the order; said by the graph that `make packages` draws as well."""
    found = graph()
    assert set(found) <= set(PACKAGES)
    assert all(PACKAGES.index(to) < PACKAGES.index(package) for package, below in found.items() for to in below)
    assert found["runtime.spark"]["scheduling"] > 0


def test_only_the_spark_packages_import_pyspark() -> None:
    found = offences(check_pyspark, "headgate")
    assert not found, report(found)


def test_time_and_randomness_are_passed_in() -> None:
    found = offences(check_clocks, "headgate")
    assert not found, report(found)


def test_no_file_is_too_long() -> None:
    found = offences(check_length, "headgate", "lab", "tests", "scripts")
    assert not found, report(found)


# Offences from before the rule, by module. The numbers only fall.
LEFT = Counter(
    {
        "headgate.api.application": 1,
        "tests.connect.sinks.test_relation_sinks": 5,
        "tests.connect.sources.test_json": 1,
        "tests.runtime.spark.test_engine": 1,
        "tests.scheduling.test_progress": 2,
    }
)


def test_nobody_reaches_into_another_object() -> None:
    found = offences(check_private_names, "headgate", "lab", "tests", "scripts", "examples")
    more = Counter(line.partition(":")[0] for line in found) - LEFT
    assert not more, report([line for line in found if line.partition(":")[0] in more])


def test_nobody_builds_applications_by_hand() -> None:
    found = offences(check_builders, "headgate", "lab", "tests", "scripts", "examples")
    assert not found, report(found)


def test_headgate_is_looked_at() -> None:
    """Guards the tests above against passing because the package moved."""
    assert (ROOT / "headgate" / "__init__.py").is_file()


# Each rule can fail, and does not cry wolf.


@pytest.mark.parametrize(
    "source",
    [
        "import headgate.runtime",
        "import headgate.runtime.spark.session as s",
        "from headgate import cli",
        "from headgate.connect import sources",
        "from headgate.application.load import load_application",
        "from ..runtime.spark import session",
        "from .. import charts",
        "def f():\n    from headgate_lab.studies import prb",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from headgate.runtime.spark import engine",
        "import importlib\nimportlib.import_module('headgate.runtime.spark')",
    ],
)
def test_order_rule_can_fail(source: str) -> None:
    assert check_order("headgate.policies.mbd", source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("headgate.policies.mbd", "from headgate.plan import graph\nfrom .base import Policy"),
        ("headgate.policies.mbd", "from headgate.scheduling import runtime_notes"),
        ("headgate.policies.__init__", "from .runtime import x"),  # headgate.policies.runtime is its own module
        ("headgate.cli.main", "from headgate.runtime.spark import engine"),
        ("headgate.plan.graph", "import runtime"),
        ("headgate.__main__", "from headgate.cli.main import app"),
    ],
)
def test_order_rule_allows(module: str, source: str) -> None:
    assert check_order(module, source) == []


def test_order_rule_resolves_relative_imports_of_packages() -> None:
    assert check_order("headgate.policies.__init__", "from ..connect import sources")
    assert check_order("headgate.policies.family.mbd", "from ...connect import sources")


def test_order_rule_knows_every_package() -> None:
    assert check_order("headgate.attic.old", "import os")


@pytest.mark.parametrize(
    "source",
    [
        "import pyspark",
        "import pyspark.sql.functions as F",
        "from pyspark.sql import SparkSession",
        "def f():\n    import pyspark",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pyspark.sql import DataFrame",
        "__import__('pyspark')",
    ],
)
@pytest.mark.parametrize(
    "module",
    ["headgate.scheduling.queue", "headgate.cli.run", "headgate.runtime.simulated.kernel", "headgate.__init__"],
)
def test_pyspark_rule_can_fail(module: str, source: str) -> None:
    assert check_pyspark(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("headgate.runtime.spark.session", "import pyspark"),
        ("headgate.runtime.spark.__init__", "import pyspark"),
        ("headgate.connect.kafka", "import pyspark"),
        ("headgate.scheduling.queue", "import pyarrow\nimport pyspark_like"),
    ],
)
def test_pyspark_rule_allows(module: str, source: str) -> None:
    assert check_pyspark(module, source) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time\nt = time.time()",
        "import time as clock\nt = clock.perf_counter_ns()",
        "import time\ndef f(clock=time.monotonic): ...",
        "from time import monotonic",
        "from time import *",
        "import random\nx = random.random()",
        "import random\nrandom.seed(1)",
        "import random\nrng = random.Random()",
        "from random import choice",
        "from random import *",
        "import numpy as np\nx = np.random.rand(3)",
        "import numpy as np\nrng = np.random.default_rng()",
        "from numpy import random\nx = random.normal()",
        "import datetime\nd = datetime.datetime.now()",
        "from datetime import datetime\nd = datetime.now()",
        "from datetime import datetime as dt, timezone\nd = dt.now(timezone.utc)",
        "from datetime import date\nd = date.today()",
        "import uuid\nx = uuid.uuid4()",
        "def f():\n    import time\n    return time.time()",
    ],
)
def test_clock_rule_can_fail(source: str) -> None:
    assert check_clocks("headgate.metrics.monitor", source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("headgate.metrics.monitor", "import random\nrng = random.Random(7)\nx = rng.random()"),
        ("headgate.metrics.monitor", "import random\ndef f(rng: random.Random): return rng.choice([1])"),
        ("headgate.metrics.monitor", "from random import Random\nrng = Random(7)"),
        ("headgate.metrics.monitor", "import numpy as np\nrng = np.random.default_rng(7)"),
        ("headgate.metrics.monitor", "from datetime import datetime, timedelta\nd = datetime(2026, 1, 1)"),
        ("headgate.metrics.monitor", "def f(time, clock): return clock.time() + time.time"),
        ("headgate.runtime.spark.slots", "import time\nt = time.monotonic()"),
    ],
)
def test_clock_rule_allows(module: str, source: str) -> None:
    assert check_clocks(module, source) == []


@pytest.mark.parametrize(
    "source",
    [
        "board._choose(0)",
        "def f(self): return self.board._stats",
        "policy._round = []",
        "import module\nmodule._FEWEST = 1",
        "from headgate.cli.run import _options",
        "getattr(caller, '_prepared')",
        "def f(other): return type(other)._x",
        "monkeypatch.setattr(board, '_choose', None)",
        "monkeypatch.setattr('headgate.cli.run._options', None)",
        "class A:\n    def __init__(self): self._x = 1\nclass B:\n    def f(self, a: A): return a._x",
        "class A:\n    def f(self): self._x = 1\ndef g(a: A): return a._x",
    ],
)
def test_private_names_rule_can_fail(source: str) -> None:
    assert check_private_names("tests.test_x", source)


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    def f(self): return self._x + super()._f() + type(self)._y",
        "class A:\n    def __init__(self): self._x = 1\n    def merge(self, other): self._x += other._x",
        "class A:\n    @classmethod\n    def f(cls): return cls._make()",
        "decision._replace(unit=None)._asdict()",
        "x.__class__.__name__ + getattr(x, '__doc__')",
        "frame._jdf.queryExecution()",
        "_own(1)",
    ],
)
def test_private_names_rule_allows(source: str) -> None:
    assert check_private_names("tests.test_x", source) == []


def test_every_allowed_private_name_is_in_use() -> None:
    texts = [p.read_text(encoding="utf-8") for d in ("headgate", "lab", "tests") for p in (ROOT / d).rglob("*.py")]
    assert [name for name in THIRD_PARTY if not any(f".{name}" in text for text in texts)] == []


@pytest.mark.parametrize(
    "source",
    [
        "from headgate.plan.graph import build_plan\nbuild_plan({}, {}, {}, [], [])",
        "from headgate.plan import graph as g\ng.build_plan({}, {}, {}, [], [])",
        "from headgate.application.checked import CheckedApplication as App\ndef f(plan): return App(plan)",
    ],
)
def test_builders_rule_can_fail(source: str) -> None:
    assert check_builders("tests.policies.test_x", source)
    assert check_builders("tests.applications", source) == []


def test_every_builder_builds() -> None:
    for module in BUILDERS:
        source = (ROOT / module.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")
        assert check_builders("another.module", source), f"{module} needs no exception any more"


def test_length_rule_can_fail() -> None:
    assert check_length("headgate.big", "x = 1\n" * 501)
    assert check_length("headgate.full", "x = 1\n" * 500) == []


def test_files_are_found_and_named(tmp_path: Path) -> None:
    bad = tmp_path / "headgate" / "plan" / "graph.py"
    bad.parent.mkdir(parents=True)
    bad.write_text("import pyspark\n")
    assert offences(check_pyspark, "headgate", "absent", root=tmp_path) == [
        "headgate.plan.graph:1: imports pyspark; only runtime.spark, connect may"
    ]
