"""The packages of Headgate in their order, and the graph of their imports. `make packages` prints it.

A package imports only packages above it. `tests/test_house_rules.py` keeps the order.
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Package or module below `headgate` -> what it is. Top to bottom; each imports only what stands above it.
ORDER = {
    "errors": "errors that name the place and the remedy",
    "durations": "lengths of time as people write them",
    "seeds": "seeds derived from names",
    "extensions": "classes by name: ours, the user's, those of other packages",
    "settings": "sections of settings, the types of their values, and errors in them",
    "sql": "schemas and the text of Spark SQL expressions",
    "plan": "what an application is: streams, operators, graph, paths",
    "language": "CQL text to operators",
    "metrics": "statistics, latencies, what a report is made of",
    "scheduling": "the pure core: queues, units, board, progress of time, the policy protocol",
    "policies": "one file per policy",
    "qos": "promises to queries: measured, and kept by other policies or by shedding",
    "twin": "forecasts of a running application under other policies",
    "feeder": "arrival processes and generated values",
    "connect": "sources and sinks, each kind with its settings",
    "application": "the application file, checked, as one plan",
    "runtime.simulated": "virtual time and a cost model",
    "runtime.spark": "wall time, threads and Spark",
    "charts": "pictures",
    "display": "applications and reports as text and in notebooks",
    "api": "the front door: applications, runs, reports",
    "testing": "checks for policies, sources and sinks of other people",
    "demo": "the application that `headgate demo` runs",
    "server": "registers, watches and steers continuous queries over HTTP",
    "client": "a server's verbs for Python programs and commands",
    "cli": "one file per command",
}
Graph = Mapping[str, Counter[str]]


def absolute(module: str, node: ast.ImportFrom, is_package: bool) -> str:
    """The absolute name of what `from ... import` names, relative imports resolved."""
    if node.level == 0:
        return node.module or ""
    parts = module.split(".")
    keep = len(parts) - node.level + (1 if is_package else 0)
    return ".".join([*parts[:keep], *([node.module] if node.module else [])])


def imports(module: str, tree: ast.AST, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """Every imported name with its line, wherever it stands: top level, functions, TYPE_CHECKING blocks, and
    `import_module("...")` with a literal."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            source = absolute(module, node, is_package)
            for alias in node.names:
                yield node.lineno, f"{source}.{alias.name}"
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if (
                called in ("import_module", "__import__")
                and isinstance(first, ast.Constant)
                and isinstance(first.value, str)
            ):
                yield node.lineno, first.value


def package_of(module: str) -> str | None:
    """The package of the order that a module belongs to; None: the front door, or not ours."""
    if not module.startswith("headgate."):
        return None
    name = module.removeprefix("headgate.")
    return next((package for package in ORDER if name == package or name.startswith(f"{package}.")), None)


def graph(root: Path = ROOT) -> Graph:
    """Package -> the packages it imports, and in how many places."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted((root / "headgate").rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        name = module.removesuffix(".__init__")
        importer = package_of(name)
        for _, imported in imports(name, ast.parse(path.read_text(encoding="utf-8")), name != module):
            package = package_of(imported)
            if importer and package and package != importer:
                found[importer][package] += 1
    return found


def drawn(found: Graph) -> str:
    """One line per package: what it is and what it imports."""
    width = max(map(len, ORDER))
    lines = []
    for package, what in ORDER.items():
        below = [name for name in ORDER if found.get(package, Counter())[name]]
        lines.append(f"{package:{width}}  {what}\n{'':{width}}  imports {', '.join(below) or 'nothing'}")
    return "\n".join(lines)


def mermaid(found: Graph) -> str:
    """The same as a Mermaid diagram; imports that follow from others are left out."""
    reach: dict[str, set[str]] = {}
    lines = ["graph BT"]
    for package in ORDER:
        direct = set(found.get(package, ()))
        reach[package] = direct.union(*(reach[name] for name in direct))
        plain = [name for name in ORDER if name in direct and not any(name in reach[o] for o in direct - {name})]
        lines += [f"  {package} --> {name}" for name in plain]
    return "\n".join(lines)


if __name__ == "__main__":
    print(mermaid(graph()) if "--mermaid" in sys.argv else drawn(graph()))
