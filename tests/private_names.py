"""The rule on underscores: nobody reaches into another object's private attributes, tests included.

`x._name` is an offence unless `x` is `self`, `cls`, `super()` or `type(self)`, or the class around it defines `_name`
itself, as when two recorders are merged. So are the ways around it: `getattr(x, "_name")`, `monkeypatch.setattr` and
`from module import _name`.
"""

import ast
from collections.abc import Iterator

NAMED_TUPLE = frozenset({"_asdict", "_fields", "_make", "_replace"})
# Public in spite of the underscore, or the only way to what they hold. A new entry needs its reason.
THIRD_PARTY = {
    "_active_spark_context": "pyspark: is there a context, without making one",
    "_collect_as_arrow": "pyspark: results as Arrow batches, which toArrow() would cast and copy",
    "_ensure_initialized": "pyspark: makes a context talk to a JVM that we started",
    "_exit": "os: ends a process whose other threads do not end",
    "_gateway": "pyspark: the connection to the JVM, to give it one and to find its process",
    "_instantiatedSession": "pyspark: forgets the session of a JVM that is gone",
    "_jdf": "pyspark: the JVM's DataFrame, for its plan and counters",
    "_jsparkSession": "pyspark: the JVM's session, to make a DataFrame from rows that are there already",
    "_jsq": "pyspark: the JVM's streaming query, whose progress it tells in full",
    "_jvm": "pyspark: the way to any class of the JVM",
    "_repr_html_": "IPython: the name under which a notebook asks an object how it looks",
    "_sc": "pyspark: the context of a DataFrame",
    "_serialize_to_jvm": "pyspark: batches to the JVM, as createDataFrame sends them",
}
_BY_NAME = frozenset({"getattr", "setattr", "hasattr", "delattr", "delitem", "object"})


def check_private_names(module: str, source: str) -> list[str]:
    """One line per offence in a module."""
    return [
        f"{module}:{line}: {what}; private to another object: ask for what it promises, or make it public"
        for line, what in sorted(set(_offences(ast.parse(source), frozenset())))
    ]


def _offences(node: ast.AST, own: frozenset[str]) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.ClassDef):
        own = _defined(node)
    elif isinstance(node, ast.Attribute):
        if _is_private(node.attr) and node.attr not in own and not _is_itself(node.value):
            yield node.lineno, ast.unparse(node)
    elif isinstance(node, ast.ImportFrom):
        yield from ((node.lineno, f"import of {a.name}") for a in node.names if _is_private(a.name))
    elif isinstance(node, ast.Call):
        yield from ((node.lineno, ast.unparse(node)) for name in _named(node) if name not in own)
    for child in ast.iter_child_nodes(node):
        yield from _offences(child, own)


def _is_private(name: str) -> bool:
    dunder = name.startswith("__") and name.endswith("__")
    return name.startswith("_") and not dunder and name not in NAMED_TUPLE and name not in THIRD_PARTY


def _is_itself(node: ast.AST) -> bool:
    """`self`, `cls`, `super()` or `type(self)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "super" or (node.func.id == "type" and all(map(_is_itself, node.args)))
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _defined(kind: ast.ClassDef) -> frozenset[str]:
    """The private names of a class: in its body, and assigned to `self`."""
    names = {n.name for n in kind.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    for statement in kind.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    for node in ast.walk(kind):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_itself(node.value):
            names.add(node.attr)
    return frozenset(filter(_is_private, names))


def _named(call: ast.Call) -> Iterator[str]:
    """Private names in a call such as `monkeypatch.setattr(board, "_choose", ...)` or `setattr("module._run", ...)`."""
    function = call.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called not in _BY_NAME:
        return
    if called != "setattr" and len(call.args) > 1 and _is_itself(call.args[0]):
        return
    for argument in call.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            name = argument.value.rpartition(".")[2]
            if _is_private(name):
                yield name
