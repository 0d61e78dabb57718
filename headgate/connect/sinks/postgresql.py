"""Results in a table of PostgreSQL: the rows of an epoch and its number in one transaction."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from headgate.connect.sinks.base import Shape
from headgate.connect.sinks.checks import refuse_repeated_names, refuse_whole_relation
from headgate.connect.sinks.kind import EpochSinkKind, SinkContext
from headgate.errors import ApplicationError
from headgate.settings.sections import Filled, refuse

if TYPE_CHECKING:
    from headgate.connect.sinks.postgresql_table import PostgresqlTable

_ANSWERS = {"connect_timeout": 10, "tcp_user_timeout": 30_000}  # seconds and milliseconds; a lost server is noticed
_PASSWORD = re.compile(r"password\s*=", re.IGNORECASE)


def _without_password(url: str) -> str:
    if urlsplit(url).password or _PASSWORD.search(url):
        remedy = "take it out; name a variable of the environment in password_env, or use PGPASSWORD or ~/.pgpass"
        raise refuse("a password does not belong here", remedy)
    return url


class Postgresql(EpochSinkKind):
    """Results as rows of a table of PostgreSQL.

    A relation that can lose rows is kept as it stands: `key` names the columns that identify its rows.
    """

    kind = "postgresql"
    url: Annotated[Filled, AfterValidator(_without_password)]
    password_env: Filled | None = None  # a variable of the environment
    table: Filled  # or schema.table
    create: bool = False  # if there is no such table
    key: list[Filled] = Field(default_factory=list)

    def shape(self, context: SinkContext) -> Shape:
        """See `EpochSinkKind`. With a key the table gets the changes of the relation."""
        if not (self.key and context.shape.whole):
            return context.shape
        return Shape(context.schema, {**context.query.sink, "format": "changes"}, context.flow)

    def connect(self, context: SinkContext) -> PostgresqlTable:
        """See `EpochSinkKind`."""
        self._check(context)
        try:
            from headgate.connect.sinks.postgresql_table import PostgresqlTable, connection
        except ImportError as error:
            remedy = "install it: pip install 'headgate[postgresql]'"
            raise ApplicationError(
                context.place, f"a sink of kind postgresql needs psycopg ({error})", remedy
            ) from None
        said: dict[str, Any] = {} if self.password_env is None else {"password": self._password(context.place)}
        return PostgresqlTable(
            lambda: connection(self.url, _ANSWERS, said),
            name=tuple(self.table.split(".")),
            sink=f"{context.query.name} in {self.table}",
            columns=context.shape.empty().schema,
            key=self.key,
            create=self.create,
            place=context.place,
        )

    def _check(self, context: SinkContext) -> None:
        shape, place = context.shape, context.place
        if self.table.count(".") > 1 or not all(self.table.split(".")):
            raise ApplicationError(f"{place}.table", f"'{self.table}' is not a table", "write table or schema.table")
        refuse_repeated_names(shape, place, self.kind)
        if not self.key:
            refuse_whole_relation(shape, place, self.kind, "name the columns that identify a row as its key, ")
        elif not shape.whole:
            problem = "a key is for results that can lose rows, which these cannot"
            raise ApplicationError(f"{place}.key", problem, "take it out")
        for name in self.key:
            if name not in shape.names:
                known = f"known: {', '.join(shape.names)}"
                raise ApplicationError(f"{place}.key", f"the results have no column '{name}'", known)

    def _password(self, place: str) -> str:
        found = os.environ.get(self.password_env or "")
        if found is None:
            problem = f"there is no variable {self.password_env} in the environment"
            raise ApplicationError(f"{place}.password_env", problem, "set it to the password")
        return found
