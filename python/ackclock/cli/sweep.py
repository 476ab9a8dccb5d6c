"""``ackclock sweep``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ackclock.cli import console, lasting
from ackclock.cli.exit_codes import FAILED, INTERRUPTED, OK
from ackclock.cli.options import effective
from ackclock.cli.run import not_valid, show
from ackclock.errors import InputError
from ackclock.execution.scheduler import Event
from ackclock.files import JOURNAL
from ackclock.ranking.conditions import is_condition
from ackclock.results import incomplete
from ackclock.results.validity import VALID
from ackclock.scenario.plan import Plan, load
from ackclock.sweeps.precision import Precision
from ackclock.sweeps.sweep import Report, sweep


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    file: Path
    out: Path | None
    changes: Sequence[str]
    seed: int | None
    replications: int | None
    precision: str | None
    most: int | None
    metric: str | None
    jobs: int | None
    cluster: str | None
    retry_failed: bool
    everything: bool
    as_json: bool
    of_engine: Sequence[str] = ()
    """Those of the changes that options of engines made."""


def run(request: Request) -> int:
    """Play what is missing, and print. Returns the exit code."""
    plan = load(request.file, set=request.changes, seed=request.seed, replications=request.replications)
    effective(request.of_engine, {point.scenario.run.engine for point in plan.points})
    out = request.out or Path("results") / request.file.stem
    begun, precision = time.monotonic(), _precision(request)
    try:
        with _reporting(plan, request.as_json) as tell:
            report = sweep(
                plan,
                out,
                precision=precision,
                jobs=request.jobs,
                cluster=request.cluster,
                retry_failed=request.retry_failed,
                tell=tell,
            )
    except KeyboardInterrupt:
        there = incomplete.stopped(out) or "what had finished"
        are = "is" if there.startswith("w") else "are"
        console.warn(f"interrupted: {there} {are} kept in {out / JOURNAL}; the same command goes on")
        return INTERRUPTED
    if not request.as_json:
        terminal, elapsed = console.stdout(), time.monotonic() - begun
        show(terminal, report.result, elapsed, out, [], brief=not request.everything)
        if report.played < report.result.runs.height + report.failed:
            console.say(terminal, _played(report))
        if report.result.runs.height:
            console.next_steps(terminal, out, swept=not all(map(is_condition, report.result.params)))
    for warning in report.result.warnings:
        console.warn(warning)
    for line in _imprecise(report, precision):
        console.warn(line)
    for item in report.result.manifest["failed"][:_MOST_FAILURES]:
        console.warn(f"run {item['run']} failed: {item['problem']}")
    if report.failed > _MOST_FAILURES:
        console.warn(f"{report.failed} runs failed; {out / 'manifest.json'} has the others under 'failed'")
    invalid = not_valid(report.result, "the same command with --retry-failed")
    return FAILED if report.failed or invalid else OK


_MOST_FAILURES = 10


def _played(report: Report) -> str:
    """How many runs were played, where others were there."""
    others = report.result.runs.height + report.failed - report.played
    if not report.played:
        there = "the run was" if others == 1 else "all runs were"
        measured = "; another --out measures again" if VALID in report.result.runs.columns else ""
        return f"nothing was played: {there} there{measured}"
    were = "1 run was" if report.played == 1 else f"{report.played} runs were"
    return f"{were} played, {'the other was' if others == 1 else 'the others were'} there"


def _precision(request: Request) -> Precision | None:
    if request.precision is None:
        given = "max_replications" if request.most is not None else "metric" if request.metric is not None else None
        if given is not None:
            raise InputError("has no meaning without a precision", "give --precision 5% as well", key=given)
        return None
    share = _share(request.precision)
    usual = Precision()
    return Precision(share, request.metric or usual.metric, usual.most if request.most is None else request.most)


def _share(text: str) -> float:
    """A percentage as a share. Raises :class:`InputError`."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        raise InputError(f"'{text}' is not a percentage", "write 5%", key="--precision") from None
    if text.endswith("%") and 0 < number < 100:
        return number / 100
    if text.endswith("%") or not 0 < number < 100:
        raise InputError(f"'{text}' is not between 0% and 100%", "write 5%", key="--precision")
    meant = f"{100 * number:g}%, or {number:g}%" if number < 1 else f"{number:g}%"
    raise InputError(f"'{text}' is not a percentage", f"write {meant}", key="--precision")


def _imprecise(report: Report, precision: Precision | None) -> Iterator[str]:
    """A line for each point that is not known as precisely as was asked for."""
    if precision is None:
        return
    for item in report.imprecise:
        params = report.result.manifest["points"][item.point]["params"]
        inside = ", ".join(f"{key} = {value}" for key, value in params.items())
        point = f"point {item.point}{f' ({inside})' if inside else ''}"
        known = "is not known" if item.relative is None else f"is known to {100 * item.relative:.3g} %"
        asked = f"after {item.replications} replications, not to {100 * precision.relative:.3g} %"
        yield f"{point}: {precision.metric} {known} {asked}; raise --max-replications"


@contextmanager
def _reporting(plan: Plan, as_json: bool) -> Iterator[Callable[[Event], None]]:
    """Events as lines of JSON on standard output, or progress on standard error."""
    if as_json:
        yield _line
        return
    with console.progress() as report:

        def tell(event: Event) -> None:
            _warn_of_damage(event)
            if event["event"] == "begin" and 0 < event["finished"] < event["runs"]:
                console.warn(f"{event['finished']} of {event['runs']} runs are there, and the others are played")
            if least_s := event.get("least_s"):
                lasting.said(least_s)
                lasting.strained([plan])
            if "finished" in event:
                report(event["finished"], event["runs"])

        yield tell


def _line(event: Event) -> None:
    _warn_of_damage(event)
    sys.stdout.write(f"{json.dumps(event, separators=(',', ':'))}\n")
    sys.stdout.flush()


def _warn_of_damage(event: Event) -> None:
    if event["event"] == "damaged":
        journal = f"{event['bytes']} bytes of {JOURNAL} were not part of a whole record"
        console.warn(f"{journal}; they are in {event['moved_to']} now, and their runs are played again")
