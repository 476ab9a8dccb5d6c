"""``ackclock pcap``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console

from ackclock.cli import connections, console
from ackclock.cli.exit_codes import FAILED, OK
from ackclock.errors import InputError
from ackclock.pcaps import inputs
from ackclock.pcaps.analyse import Options, Session, opened, session
from ackclock.pcaps.escaped import in_csv
from ackclock.results import captured, warnings

if TYPE_CHECKING:
    from ackclock.cli.captured_figure import Asked, Figure
    from ackclock.pcaps.groups import Groups

_TABLES = ("flows", "series", "events")
_ROWS = 50_000
"""Rows that are printed at a time."""
_FEW = 6
"""Captures whose interfaces are listed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line; the defaults are those of its options."""

    files: Sequence[str]
    tables: Sequence[str] = ()
    out: Path | None = None
    labels: Sequence[str] = ()
    base: str | None = None
    weights: str | None = None
    most: int = 8
    options: Options = field(default_factory=Options)
    anonymise: bool = False
    as_json: bool = False
    check: bool = False
    truth: Path | None = None
    plot: Asked | None = None


def run(request: Request) -> int:
    """Analyse, print, keep. The exit code is 1 if a check finds what is not as it was."""
    if len(request.files) == 1 and (there := opened(request.files[0])) is not None:
        return _again(there, request)
    found = inputs.collected(request.files, inputs.labelled(request.labels))
    _fits(request, found)
    if request.plot is not None:
        request.plot.fits()
    if request.check:
        return _check(request, found)
    with ExitStack() as until:
        with console.progress() as report:
            options = request.options
            if request.plot is not None and request.out is None and not request.tables:
                options = request.plot.narrowed(options, found)
            own = session(found, options, out=request.out, anonymise=request.anonymise, report=report)
            done = until.enter_context(own)
            report(len(found), len(found))
        _print(done, request)
    return OK


def show(done: Session, *, as_json: bool = False) -> None:
    """Print a result of captures, as the command did that wrote it."""
    _print(done, Request((), as_json=as_json))


def _again(done: Session, request: Request) -> int:
    """Print what was kept."""
    if request.plot is not None:
        request.plot.fits()
    if request.out is not None or request.labels or request.check:
        problem, remedy = "is a result of captures, which is only shown", "give captures to analyse"
        raise InputError(problem, remedy, source=request.files[0])
    _print(done, request)
    return OK


def _print(done: Session, request: Request) -> None:
    figure = _drawn(done, request)
    if request.tables and request.out is None:
        _rows(done, request.tables[0], as_json=request.as_json)
    elif request.as_json:
        console.print_json(_json(done, request, figure))
    else:
        _summary(console.stdout(), done, request)
        if figure is not None:
            figure.say()
    for warning in (*warnings.of(done.manifest), *(figure.notes if figure is not None else ())):
        console.warn(warning)


def _drawn(done: Session, request: Request) -> Figure | None:
    if request.plot is None:
        return None
    from ackclock.cli.captured_figure import drawn

    return drawn(done.result, request.plot)


def _grouped(done: Session, request: Request) -> Groups:
    from ackclock.pcaps.groups import groups

    return groups(done.result, base=request.base, weights=request.weights)


def _fits(request: Request, found: Sequence[inputs.Input]) -> None:
    """Refuse what does not go together, before anything is read."""
    if len(request.tables) > 1 and request.out is None:
        raise InputError("one table is printed at a time", "give one of them, or keep them: --out DIR", key="flows")
    if request.truth is not None and not request.check:
        raise InputError("is what a capture is checked against", "say that too: --check", key="truth")
    if request.most < 1:
        raise InputError(f"{request.most} connections cannot be shown", "give a number above 0", key="most")
    labels = {source.label for source in found}
    if request.base is not None and request.base not in labels:
        known = ", ".join(str(label) for label in labels if label is not None)
        raise InputError(
            f"no captures have the label '{request.base}'", f"there are {known or 'no labels'}", key="base"
        )
    if request.weights is not None:
        from ackclock.pcaps import weights

        weights.read(request.weights)
        if labels == {None}:
            raise InputError("they are of groups", "give groups: --label off=FOLDER --label on=FOLDER", key="weights")


def _rows(done: Session, name: str, *, as_json: bool) -> None:
    """Every row of a table, as CSV or as an object on each line."""
    table = done.table(name)
    texts = [column for column, kind in table.collect_schema().items() if kind == pl.String]
    if not as_json:
        safe = (pl.col(column).map_elements(in_csv, return_dtype=pl.String) for column in texts)
        table = table.with_columns(*(each for each, column in zip(safe, texts, strict=True) if column in _FREE))
    head = True
    for rows in table.collect_batches(chunk_size=_ROWS, maintain_order=True):
        sys.stdout.write(rows.write_ndjson() if as_json else rows.write_csv(include_header=head))
        head = False
    if head and not as_json:
        sys.stdout.write(table.collect().write_csv())


_FREE = frozenset({"file", "label", "name"})
"""Columns whose text somebody else may have chosen."""


def _json(done: Session, request: Request, figure: Figure | None) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "captures": done.table("captures").collect().to_dicts(),
        "flows": done.table("flows").collect().to_dicts(),
        "warnings": warnings.of(done.manifest),
    }
    if done.labelled:
        answer |= _grouped(done, request).to_json()
    return answer if figure is None else answer | {"figure": figure.to_json()}


def _summary(out: Console, done: Session, request: Request) -> None:
    """What is in the captures, the groups, and the largest connections."""
    captures = done.table("captures").collect()
    if done.labelled:
        _groups(out, captures, done, request)
    else:
        _captures(out, captures)
    carrying = captured.carrying(done.table("flows"))
    total = carrying.select(pl.len()).collect().item()
    order = ["run", "connection", "id"]
    largest = carrying.sort("goodput_bytes", *order, descending=[True, False, False, False]).head(request.most)
    most = 0 if done.labelled else request.most
    for row in largest.collect().sort(order).head(most).iter_rows(named=True):
        out.print()
        if done.several:
            console.say(out, row["file"])
        for name, text in connections.lines(row):
            _line(out, name, text)
    if total > most and most:
        every = f"--most {total} shows all, --flows prints their rows"
        console.say(out, f"\nthe {most} largest of {connections.count(total, 'connection')}; {every}")
    if not total:
        console.say(out, "\nno connection of TCP carries data in it")
    if request.out is not None:
        console.say(out, f"\nkept in {request.out}: flows, captures{''.join(f', {name}' for name in _kept(request))}")


def _groups(out: Console, captures: pl.DataFrame, done: Session, request: Request) -> None:
    """How much there is, the groups, and what they gain."""
    from ackclock.cli import gains

    files = captures.unique("run")
    number = connections.count(int(captures["packets"].sum()), "packet")
    console.say(out, f"{connections.count(files.height, 'capture')}, {number}")
    if cut := files["truncated"].count():
        console.say(out, f"{cut} of them TRUNCATED")
    gains.show(out, _grouped(done, request))


def _kept(request: Request) -> list[str]:
    return [name for name, wanted in (("series", request.options.series), ("events", request.options.events)) if wanted]


def _line(out: Console, name: str, text: str) -> None:
    """A line of a connection; in a terminal what is longer goes on below where it began."""
    line = connections.said(name, text)
    if name and sys.stdout.isatty():
        room = len(line) - len(text)
        line = connections.said(name, console.fold(text, max(20, out.width - room)).replace("\n", "\n" + " " * room))
        out.print(line, soft_wrap=True, markup=False)
    else:
        console.say(out, line)


def _captures(out: Console, table: pl.DataFrame) -> None:
    """What is in each file."""
    files = table.partition_by("run", maintain_order=True)
    for file in files[:_FEW]:
        first = file.row(0, named=True)
        packets, segments = int(file["packets"].sum()), int(file["segments"].sum())
        parts = [
            f"{connections.count(packets, 'packet')} in {connections.duration(first['duration_s'])}",
            f"{segments} of TCP" if segments < packets else "all of TCP",
        ]
        if not packets:
            parts = ["a header and no packets"]
        others = [("malformed", file["malformed"].sum()), ("lost by the capture", file["drops"].sum())]
        parts += [f"{number} {words}" for words, number in others if number]
        if first["truncated"]:
            parts.append("TRUNCATED")
        console.say(out, f"{first['file']}: {', '.join(parts)}")
        if file.height > 1:
            for row in file.iter_rows(named=True):
                where = f", {row['vantage']}" if row["vantage"] else ""
                number = connections.count(row["packets"], "packet")
                console.say(out, f"  {row['name'] or row['interface']}: {number}{where}")
    if len(files) > _FEW:
        console.say(out, f"and {len(files) - _FEW} more captures")


def _check(request: Request, found: Sequence[inputs.Input]) -> int:
    """Hold what the analysis says against what the simulator wrote beside the packets."""
    from ackclock.pcaps import check
    from ackclock.results.result import Result

    truth = None if request.truth is None else Result.load(request.truth)
    checks = [check.check(source, request.options, truth) for source in found]
    if request.as_json:
        console.print_json({"checks": [own.to_json() for own in checks]})
    else:
        out = console.stdout()
        for own in checks:
            for line in own.lines():
                console.say(out, line)
    return OK if all(own.agrees for own in checks) else FAILED
