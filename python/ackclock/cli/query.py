"""``ackclock query``."""

from __future__ import annotations

import csv
import datetime as dt
import sys
from pathlib import Path
from typing import Any

from ackclock.cli import console
from ackclock.cli.app import OK
from ackclock.results.query import Answer, query

_MOST_SHOWN = 200


def run(directory: Path, sql: str, *, as_json: bool, as_csv: bool) -> int:
    """Ask and print. Returns the exit code."""
    answer = query(directory, sql)
    if as_json:
        console.print_json([dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows])
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        _show(answer)
    return OK


def _show(answer: Answer) -> None:
    out = console.stdout()
    shown = [tuple(map(_cell, row)) for row in answer.rows[:_MOST_SHOWN]]
    sides: list[console.Justify] = ["left" if _words(answer, i) else "right" for i in range(len(answer.columns))]
    out.print(console.table([answer.columns, *shown], sides))
    count = len(answer.rows)
    more = f", of which the first {_MOST_SHOWN} are shown; --csv prints all" if count > _MOST_SHOWN else ""
    out.print(f"{count} row{'' if count == 1 else 's'}{more}")


def _words(answer: Answer, column: int) -> bool:
    return any(isinstance(row[column], str) for row in answer.rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """What JSON has no form for is text there."""
    return str(value) if isinstance(value, dt.date | dt.timedelta | bytes) else value
