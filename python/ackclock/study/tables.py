"""Tables of a study: what was measured, beside what the paper and others found."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ackclock.stats import Interval
from ackclock.study.code import Measure
from ackclock.study.failures import Failure, reason
from ackclock.study.model import Column, Reference, Row, TableSpec
from ackclock.study.runs import Results, Runs
from ackclock.study.times import Times
from ackclock.study.verdict import span

_FAR = 1e4
"""Where the end of an interval is so many times the value, as of two ratios, its digits say nothing."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table: what was found for each column, in its order, already scaled, and which of its runs failed.

    `key` is what references call it.
    """

    label: str
    key: str
    cells: tuple[Interval, ...]
    failed: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its numbers."""

    spec: TableSpec
    lines: tuple[Line, ...]

    def rows(self) -> list[list[str]]:
        """Header and rows as text: the column, then each reference that has a number for it."""
        header, body = [""], [[line.label] for line in self.lines]
        for index, column in enumerate(self.spec.columns):
            header.append(column.label)
            for cells, line in zip(body, self.lines, strict=True):
                found = line.cells[index]
                cells.append("failed" if line.failed and found.n == 0 else shown(found, column.digits))
            for reference in self.spec.references:
                values = [_of(reference, line, column) for line in self.lines]
                if any(value is not None for value in values):
                    header.append(reference.label)
                    for cells, value in zip(body, values, strict=True):
                        cells.append("" if value is None else f"{value:.{column.digits}f}")
        return [header, *body]

    def notes(self) -> list[str]:
        """What stands below the table: the rows of which runs failed, and why."""
        return [f"{line.label}: {reason(line.failed)}" for line in self.lines if line.failed]

    def csv(self) -> str:
        """The same for machines: a row for each cell."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        header = ["row", "measure", "value", "low", "high", "n", "more_than", "censored", "failed"]
        writer.writerow([*header, *(reference.label for reference in self.spec.references)])
        for line in self.lines:
            for column, cell in zip(self.spec.columns, line.cells, strict=True):
                times = (cell.beyond, cell.censored) if isinstance(cell, Times) else (None, None)
                others = (_of(reference, line, column) for reference in self.spec.references)
                numbers = (cell.value, cell.low, cell.high, cell.n, *times, len(line.failed), *others)
                writer.writerow([line.label, column.measure, *map(_digits, numbers)])
        return stream.getvalue()


def build(spec: TableSpec, results: Results, measures: Mapping[str, Measure]) -> Table:
    """The numbers of a table."""
    lines = [
        Line(label, key, tuple(_cell(runs, column, measures[column.measure]) for column in spec.columns), runs.failed)
        for row in spec.rows
        for label, key, runs in _selected(row, results[row.scenario])
    ]
    return Table(spec, tuple(lines))


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as plain text, the first column to the left and the others to the right."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) if not index else cell.rjust(width) for index, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def markdown(rows: Sequence[Sequence[str]], *, numbers: bool = True) -> str:
    """Rows as a Markdown table. With `numbers`, all columns but the first are aligned to the right."""
    header, *body = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    rule = ["---", *("--:" if numbers else "---" for _ in header[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *body)) + "\n"


def shown(found: Interval, digits: int) -> str:
    """A value with half the width of its interval, or with its ends where the digits tell that it is not midway."""
    if isinstance(found, Times) and (found.censored or found.low is None or found.high is None):
        return _time(found, digits)
    if found.value is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.{digits}f}"
    if abs(found.high + found.low - 2 * found.value) >= 10.0**-digits:
        high = (
            f"{found.high:.{digits}f}"
            if found.high <= _FAR * abs(found.value) or not found.value
            else f"{found.high:.1e}"
        )
        return f"{found.value:.{digits}f} ({found.low:.{digits}f} to {high})"
    return f"{found.value:.{digits}f} ± {(found.high - found.low) / 2:.{digits}f}"


def _time(found: Times, digits: int) -> str:
    """A median with the ends there are, and in how many runs it did not happen; more than so much where in most."""
    value = found.value if found.beyond is None else found.beyond
    if value is None:
        return "-"
    ends = span((found.low, found.high), f".{digits}f") if found.beyond is None else ""
    missing = f"{found.censored} of {found.n} not" if found.censored else ""
    notes = "; ".join(part for part in (ends, missing) if part)
    return f"{'' if found.beyond is None else '> '}{value:.{digits}f}{f' ({notes})' if notes else ''}"


def _cell(runs: Runs, column: Column, measure: Measure) -> Interval:
    found = runs.median(measure) if column.median else runs.interval(measure)
    return found.scaled(column.scale)


def _digits(value: float | None) -> str:
    """As many digits as a measurement can need, so that scaling leaves no tail."""
    return "" if value is None else f"{value:.10g}"


def _of(reference: Reference, line: Line, column: Column) -> float | None:
    """What a reference has for a cell, scaled like the cell."""
    value = reference.values.get(line.key, {}).get(column.measure)
    return None if value is None else value * column.scale


def _selected(row: Row, runs: Runs) -> Iterator[tuple[str, str, Runs]]:
    """What each row is called here and by references, and its runs."""
    chosen = runs.where(row.where)
    if not row.each:
        yield row.label, row.label, chosen
        return
    begin = [row.label] if row.label else []
    for values in itertools.product(*(chosen.steps(key) for key in row.each)):
        part = chosen.where(dict(zip(row.each, values, strict=True)))
        if len(part) or part.failed:
            known = list(map(str, values))
            called = [row.names.get(value, value) for value in known]
            yield ", ".join([*begin, *called]), ", ".join([*begin, *known]), part
