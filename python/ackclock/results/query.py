"""SQL over a result, with DuckDB: its tables are views, and nothing else can be read or written."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from ackclock.errors import InputError, one_line
from ackclock.results import incomplete, measures, store
from ackclock.results.manifest import LATER, TABLES, Manifest, tables_of
from ackclock.results.validity import VALID

_NO_TABLE = re.compile(r'Table with name "?(.+?)"? does not exist')
_HINTS = ("Candidate bindings", "Did you mean")
MEASURES = "measures"
_ASKED_FOR = {
    "series": ("nothing was sampled", "a scenario's [probes], or ackclock pcap --series, asks for it"),
    "events": ("no events were written", "ackclock pcap --events asks for them"),
}
"""Tables that have rows only where they were asked for: what it means that one has none."""
_INSTANT = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows and the names of their columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    notes: tuple[str, ...] = ()
    """What is to be known of the result."""


def query(path: str | os.PathLike[str], sql: str) -> Answer:
    """What a statement that only reads finds in the result directory `path`.

    The views are ``runs``, ``flows``, ``links``, ``transfers``, ``series``, ``pages`` and ``objects``, of captures
    ``captures`` and ``events`` too, and what applications measured is the table ``measures`` (docs/results.md has their
    columns).
    Points in time with a time zone are text, in UTC. Raises :class:`InputError` if the directory is not a result, a
    file that the statement names was altered, or the statement is wrong.
    """
    manifest = store.manifest_of(path)  # says what is wrong with a directory that is none
    folder = Path(path).resolve()
    empty: list[str] = []
    with duckdb.connect() as connection:
        try:
            statements = duckdb.extract_statements(sql)
            if len(statements) != 1 or statements[0].type not in (
                duckdb.StatementType.SELECT,
                duckdb.StatementType.EXPLAIN,
            ):
                raise InputError("not a single statement that only reads", "give one SELECT", key="sql")
            # A table that is not even named cannot be read; to check one may take long.
            for name in (name for name in tables_of(manifest) if name in sql.casefold()):
                if name in LATER and f"{name}.parquet" not in manifest["files"]:
                    continue
                view = connection.read_parquet(str(_checked(folder, name, manifest)))
                view.create_view(name)
                if name in _ASKED_FOR and not view.limit(1).fetchall():
                    empty.append(f"{name} has no rows: {_ASKED_FOR[name][0]}; {_ASKED_FOR[name][1]}")
            if MEASURES in sql.casefold():
                _add_measures(connection, manifest)
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET allowed_directories = ?", [[str(folder)]])
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            used = () if VALID in sql.casefold() else incomplete.used(manifest)
            return replace(_answer(connection, statements[0]), notes=(*incomplete.notes(manifest), *used, *empty))
        except InputError:
            raise
        except Exception as error:  # of DuckDB, and of what it needs to turn a value into one of Python's
            raise _refusal(error, tables_of(manifest)) from None


def _add_measures(connection: duckdb.DuckDBPyConnection, manifest: Manifest) -> None:
    """The rows of :attr:`ackclock.Result.measures`, which the manifest has."""
    kinds = ("uinteger", "uinteger", "uinteger", "varchar", "varchar", "double")
    columns: list[list[Any]] = [list(column) for column in zip(*measures.rows(manifest), strict=True)] or [[]] * len(
        kinds
    )
    named = (f"unnest(?::{kind}[]) as {name}" for name, kind in zip(measures.COLUMNS, kinds, strict=True))
    connection.execute(f"create table {MEASURES} as select {', '.join(named)}", columns)


def _answer(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> Answer:
    if statement.type == duckdb.StatementType.EXPLAIN:
        found = connection.execute(statement)
        return Answer(tuple(column[0] for column in found.description or ()), found.fetchall())
    relation = connection.sql(statement.query)
    columns = tuple(relation.columns)
    kinds = [str(kind) for kind in relation.types]
    if any(_INSTANT in kind for kind in kinds):  # a value of Python's own would need pytz
        numbered = (f"cast(#{n} as varchar)" if _INSTANT in kind else f"#{n}" for n, kind in enumerate(kinds, start=1))
        relation = relation.project(", ".join(numbered))
    return Answer(columns, relation.fetchall())


def _checked(folder: Path, name: str, manifest: Manifest) -> Path:
    """The file of a table, if it is the one that the manifest describes."""
    file = folder / f"{name}.parquet"
    try:
        with file.open("rb") as stream:
            same = hashlib.file_digest(stream, "sha256").hexdigest() == manifest["files"][file.name]["sha256"]
    except (OSError, KeyError):
        remedy = "give a directory written by ackclock run --out or ackclock sweep"
        raise InputError("is missing", remedy, source=str(file)) from None
    if not same:
        raise InputError("is not the file its manifest describes", "run the scenario again", source=str(file))
    return file


def _refusal(error: Exception, known: Sequence[str] = TABLES) -> InputError:
    """What DuckDB says, in one line, with a remedy that fits."""
    first, *others = str(error).split("\n\nLINE ")[0].split("\n")
    message = one_line(" ".join([first, *(line for line in others if line.startswith(_HINTS))]))
    tables = f"the tables are {', '.join((*known, MEASURES))}"
    if (missing := _NO_TABLE.search(first)) is not None:
        return InputError(f"no table '{missing[1]}'", tables, key="sql")
    if isinstance(error, duckdb.PermissionException):
        return InputError(message, f"only the result can be read; {tables}", key="sql")
    if isinstance(error, duckdb.BinderException) and "column" in first:
        return InputError(message, "docs/results.md has the columns", key="sql")
    if isinstance(error, duckdb.Error):
        return InputError(message, "correct the statement", key="sql")
    return InputError(f"the answer cannot be read ({message})", "cast its columns, as in cast(x as varchar)", key="sql")
