"""``ackclock measure plan``, ``run`` and ``resume``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock.cli import console, interrupts
from ackclock.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED, OK
from ackclock.measure import amounts, costs, foreseen, probe, runner
from ackclock.measure import campaign as campaigns
from ackclock.measure.campaign import Campaign
from ackclock.measure.client import RefusedError
from ackclock.measure.journal import Journal

_FIRST = 6
"""Tests of a block that are listed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line; none of `lines` are all."""

    lines: Sequence[str] = ()
    token: Path | None = None
    yes: bool = False
    retry_failed: bool = False
    virtual: bool = False
    kernel: str | None = None
    once: bool = False

    def asked(self) -> runner.Asked:
        """The same, as a runner wants it."""
        return runner.Asked(
            self.lines or None, self.token, self.yes, self.retry_failed, self.virtual, self.kernel, self.once
        )


def plan(file: Path, *, as_json: bool) -> int:
    """Say what a campaign is, how long it takes, and how much data: nothing is sent.

    It fails where something is not here that ``measure run`` needs, so that a script does not go on to that.
    """
    campaign = campaigns.load(file)
    foreseen.check_paths(campaign)
    lacking, to_be_asked = foreseen.lacking(campaign), foreseen.to_be_asked(campaign)
    code = FAILED if lacking else OK
    if as_json:
        console.print_json({**_json(campaign), "problems": [*lacking, *to_be_asked]})
        return code
    out = console.stdout()
    for text in _lines(campaign):
        console.say(out, text)
    if any(line.rate is None and line.via is None for line in campaign.lines):
        console.say(
            out, 'with rate = "25 Mbit/s", or what you think it is, in [[lines]] the plan has the volume in all'
        )
    for problem in (*lacking, *to_be_asked):
        console.warn(problem)
    return code


def run(file: Path, out: Path, request: Request) -> int:
    """Begin a campaign."""
    campaign = campaigns.load(file)
    _say(_volume(campaign))
    start = runner.go_on if request.once else runner.begin
    return _made(out, lambda: start(campaign, out, request.asked(), _say))


def keep_time(file: Path, out: Path, request: Request) -> int:
    """Make a repetition of a campaign at each time of its schedule."""
    campaign = campaigns.load(file)
    _say(_volume(campaign))
    try:
        with interrupts.by_termination():
            made = runner.keep_time(campaign, out, request.asked(), _say)
    except KeyboardInterrupt:
        console.warn("interrupted; what was measured is kept, and the same command goes on")
        return INTERRUPTED
    if made is None:
        _say(f"every test is there: {out}")
        return OK
    return _ended(out, made)


def resume(out: Path, request: Request) -> int:
    """Go on with one."""
    campaign = Journal(out).campaign()
    total = len(campaign.points) * campaign.header.repetitions
    _say(f"{campaign.header.name}: {len(Journal(out).done())} of {total} tests are there")
    return _made(out, lambda: runner.resume(out, request.asked(), _say))


def _made(out: Path, make: Callable[[], runner.Made]) -> int:
    before = _ended_tests(out)
    try:
        with interrupts.by_termination():
            made = make()
    except KeyboardInterrupt:
        console.warn(f"interrupted; what was measured is kept: ackclock measure resume {out}")
        return INTERRUPTED
    except RefusedError as refused:
        console.warn(str(refused))
        return BAD_INPUT if _ended_tests(out) <= before else FAILED
    return _ended(out, made)


def _ended_tests(out: Path) -> int:
    """How many tests and probes of a campaign have come to their end."""
    journal = Journal(out)
    return len(journal.done()) + len(journal.probed())


def _ended(out: Path, made: runner.Made) -> int:
    _say(
        f"{made.done} {'test' if made.done == 1 else 'tests'} in {out}"
        + (f", {len(made.failed)} of them failed" if made.failed else "")
    )
    if made.failed_probes:
        probes = "1 probe" if len(made.failed_probes) == 1 else f"{len(made.failed_probes)} probes"
        _say(f"{probes} failed: shares of these blocks' probes are not known")
    if made.missing:
        _say(f"{made.missing} {'is' if made.missing == 1 else 'are'} missing; to go on: ackclock measure resume {out}")
    return FAILED if made.failed or made.failed_probes else OK


def _say(text: str) -> None:
    console.say(console.stdout(), text)
    sys.stdout.flush()


def _lines(campaign: Campaign) -> list[str]:
    """A campaign in words."""
    header = campaign.header
    found = [f"{header.name}: {_volume(campaign)}"]
    for line in campaign.lines:
        place = campaign.server_of(line)
        way = f"the path of {line.via}" if line.via else f"to {place[0]} port {place[1]}" if place else ""
        more = [f"by {line.interface}"] if line.interface else []
        more += ["metered"] if line.via is None and costs.metered(campaign, line) else []
        found.append(f"  {line.name}: {', '.join([way, *more])}")
    kinds = {"shuffled": "shuffled within each", "ascending": "as written", "latin": "a Latin square over"}
    found.append(f"order: {kinds[header.order]} of {header.repetitions} repetitions, seed {header.seed}")
    if campaign.schedule is not None:
        found.append(f"schedule: one repetition at {campaign.schedule.words()} (measure run --daemon)")
    for block in campaign.blocks()[:2]:
        each = [*(one.params for one in campaign.probes(block.line)), *(point.params for point in block.points)]
        own = [", ".join(f"{key} {value}" for key, value in params.items()) or "test" for params in each]
        more_tests = f"; and {len(own) - _FIRST} more" if len(own) > _FIRST else ""
        found.append(f"  block {block.number}, {block.line.name}: {'; '.join(own[:_FIRST])}{more_tests}")
    return found


def _volume(campaign: Campaign) -> str:
    """How many tests, how long, how much data."""
    tests = len(campaign.points)
    long = {point.asked.duration_ns for point in campaign.points}
    each = f" x {amounts.duration(next(iter(long)))}" if len(long) == 1 else ""
    parts: dict[str, list[str]] = {}
    for line in campaign.lines:
        rate = line.rate
        volume = amounts.size(campaign.volume(line, 10**6 if rate is None else rate))
        known = "for each Mbit/s that it carries" if rate is None else f"at {amounts.rate(rate)}"
        parts.setdefault(f"about {volume} {known}", []).append(line.name)
    if len(parts) == 1 and len(campaign.lines) > 1:
        volumes = [f"on each of {len(campaign.lines)} lines {next(iter(parts))}"]
    elif len(parts) == 1:
        volumes = list(parts)
    else:
        volumes = [f"{', '.join(names)}: {volume}" for volume, names in parts.items()]
    took = amounts.duration(campaign.seconds() * 1e9)
    probes = sum(len(campaign.probes(line)) for line in campaign.lines) * campaign.header.repetitions
    more = f" and {probes} {'probe' if probes == 1 else 'probes'} of {probe.CONNECTIONS} connections" if probes else ""
    return f"{tests} x {campaign.header.repetitions}{each}{more}, pauses included {took}; {'; '.join(volumes)}"


def _json(campaign: Campaign) -> dict[str, object]:
    return {
        "name": campaign.header.name,
        "tests": len(campaign.points) * campaign.header.repetitions,
        "seconds": campaign.seconds(),
        "bytes": {line.name: line.rate and campaign.volume(line, line.rate) for line in campaign.lines},
        "schedule": None if campaign.schedule is None else campaign.schedule.model_dump(),
        "params": list(campaign.params),
        "seed": campaign.header.seed,
        "blocks": [
            {
                "block": block.number,
                "line": block.line.name,
                "repetition": block.repetition,
                "probes": [each.asked.direction for each in campaign.probes(block.line)],
                "tests": [
                    {"run": campaign.run(point, block.repetition), "params": point.params} for point in block.points
                ],
            }
            for block in campaign.blocks()
        ],
    }
