"""A table of PostgreSQL as the target of epochs. Imported only where psycopg is installed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from headgate.connect.sinks.postgresql_values import column_type, copy_text
from headgate.connect.sinks.relation_content import RelationContent
from headgate.errors import ApplicationError, RowText

EPOCHS = "headgate_epochs"  # our table: which epoch of which sink was written last, and by which run
_ROWS = 1 << 16  # turned into text at a time
_NEVER = (psycopg.DataError, psycopg.IntegrityError, psycopg.NotSupportedError, psycopg.ProgrammingError)


def connection(url: str, defaults: Mapping[str, Any], said: Mapping[str, Any]) -> psycopg.Connection[Any]:
    """Connect, with times in UTC. `defaults` hold where the URL says nothing else."""
    arguments = {"application_name": "headgate", **defaults, **conninfo_to_dict(url), **said, "client_encoding": "UTF8"}
    opened = psycopg.connect(**arguments)
    opened.execute("SET TIME ZONE 'UTC'")
    opened.commit()
    return opened


class PostgresqlTable:
    """An `EpochSink`. The table `headgate_epochs` beside the results says which epoch was written last.

    It also names the latest run that opened this sink: an earlier one that is still alive can write no more. With a
    key, the table is kept equal to a relation: the epoch's changes replace and delete rows.
    """

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[Any]],
        name: tuple[str, ...],
        sink: str,
        columns: pa.Schema,
        key: list[str],
        create: bool,
        place: str,
    ) -> None:
        self._connect = connect
        self._connection: psycopg.Connection[Any] | None = None
        self._table = sql.Identifier(*name)
        self._epochs = sql.Identifier(*name[:-1], EPOCHS)
        self._sink = sink
        self._run = uuid.uuid4().hex
        self._key = key
        self._place = place
        try:
            with self._transaction() as cursor:
                # Types that only Spark knows are known with the first results.
                self._made = self._prepare(cursor, columns, create)
                self.last_epoch: int = self._claim(cursor)
        except psycopg.Error as error:
            raise ApplicationError(place, f"PostgreSQL: {_said(error)}") from error

    def commit(self, epoch: int, table: pa.Table) -> None:
        """See `EpochSink`."""
        try:
            with self._transaction() as cursor:
                if not self._advance(cursor, epoch):
                    return
                if not self._made:
                    self._create(cursor, _results(table, self._key).schema)
                if self._key:
                    self._replace(cursor, table)
                else:
                    self._copy(cursor, self._table, table)
        except _NEVER as error:
            raise ValueError(RowText(f"PostgreSQL: {_said(error)}")) from error
        self._made = True

    def close(self) -> None:
        """See `EpochSink`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Cursor[Any]]:
        """A transaction, committed at the end. After an error the next one has a new connection."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            with self._connection.transaction(), self._connection.cursor() as cursor:
                yield cursor
        except BaseException:
            self.close()
            raise

    # The table of results ----------------------------------------------------------------------------------------

    def _prepare(self, cursor: psycopg.Cursor[Any], columns: pa.Schema, create: bool) -> bool:
        """Check or create the table; False: it is to be created once the types are known."""
        if self._exists(cursor, self._table):
            self._check(cursor, columns)
            return True
        if not create:
            name = self._table.as_string(cursor)
            remedy = f"write create: true, or create it: {self._creation(columns).as_string(cursor)}"
            raise ApplicationError(f"{self._place}.table", f"there is no table {name}", remedy)
        if any(pa.types.is_null(field.type) for field in columns):
            return False
        self._create(cursor, columns)
        return True

    def _exists(self, cursor: psycopg.Cursor[Any], name: sql.Identifier) -> bool:
        found = cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name.as_string(cursor)]).fetchone()
        return bool(found and found[0])

    def _check(self, cursor: psycopg.Cursor[Any], columns: pa.Schema) -> None:
        """Let PostgreSQL say whether these columns can be inserted, without doing so."""
        known = [field for field in columns if not pa.types.is_null(field.type)]
        nulls = [sql.SQL("NULL::") + sql.SQL(column_type(field.type)) for field in known]
        insert = sql.SQL("EXPLAIN INSERT INTO {} ({}) SELECT {}")
        cursor.execute(insert.format(self._table, _names(pa.schema(known).names), sql.SQL(", ").join(nulls)))

    def _create(self, cursor: psycopg.Cursor[Any], columns: pa.Schema) -> None:
        cursor.execute(self._creation(columns))
        if self._key:
            cursor.execute(sql.SQL("CREATE INDEX ON {} ({})").format(self._table, _names(self._key)))

    def _creation(self, columns: pa.Schema) -> sql.Composed:
        said = [sql.Identifier(field.name) + sql.SQL(" " + column_type(field.type)) for field in columns]
        return sql.SQL("CREATE TABLE {} ({})").format(self._table, sql.SQL(", ").join(said))

    # Epochs ------------------------------------------------------------------------------------------------------

    def _claim(self, cursor: psycopg.Cursor[Any]) -> int:
        """Become the run that writes; returns the epoch that was written last."""
        if not self._exists(cursor, self._epochs):
            create = "CREATE TABLE IF NOT EXISTS {} (sink text PRIMARY KEY, epoch bigint NOT NULL, run text NOT NULL)"
            cursor.execute(sql.SQL(create).format(self._epochs))
        claim = "INSERT INTO {} VALUES (%s, 0, %s) ON CONFLICT (sink) DO UPDATE SET run = excluded.run RETURNING epoch"
        found = cursor.execute(sql.SQL(claim).format(self._epochs), [self._sink, self._run]).fetchone()
        assert found is not None
        return int(found[0])

    def _advance(self, cursor: psycopg.Cursor[Any], epoch: int) -> bool:
        """Note the epoch; False: it was written before. Waits for a transaction of a lost connection to end."""
        update = sql.SQL("UPDATE {} SET epoch = %s WHERE sink = %s AND run = %s AND epoch < %s").format(self._epochs)
        if cursor.execute(update, [epoch, self._sink, self._run, epoch]).rowcount:
            return True
        select = sql.SQL("SELECT 1 FROM {} WHERE sink = %s AND run = %s").format(self._epochs)
        if cursor.execute(select, [self._sink, self._run]).fetchone() is None:
            raise ValueError(f"another run has begun to write the results of {self._sink}")
        return False

    # Rows --------------------------------------------------------------------------------------------------------

    def _copy(self, cursor: psycopg.Cursor[Any], target: sql.Identifier, rows: pa.Table) -> None:
        command = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(target, _names(rows.column_names))
        with cursor.copy(command) as copy:
            for first in range(0, rows.num_rows, _ROWS):
                copy.write(copy_text(rows.slice(first, _ROWS)))

    def _replace(self, cursor: psycopg.Cursor[Any], changes: pa.Table) -> None:
        """Delete the rows of all keys that changed, then insert those that there are now."""
        rows = _results(changes, self._key)
        added, changed = _net(rows, changes.column("change"), self._key)
        gone = sql.Identifier("headgate_changed")
        copied = sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA")
        cursor.execute(copied.format(gone, _names(self._key), self._table))
        self._copy(cursor, gone, changed)
        matches = [_same(name, changed.column(name).null_count > 0) for name in self._key]
        delete = sql.SQL("DELETE FROM {} AS t USING {} AS c WHERE {}")
        cursor.execute(delete.format(self._table, gone, sql.SQL(" AND ").join(matches)))
        self._copy(cursor, self._table, added)


def _same(column: str, with_nulls: bool) -> sql.Composed:
    """Two keys are the same. Only the comparison without nulls can use an index."""
    test = sql.SQL("t.{0} IS NOT DISTINCT FROM c.{0}") if with_nulls else sql.SQL("t.{0} = c.{0}")
    return test.format(sql.Identifier(column))


def _results(table: pa.Table, key: list[str]) -> pa.Table:
    """The columns of the results; with a key, `time` and `change` stand in front."""
    return table.select(table.column_names[2:]) if key else table


def _net(rows: pa.Table, changes: pa.ChunkedArray, key: list[str]) -> tuple[pa.Table, pa.Table]:
    """The rows that an epoch adds in the end, and all keys that it changes."""
    content = RelationContent()
    content.add(rows, pc.if_else(pc.equal(changes, "+"), 1, -1))
    state = content.state()
    assert state is not None
    counts = state.column(state.num_columns - 1)
    found = state.select(range(rows.num_columns)).rename_columns(rows.column_names)
    added = found.filter(pc.greater(counts, 0))
    if _distinct(added, key) < added.num_rows or (added.num_rows and pc.max(counts).as_py() > 1):
        raise ValueError(f"several rows of the results have the same key ({', '.join(key)}): name all columns it needs")
    return added, found.select(key)


def _distinct(rows: pa.Table, key: list[str]) -> int:
    return int(rows.select(key).group_by(key).aggregate([]).num_rows)


def _names(names: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _said(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
