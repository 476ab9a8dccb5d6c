"""``ackclock sweep``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ackclock.campaign import JOURNAL, Event, Precision, sweep
from ackclock.cli import console
from ackclock.cli.app import FAILED, INTERRUPTED, OK
from ackclock.cli.run import show
from ackclock.errors import InputError
from ackclock.scenario.plan import load


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
    as_json: bool


def run(request: Request) -> int:
    """Play what is missing, and print. Returns the exit code."""
    plan = load(request.file, set=request.changes, seed=request.seed, replications=request.replications)
    out = request.out or Path("results") / request.file.stem
    begun = time.monotonic()
    try:
        with _telling(request.as_json) as tell:
            report = sweep(
                plan,
                out,
                precision=_precision(request),
                jobs=request.jobs,
                cluster=request.cluster,
                retry_failed=request.retry_failed,
                tell=tell,
            )
    except KeyboardInterrupt:
        console.warn(f"interrupted: what had finished is kept in {out / JOURNAL}; the same command goes on")
        return INTERRUPTED
    if not request.as_json:
        show(console.stdout(), report.result, time.monotonic() - begun, out, [])
        if report.played < report.result.runs.height + report.failed:
            console.stdout().print(f"{report.played} runs were played, the others were there", soft_wrap=True)
    for warning in report.result.warnings:
        console.warn(warning)
    for item in report.result.manifest["failed"][:_MOST_FAILURES]:
        console.warn(f"run {item['run']} failed: {item['problem']}")
    if report.failed > _MOST_FAILURES:
        console.warn(f"{report.failed} runs failed; {out / 'manifest.json'} has the others under 'failed'")
    return FAILED if report.failed else OK


_MOST_FAILURES = 10


def _precision(request: Request) -> Precision | None:
    if request.precision is None:
        given = "max_replications" if request.most is not None else "metric" if request.metric is not None else None
        if given is not None:
            raise InputError("has no meaning without a precision", "give --precision 5% as well", key=given)
        return None
    try:
        share = float(request.precision.removesuffix("%")) / 100 if request.precision.endswith("%") else None
    except ValueError:
        share = None
    if share is None:
        raise InputError(f"'{request.precision}' is not a percentage", "write 5%", key="precision")
    usual = Precision()
    return Precision(share, request.metric or usual.metric, usual.most if request.most is None else request.most)


@contextmanager
def _telling(as_json: bool) -> Iterator[Callable[[Event], None]]:
    """Events as lines of JSON on standard output, or as a bar where somebody watches."""
    if as_json:
        yield _line
        return
    with console.progress() as report:
        yield lambda event: report(event["finished"], event["runs"]) if "finished" in event else None


def _line(event: Event) -> None:
    sys.stdout.write(f"{json.dumps(event, separators=(',', ':'))}\n")
    sys.stdout.flush()
