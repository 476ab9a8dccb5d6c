"""The tests of a block, one after the other: with the line's context, its idle round trip, and what broke."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.errors import AckclockError
from ackclock.measure import amounts, client, context, iperf3, roaming
from ackclock.measure.campaign import Campaign, Line, Point, Probe
from ackclock.measure.journal import Journal

Report = Callable[[str], None]

_FIRST_BROKEN = 3
"""Tests that may fail before any other, each with all of its attempts: then the server is not there, or no line."""


_WAIT_S = (0.0, 2.0, 5.0, 15.0)
"""Before a test is made again: a line that was lost may need a while."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done of a block: its number, repetition, probes and points in order, and where the server is."""

    number: int
    repetition: int
    points: Sequence[Point]
    address: client.Address
    token: bytes | None
    probes: Sequence[Probe] = ()


def play(campaign: Campaign, journal: Journal, job: Job, report: Report) -> list[Point]:
    """Make probes and tests, and keep each as it ends. Tests left as the line is another one now are returned.

    The one during which it became another one is among them: it is of neither line. Raises
    :class:`client.RefusedError` where the server does not want them.
    """
    watch = roaming.Watch(job.address.host, job.address.device, journal.salt)
    idle: list[int] | None = None
    place = 0
    try:
        for probe in job.probes:
            if idle is None and probe.tool != iperf3.TOOL:
                idle = _idle(job.address)
            found = _tried(campaign, journal, job, probe, watch, report)
            about = {"block": job.number, "repetition": job.repetition, "line": probe.line.name, "tool": probe.tool}
            key = (job.number, probe.asked.direction)
            journal.put_probe(*key, {**about, "asked": probe.asked.model_dump(), "idle_ns": idle, **found})
            _somebody_there(journal, functools.partial(journal.forget_probe, *key), probe.line, found["problem"])
        for place, point in enumerate(job.points):
            if idle is None and point.tool != iperf3.TOOL:  # its server takes a connection for a test
                idle = _idle(job.address)
            run = campaign.run(point, job.repetition)
            test = _tried(campaign, journal, job, point, watch, report)
            journal.put(run, {"run": run, "block": job.number, "place": place, "idle_ns": idle, **test})
            _somebody_there(journal, functools.partial(journal.forget, run), point.line, test["problem"])
    except roaming.AnotherLineError as other:
        report(f"{(job.points[0] if job.points else job.probes[0]).line.name}: {other}")
        journal.end_block(job.number, str(other))
        return list(job.points[place:])
    return []


def _tried(
    campaign: Campaign, journal: Journal, job: Job, point: Point | Probe, watch: roaming.Watch, report: Report
) -> dict[str, Any]:
    """One test or probe, made again if it breaks, at most as often as the campaign says.

    Raises :class:`roaming.AnotherLineError` where it is not of the line of its block.
    """
    attempts: list[str] = []
    header = campaign.header
    name = _name(campaign, point, job)
    while True:
        again = len(attempts)
        time.sleep(header.gap / 1e9 + _WAIT_S[min(again, len(_WAIT_S) - 1)])
        watch.look(name if attempts else None)
        told = context.gather(job.address.host, job.address.device, journal.salt, keep_addresses=header.keep_addresses)
        told |= {"place": point.line.place, "labels": point.line.labels}
        problem: str | None = None
        found: dict[str, Any] | None = None
        try:
            if point.tool == iperf3.TOOL:
                kept = header.keep_addresses
                found = iperf3.measure(job.address, header.iperf3_port, point.asked, keep_addresses=kept)
            else:
                found = client.measure(job.address, job.token, point.asked)
            problem = _broken(found)
        except client.RefusedError:
            raise
        except client.MeasureError as error:
            problem = str(error)
        if problem is not None:
            attempts.append(problem)
            report(f"{name}: failed, attempt {len(attempts)} of {header.retries + 1}: {problem}")
            if len(attempts) <= header.retries:
                continue
        watch.look(name)
        if problem is None:
            report(f"{name}: {_said(found)}")
        return {
            "problem": problem,
            "attempts": attempts,
            "context": told,
            "result": found if problem is None else None,
        }


def _somebody_there(journal: Journal, forget: Callable[[], None], line: Line, problem: str | None) -> None:
    """End a campaign that begins with nothing but failures; later ones may be of a line that comes back.

    They are not kept, so that resume makes these tests and probes. Raises :class:`AckclockError`.
    """
    if journal.vain is None or problem is None:
        journal.vain = None
        return
    journal.vain.append(forget)
    if len(journal.vain) == _FIRST_BROKEN:
        for each in journal.vain:
            each()
        # Nothing is kept, so that the same directory takes a file that was corrected; resume would not read it.
        anew = not (journal.done() or journal.probed())
        correct = "correct the campaign and call ackclock measure run again, or, " if anew else ""
        raise AckclockError(
            f"{line.name}: the first {_FIRST_BROKEN} tests have failed, so that this ends: {problem};"
            f" {correct}when server and line are there, go on with ackclock measure resume"
        )


def _broken(found: dict[str, Any] | None) -> str | None:
    """Why a test that came to its end is none, if so."""
    assert found is not None
    if iperf3.made(found):
        return None  # it says so itself
    for name, end in found["ends"].items():
        if end["ended"] is not None:
            return f"{name}: {end['ended']}"
        for number, connection in enumerate(end["connections"]):
            if connection["failed"] is not None:
                return f"connection {number} at the {name}: {connection['failed']}"
    return None


def _idle(address: client.Address) -> list[int] | None:
    """The round trips of an idle line; a line that is lost now may be back for the tests."""
    try:
        return client.handshakes(address)
    except client.MeasureError:
        return None


def goodput(found: dict[str, Any]) -> float | None:
    """Of all connections of a test, bit/s: what receivers have read between the warm-up and the end."""
    if iperf3.made(found):
        return iperf3.of(found).goodput_bps
    asked = found["asked"]
    counted = sum(
        connection["counted"]
        for end in found["ends"].values()
        for connection in end["connections"]
        if not connection["sends"]
    )
    return 8e9 * float(counted) / float(asked["duration_ns"] - asked["warmup_ns"])


def _said(found: dict[str, Any] | None) -> str:
    assert found is not None
    rate = goodput(found)
    return "goodput is not known" if rate is None else amounts.rate(rate)


def _name(campaign: Campaign, point: Point | Probe, job: Job) -> str:
    own = {key: value for key, value in point.params.items() if key != "line"}
    words = ", ".join(f"{key} {value}" for key, value in own.items())
    where = f"{point.line.name} " if "line" in campaign.params else ""
    return f"{where}{job.repetition + 1}/{campaign.header.repetitions}{f' {words}' if words else ''}"
