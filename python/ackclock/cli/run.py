"""``ackclock run``."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.cli import console, lasting
from ackclock.cli.exit_codes import FAILED, INTERRUPTED, OK
from ackclock.errors import InputError, Interrupted
from ackclock.files import figures_of
from ackclock.results import text
from ackclock.results.incomplete import BEHIND
from ackclock.results.result import Result
from ackclock.results.summary import to_json
from ackclock.scenario.plan import Plan, load
from ackclock.sweeps import run as sweeps

if TYPE_CHECKING:
    from ackclock.sweeps import captures

_FEW = 2
"""Files that are each named."""

_MOST = 24
"""Points of a brief table."""

_OTHERS = "utilisation, losses, transfers, fairness, lines over time"
"""What a brief table does not have."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    file: Path
    out: Path | None
    changes: Sequence[str]
    seed: int | None
    replications: int | None
    jobs: int | None
    as_json: bool
    plot: bool
    capture: Path | None = None
    link_type: captures.LinkType = "raw"
    of_engine: Sequence[str] = ()
    """Those of the changes that options of engines made."""


def plain(file: str, out: str | None, changes: Sequence[str]) -> Request:
    """What is asked for where a command line has no more than these."""
    place = Path(out) if out is not None else None
    return Request(Path(file), place, tuple(changes), None, None, None, as_json=False, plot=False)


def run(request: Request) -> int:
    """Run, print, write, draw. Returns the exit code."""
    plan = load(request.file, set=request.changes, seed=request.seed, replications=request.replications)
    if request.of_engine:
        from ackclock.cli.options import effective

        effective(request.of_engine, {point.scenario.run.engine for point in plan.points})
    if request.plot:
        plan = _prepared_for_figures(plan, request)
    capture = _checked_capture(plan, request.capture) if request.capture is not None else None
    begun = time.monotonic()
    missing = 0
    try:
        with console.progress() as report:
            result = sweeps.apart(plan, jobs=request.jobs, out=request.out, progress=lasting.announced([plan], report))
    except Interrupted as interruption:
        result, missing = interruption.result, interruption.missing
    elapsed = time.monotonic() - begun
    written: Sequence[captures.Capture] = ()
    if capture is not None and not missing:
        from ackclock.sweeps.captures import write

        written = write(plan, capture, request.link_type)
    figures = _figures(result, request) if request.plot else []
    if request.as_json:
        listed = [{"run": one.run, "file": str(one.file), "packets": one.packets} for one in written]
        console.print_json(as_json(result) | ({"captures": listed} if capture is not None else {}))
    else:
        show(console.stdout(), result, elapsed, request.out, figures)
        _captured(written)
    for warning in result.warnings:
        console.warn(warning)
    if missing:
        kept = f"kept in {request.out}" if request.out else "shown; give --out to keep them"
        finished = result.runs.height
        console.warn(f"interrupted: {finished} of {finished + missing} runs finished and are {kept}")
        return INTERRUPTED
    return FAILED if not_valid(result) else OK


def _checked_capture(plan: Plan, file: Path) -> Path:
    """The file that packets are written to. Raises :class:`InputError` for one that cannot be, and for real packets."""
    from ackclock.sweeps.captures import checked

    found = checked(file)
    if any(point.scenario.run.engine != "sim" for point in plan.points):
        remedy = "leave it out; packets on a kernel are captured by: ackclock shell FILE --out DIR -- COMMAND"
        raise InputError("only simulated packets can be captured", remedy, key="--capture")
    return found


def not_valid(result: Result, again: str = "") -> bool:
    """Whether runs on a real kernel are not to be used; says how many, and what plays these `again`."""
    if "valid" not in result.runs.columns or result.runs["valid"].all():
        return False
    bad, n = int((~result.runs["valid"]).sum()), result.runs.height
    are = "is" if bad == 1 else "are"
    which = "the run is not valid" if n == 1 else f"{bad} of {n} runs {are} not valid, and {are} in the tables"
    more = f"{again} plays {'it' if bad == 1 else 'them'} again; " if again else ""
    console.warn(f"{which}: {BEHIND}; {more}see docs/engines.md")
    return True


def _captured(written: Sequence[captures.Capture]) -> None:
    """Say which captures there are."""
    out = console.stdout()
    if len(written) > _FEW:
        first, last = written[0].file, written[-1].file.name
        packets = sum(one.packets for one in written)
        console.say(out, f"captures: {first} to {last} ({len(written)} files, {_spaced(packets)} packets)")
        return
    for one in written:
        console.say(out, f"capture: {one.file} ({_spaced(one.packets)} packets)")


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def as_json(result: Result) -> dict[str, Any]:
    """A result as ``--json`` prints it."""
    numbers = {name for names in result.numbers.values() for name in names}
    keys = {"run", "seed", "replication", *result.params, *numbers} - {"cc"}
    cost = {entry["run"]: entry for entry in result.manifest["runs"]}
    flows, links = (
        {
            run: [{key: value for key, value in row.items() if key not in keys} for row in part.iter_rows(named=True)]
            for (run,), part in table.partition_by("run", as_dict=True, maintain_order=True).items()
        }
        for table in (result.flows, result.links.drop("cc", strict=False))
    )
    runs = [
        {
            "params": {key: row[key] for key in result.params},
            "seed": row["seed"],
            "replication": row["replication"],
            "flows": flows.get(row["run"], []),
            "links": links.get(row["run"], []),
            "wall_s": cost[row["run"]]["wall_s"],
            "events": row["events"],
            "packets": row["packets"],
        }
        for row in result.runs.iter_rows(named=True)
    ]
    answer: dict[str, Any] = {"runs": runs, "summary": [to_json(point) for point in result.points]}
    if not result.complete:
        answer["missing"] = result.manifest["missing"]
    return answer


def show(
    out: console.Output,
    result: Result,
    elapsed: float,
    directory: Path | None,
    figures: Sequence[Path],
    *,
    brief: bool = False,
) -> None:
    """The tables of a result and what it cost; with `brief` one table of the first points."""
    texts = len(result.params) + 1
    points = result.points[:_MOST] if brief else result.points
    wide, narrow = (text.tables(points, result.params, narrow=narrow, brief=brief) for narrow in (False, True))
    for (title, rows), (_, short) in zip(wide, narrow, strict=True):
        if title:
            console.say(out, f"\n{title}")
        # The words in front are aligned to the left, and what is counted to the right.
        left: list[console.Justify] = ["left"] * (texts if "flows" in rows[0] else texts - 1)
        table = console.table(rows, left)
        if console.fits(out, table, readable=True):
            out.print(table)
        else:
            rest = f"{directory} has all" if directory is not None else "--json has all"
            console.print_table(out, short, left, least=text.least(short[0], texts), rest=rest, tight=True)
    if brief:
        others = f"and {len(result.points) - len(points)} more points; " if len(result.points) > len(points) else ""
        console.say(out, f"{others}--all prints every table{' of all points' if others else ''}: {_OTHERS}")
    else:
        _over_time(out, result)
    for note in text.notes(result.points):
        console.say(out, note)
    varied = [point.n for point in result.points if not point.repeated]
    n = max(varied, default=0)
    upto = "up to " if any(own < n for own in varied) else ""
    note = f"; means and 95 % confidence intervals of {upto}{n} replications" if n > 1 else ""
    packets = _spaced(int(result.runs["packets"].sum()))
    runs = f"{result.runs.height} run{'' if result.runs.height == 1 else 's'}"
    console.say(out, f"{runs}, {packets} packets, {elapsed:.1f} s{note}")
    if directory is not None:
        console.say(out, f"tables: {directory}")
    if len(figures) > _FEW:
        console.say(out, f"figures: {figures[0].parent} ({len(figures)} files)")
        return
    for figure in figures:
        console.say(out, f"figure: {figure}")


def _over_time(out: console.Output, result: Result) -> None:
    """The series of the first replications as lines of characters, if they were recorded."""
    if result.series.is_empty():
        return
    from ackclock.cli import sparklines

    rows, more = sparklines.table(result, room=out.width, blocks=console.blocks())
    if not rows:
        return
    run = result.runs.row(0, named=True)
    console.say(out, f"\nfirst replication, 0 to {run['duration_s']:g} s; each line from 0 to its largest value")
    words: list[console.Justify] = ["left"] * len(rows[0])
    console.print_table(out, rows, words, least=[len(rows[0]) - 1], rest="ackclock plot draws it", tight=True)
    if more:
        console.say(out, f"and {more} more point{'s' * (more > 1)}; ackclock plot draws them")


def _prepared_for_figures(plan: Plan, request: Request) -> Plan:
    from ackclock.drawing.probes import recorded

    folder = _folder(request)
    there = folder if folder.exists() else Path.cwd()
    if request.out is None and not (there.is_dir() and os.access(there, os.W_OK)):
        raise InputError("cannot write figures there", "give --out a directory you may write to", source=str(folder))
    return recorded(plan)


def _figures(result: Result, request: Request) -> list[Path]:
    from ackclock.drawing.figures import save

    folder = _folder(request)
    folder.mkdir(exist_ok=True)
    return save(result, folder)


def _folder(request: Request) -> Path:
    """The one place where figures go: beside the tables, or without those a directory named like the scenario."""
    return request.out if request.out is not None else figures_of(request.file)
