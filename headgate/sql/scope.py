"""Resolves names: which column of which FROM item a word means.

Inside a query with several streams, columns are called `alias.column` (a single name with a dot, in backticks in SQL).
The columns of a single stream keep their names; those of tables joined with it are `alias.column`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from headgate.errors import known_names
from headgate.sql.dialect import column
from headgate.sql.errors import CqlError
from headgate.sql.field_names import (
    is_count_star,
    name_nameless_fields,
    name_zipped_fields,
    names_its_field,
    refuse_star,
    with_name,
)
from headgate.sql.unsupported import refuse_bare_function
from headgate.sql.verbatim import StarColumns


@dataclass(frozen=True)
class ScopeItem:
    """One item of FROM, with its columns and what they are called inside the query."""

    alias: str
    columns: tuple[str, ...]
    qualified: bool

    def inner_name(self, name: str) -> str:
        """What a column is called inside the query."""
        return f"{self.alias}.{name}" if self.qualified else name

    def find(self, name: str) -> str | None:
        """The column with this name, in any case, as it is spelled in the schema."""
        return next((c for c in self.columns if c.lower() == name.lower()), None)


@dataclass
class Scope:
    """The items of one FROM. `merged` holds the columns of USING, which both sides have in common."""

    items: Sequence[ScopeItem]
    merged: dict[str, str] = field(default_factory=dict)  # lower-case name -> name inside the query
    hidden: set[str] = field(default_factory=set)  # the other side's columns of USING, by their names inside the query
    grouped: set[str] = field(default_factory=set)  # columns that GROUP BY creates: window, session_window

    def resolve(self, expression: exp.Expr) -> exp.Expr:
        """The expression with every column replaced by its name inside the query; CqlError for unknown columns."""
        holder = exp.Paren(this=expression.copy())
        for part in [node for node in holder.find_all(exp.Paren) if names_its_field(node)]:
            part.replace(part.unnest())  # struct((a)) is struct(a)
        written = [node for node in holder.find_all(exp.Column) if not isinstance(node.this, exp.Star)]
        for star in [node for node in holder.find_all(exp.Star) if not is_count_star(node)]:
            self._expand(star.parent if isinstance(star.parent, exp.Column) else star)
        for zipped in [node for node in holder.find_all(exp.Anonymous) if node.name.lower() == "arrays_zip"]:
            zipped.replace(name_zipped_fields(zipped))
        for found in written:
            if found.find_ancestor(exp.Star):  # in EXCEPT, which has been handled
                continue
            meant = self._resolved(found)
            _refuse_hidden(found, meant)
            name = found.parts[-1].name
            changes = isinstance(meant, exp.Column) and meant.name != name
            found.replace(with_name(meant, name) if changes and names_its_field(found) else meant)
        result = holder.this
        result.parent = None
        return result

    def _expand(self, star: exp.Expr) -> None:
        """Replace a `*` among the arguments of a function by the columns it stands for."""
        refuse_star(star)
        structured = names_its_field(star)
        if structured:
            name_nameless_fields(star)
        found = [with_name(means, name) if structured else means for name, means in self.star(star)]
        star.replace(StarColumns(expressions=found))

    def star(self, star: exp.Expr) -> list[tuple[str, exp.Expr]]:
        """The output names and expressions that `*` or `alias.*` stands for, with or without EXCEPT."""
        of_one = isinstance(star, exp.Column)
        shown = self._of(star.parts[:-1]) if isinstance(star, exp.Column) else self._all()
        left_out: set[str] = set()
        for excepted in (star.this if of_one else star).args.get("except_") or []:
            if not isinstance(excepted, exp.Column):
                raise CqlError("EXCEPT names something that is not a column", "write * EXCEPT (a, b)", excepted)
            meant = self._resolved(excepted)
            if not isinstance(meant, exp.Column) or meant.name not in {inside for _, inside in shown}:
                problem = f"'{excepted.parts[-1].name}' is not a column of this *"
                raise CqlError(problem, "name columns that it stands for", excepted)
            left_out.add(meant.name)
        found = [(name, column(inside)) for name, inside in shown if inside not in left_out]
        if not found:
            raise CqlError("* EXCEPT leaves no column", "leave fewer columns out", star)
        return [(name, means) for name, means in found]

    def _of(self, alias: Sequence[exp.Expr]) -> list[tuple[str, str]]:
        """The columns of one item of FROM: their own names and their names inside the query."""
        if len(alias) > 1 or (self._unqualified(alias[0]) and not self._is_item(alias[0])):
            problem = f"'{alias[0].name}.*' would be the fields of a struct, which is not supported"
            raise CqlError(problem, f"name the fields: {alias[0].name}.a, {alias[0].name}.b", alias[0])
        item = self._item(alias[0])
        return [(name, item.inner_name(name)) for name in item.columns]

    def _all(self) -> list[tuple[str, str]]:
        first = [(self._plain(inside), inside) for inside in self.merged.values()]
        shown = set(self.merged.values()) | self.hidden
        rest = [(name, item.inner_name(name)) for item in self.items for name in item.columns]
        return first + [(name, inside) for name, inside in rest if inside not in shown]

    def _is_item(self, alias: exp.Expr) -> bool:
        return any(item.alias.lower() == alias.name.lower() for item in self.items)

    def _plain(self, inside: str) -> str:
        return next(n for item in self.items for n in item.columns if item.inner_name(n) == inside)

    def _item(self, alias: exp.Expr) -> ScopeItem:
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
                return _fields(column(owner.inner_name(name)), parts[2:], found)
        inside = self._unqualified(first)
        if inside is not None:
            return _fields(column(inside), parts[1:], found)
        if owner is not None and len(parts) > 1:
            known = known_names("columns", owner.columns, parts[1].name)
            raise CqlError(f"'{owner.alias}' has no column '{parts[1].name}'", known, parts[1])
        if len(parts) > 1:
            known = known_names("names", [item.alias for item in self.items], first.name)
            raise CqlError(f"there is no '{first.name}' in FROM", known, first)
        refuse_bare_function(found)
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
            return owners[0].inner_name(owners[0].find(name) or name)
        return name if name in self.grouped else None


def _fields(start: exp.Expr, names: Sequence[exp.Expr], place: exp.Column) -> exp.Expr:
    """A column or a field of the struct in it; keeps the position in the text, for errors."""
    start.meta.update({key: place.parts[0].meta[key] for key in ("start",) if key in place.parts[0].meta})
    result = start
    for name in names:
        result = exp.Dot(this=result, expression=name.copy())
    return result


def _refuse_hidden(found: exp.Column, meant: exp.Expr) -> None:
    """Refuse `transform(xs, x -> x + s.x)`: a column that is called x here would be taken for the variable."""
    read = next(meant.find_all(exp.Column)).name.lower()
    above = found.find_ancestor(exp.Lambda)
    while above is not None:
        if read in {variable.name.lower() for variable in above.expressions}:
            raise CqlError(f"the variable '{read}' hides the column '{read}'", "rename the variable", found)
        above = above.find_ancestor(exp.Lambda)
