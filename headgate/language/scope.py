"""Names: which column of which FROM item a word means.

Inside a query with several streams, columns are called `alias.column` (one name with a dot, in backticks in SQL). The
columns of a single stream keep their names; those of tables beside it are `alias.column`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from headgate.language.dialect import column
from headgate.language.errors import CqlError
from headgate.plan.errors import known_names

_UNIT_FIRST = ("timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff")


@dataclass(frozen=True)
class Item:
    """One thing in FROM, with its columns and what they are called inside the query."""

    alias: str
    columns: tuple[str, ...]
    qualified: bool

    def inside(self, name: str) -> str:
        return f"{self.alias}.{name}" if self.qualified else name

    def find(self, name: str) -> str | None:
        return next((c for c in self.columns if c.lower() == name.lower()), None)


@dataclass
class Scope:
    """The items of one FROM. `merged` are the columns of USING, which both sides have in common."""

    items: Sequence[Item]
    merged: dict[str, str] = field(default_factory=dict)  # lower-case name -> name inside the query
    hidden: set[str] = field(default_factory=set)  # the other side's columns of USING, by name inside the query
    grouped: set[str] = field(default_factory=set)  # columns that GROUP BY makes: window, session_window

    def resolve(self, expression: exp.Expr) -> exp.Expr:
        """The expression with every column called by its name inside the query; CqlError for unknown ones."""
        holder = exp.Paren(this=expression.copy())
        for unit in [node for node in holder.find_all(exp.Anonymous) if node.name.lower() in _UNIT_FIRST]:
            first = unit.expressions[0] if len(unit.expressions) == 3 else None
            if isinstance(first, exp.Column) and not first.table:
                first.replace(exp.var(first.name))
        for found in list(holder.find_all(exp.Column)):
            if isinstance(found.this, exp.Star):
                if isinstance(found.parent, exp.Anonymous) and len(found.parts) > 1:
                    self._item(found.parts[0])
                    found.parent.set("expressions", self._starred(found.parent))
                continue
            meant = self._resolved(found)
            _refuse_hidden(found, meant)
            found.replace(meant)
        result = holder.this
        result.parent = None
        return result

    def _starred(self, call: exp.Anonymous) -> list[exp.Expr]:
        """Arguments of a function with `s.*` written out."""
        found: list[exp.Expr] = []
        for argument in call.expressions:
            if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star):
                item = self._item(argument.parts[0])
                found += [column(item.inside(name)) for name in item.columns]
            else:
                found.append(argument)
        return found

    def star(self, alias: exp.Expr | None = None) -> list[tuple[str, exp.Expr]]:
        """The columns of `*` or `alias.*`: output name and expression."""
        if alias is not None:
            item = self._item(alias)
            return [(name, column(item.inside(name))) for name in item.columns]
        first: list[tuple[str, exp.Expr]] = [(self._plain(inside), column(inside)) for inside in self.merged.values()]
        shown = set(self.merged.values()) | self.hidden
        rest = [(name, item.inside(name)) for item in self.items for name in item.columns]
        return first + [(name, column(inside)) for name, inside in rest if inside not in shown]

    def _plain(self, inside: str) -> str:
        return next(n for item in self.items for n in item.columns if item.inside(n) == inside)

    def _item(self, alias: exp.Expr) -> Item:
        found = [item for item in self.items if item.alias.lower() == alias.name.lower()]
        if not found:
            known = known_names("names", [item.alias for item in self.items], alias.name)
            raise CqlError(f"there is no '{alias.name}' in FROM", known, alias)
        return found[0]

    def _resolved(self, found: exp.Column) -> exp.Expr:
        parts = found.parts
        first = parts[0]
        owner = next((item for item in self.items if item.alias.lower() == first.name.lower()), None)
        if owner is not None and len(parts) > 1:
            name = owner.find(parts[1].name)
            if name is not None:
                return _fields(column(owner.inside(name)), parts[2:], found)
        inside = self._unqualified(first)
        if inside is not None:
            return _fields(column(inside), parts[1:], found)
        if owner is not None and len(parts) > 1:
            known = known_names("columns", owner.columns, parts[1].name)
            raise CqlError(f"'{owner.alias}' has no column '{parts[1].name}'", known, parts[1])
        if len(parts) > 1:
            known = known_names("names", [item.alias for item in self.items], first.name)
            raise CqlError(f"there is no '{first.name}' in FROM", known, first)
        columns = {name for item in self.items for name in item.columns}
        raise CqlError(f"there is no column '{first.name}'", known_names("columns", columns, first.name), first)

    def _unqualified(self, word: exp.Expr) -> str | None:
        name = word.name.lower()
        if name in self.merged:
            return self.merged[name]
        owners = [item for item in self.items if item.find(name) is not None]
        if len(owners) > 1:
            named = " and ".join(f"'{item.alias}'" for item in owners)
            remedy = f"write {owners[0].alias}.{word.name} or {owners[1].alias}.{word.name}"
            raise CqlError(f"column '{word.name}' is in {named}", remedy, word)
        if owners:
            return owners[0].inside(owners[0].find(name) or name)
        return name if name in self.grouped else None


def _fields(start: exp.Expr, names: Sequence[exp.Expr], place: exp.Column) -> exp.Expr:
    """A column, or fields of the struct that it holds; it keeps the place in the text, for errors."""
    start.meta.update({key: place.parts[0].meta[key] for key in ("start",) if key in place.parts[0].meta})
    result = start
    for name in names:
        result = exp.Dot(this=result, expression=name.copy())
    return result


def _refuse_hidden(found: exp.Column, meant: exp.Expr) -> None:
    """`transform(xs, x -> x + s.x)`: inside, the column would be taken for the variable."""
    read = next(meant.find_all(exp.Column)).name.lower()
    above = found.find_ancestor(exp.Lambda)
    while above is not None:
        if read in {variable.name.lower() for variable in above.expressions}:
            raise CqlError(f"the variable '{read}' hides the column '{read}'", "call the variable otherwise", found)
        above = above.find_ancestor(exp.Lambda)
