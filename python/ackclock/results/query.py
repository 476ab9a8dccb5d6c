"""SQL over a result, with DuckDB: its tables are views, and nothing else can be read or written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ackclock.errors import InputError, one_line
from ackclock.results import store
from ackclock.results.tables import NAMES


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows and the names of their columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def query(path: str | os.PathLike[str], sql: str) -> Answer:
    """What a statement that only reads finds in the result directory `path`.

    The views are ``runs``, ``flows``, ``links``, ``transfers`` and ``series`` (docs/results.md has their columns).
    Raises :class:`InputError` if the directory is not a result or the statement is wrong.
    """
    store.manifest_of(path)  # says what is wrong with a directory that is none
    folder = Path(path).resolve()
    with duckdb.connect() as connection:
        try:
            statements = duckdb.extract_statements(sql)
            if len(statements) != 1 or statements[0].type not in (
                duckdb.StatementType.SELECT,
                duckdb.StatementType.EXPLAIN,
            ):
                raise InputError("not a single statement that only reads", "give one SELECT", key="sql")
            for name in NAMES:
                connection.read_parquet(str(folder / f"{name}.parquet")).create_view(name)
            connection.execute("SET allowed_directories = ?", [[str(folder)]])
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            found = connection.execute(statements[0])
            columns = tuple(column[0] for column in found.description or ())
            return Answer(columns, found.fetchall())
        except duckdb.Error as error:
            raise InputError(one_line(str(error)), "docs/results.md has the columns", key="sql") from None
