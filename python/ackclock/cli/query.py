"""``ackclock query``."""

from __future__ import annotations

import csv
import datetime as dt
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement

from ackclock.cli import console
from ackclock.cli.exit_codes import OK
from ackclock.errors import InputError
from ackclock.results.query import Answer, query

_MOST_SHOWN = 200


def run(directory: Path, sql: str, *, as_json: bool, as_csv: bool) -> int:
    """Ask and print. Returns the exit code."""
    if as_json and as_csv:
        raise InputError("it is printed in one form", "leave out --json or --csv", key="--csv")
    answer = query(directory, sql)
    if as_json:
        _distinct(answer.columns)
        console.print_json([dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows])
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        _show(answer)
    for note in answer.notes:
        console.warn(note)
    return OK


def _distinct(columns: Sequence[str]) -> None:
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        problem = f"two columns are called '{twice}', of which JSON can have one"
        raise InputError(problem, "give them names, as in select a as x", key="sql")


def _show(answer: Answer) -> None:
    shown = [tuple(map(_cell, row)) for row in answer.rows[:_MOST_SHOWN]]
    sides: list[console.Justify] = ["left" if _words(answer, i) else "right" for i in range(len(answer.columns))]
    table = console.table([answer.columns, *shown], sides)
    out = console.stdout()
    needed = _width(table)
    if needed <= out.width:
        out.print(table)
    elif sys.stdout.isatty():
        _records(out, answer.columns, shown)
    else:  # a file or another program folds nothing
        Console(file=sys.stdout, width=needed, highlight=False).print(table.rich())
    count = len(answer.rows)
    more = f", of which the first {_MOST_SHOWN} are shown; --csv prints all" if count > _MOST_SHOWN else ""
    out.print(f"{count} row{'' if count == 1 else 's'}{more}")


def _width(table: console.Table) -> int:
    unbound = Console(width=10**6)
    return Measurement.get(unbound, unbound.options, table.rich()).maximum


def _records(out: console.Output, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A block for each row with a line for each column: what is wider than a terminal is read like that."""
    widest = max(map(len, columns))
    for number, row in enumerate(rows, start=1):
        out.print(f"row {number}", markup=False)
        for name, cell in zip(columns, row, strict=True):
            out.print(f"  {name:<{widest}}  {cell}", markup=False, soft_wrap=True)


def _words(answer: Answer, column: int) -> bool:
    return any(isinstance(row[column], str) for row in answer.rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """A value as JSON has it; what it has no form for is text there."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dt.date | dt.time):
        return value.isoformat(*([" "] if isinstance(value, dt.datetime) else []))
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
