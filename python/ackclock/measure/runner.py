"""A campaign is made: block after block, on each line, until every test is there."""

from __future__ import annotations

import dataclasses
import shlex
import signal
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ackclock.errors import AckclockError, InputError
from ackclock.execution import behind
from ackclock.measure import blocks, costs, foreseen, inside, iperf3, refusals, schedule, secret, tables
from ackclock.measure.blocks import Report
from ackclock.measure.campaign import Block, Campaign, Line, Point, Probe
from ackclock.measure.client import Address, RefusedError
from ackclock.measure.journal import Journal, check_free
from ackclock.scenario.plan import load
from ackclock.scenario.reading.line_numbers import line_of
from ackclock.sweeps import shell

_STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit codes of tests behind a path that somebody has ended: the second is the path's own, which was asked to end."""

_EVER_AGAIN = 20
"""How often a block may go on after its line became another one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which lines are measured (None: all), the token in place of the campaign's, whether much data is fine.

    virtual: lines that are a scenario's path are played in virtual time, by this kernel or the one that is there.
    once: only the first repetition that is not whole.
    """

    lines: Sequence[str] | None = None
    token: Path | None = None
    yes: bool = False
    retry_failed: bool = False
    virtual: bool = False
    kernel: str | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """What a campaign has come to: tests there are, those among them that failed, and those that are missing.

    failed_probes: probes of the line that did not come about, by block and direction.
    """

    done: int
    failed: Mapping[int, str]
    missing: int
    failed_probes: Mapping[tuple[int, str], str] = field(default_factory=dict)


def begin(campaign: Campaign, out: Path, asked: Asked, report: Report) -> Made:
    """Begin a campaign in a directory. Raises :class:`InputError` before anything is measured."""
    kernel = _fit_to_begin(campaign, out, asked)
    journal = Journal.begun(out, campaign, kernel)
    try:
        return _go_on(campaign, journal, _as_begun(journal, campaign, _chosen(campaign, asked), asked), report)
    except RefusedError:
        if not journal.done() and not journal.probed():
            journal.discard()
        raise


def go_on(campaign: Campaign, out: Path, asked: Asked, report: Report) -> Made:
    """Begin a campaign in a directory, or go on with it where it is there: the same command again and again.

    Raises :class:`InputError` where another one is.
    """
    return begin(campaign, out, asked, report) if _there(campaign, out) is None else resume(out, asked, report)


def _there(campaign: Campaign, out: Path) -> Journal | None:
    """What was measured of a campaign. Raises :class:`InputError` where another one is."""
    journal = Journal(out)
    if not journal.done() and not journal.probed():
        return None
    if journal.campaign().text != campaign.text:
        problem, remedy = f"the campaign there is not that of {campaign.source}", "choose another directory"
        raise InputError(problem, remedy, source=str(out))
    return journal


def keep_time(
    campaign: Campaign, out: Path, asked: Asked, report: Report, clock: schedule.Clock | None = None
) -> Made | None:
    """Make a repetition at each time of the campaign's schedule, until all are there. None: nothing was left to make.

    What ends a repetition does not end this: the next one is tried when its time comes. What would keep all of them
    from being measured is refused before the first wait. Raises :class:`InputError`.
    """
    if campaign.schedule is None:
        remedy = 'write [schedule] with at = ["08:00", "20:00"]'
        raise InputError("the campaign has no schedule", remedy, source=campaign.source, key="schedule")
    made: Made | None = None

    def measure() -> bool:
        nonlocal made
        try:
            made = go_on(campaign, out, dataclasses.replace(asked, once=True), report)
        except InputError:
            raise
        except AckclockError as error:
            report(str(error))
            return True
        return not _whole(Journal(out), lines)

    lines = _chosen(campaign, asked)
    there = _there(campaign, out)
    if there is None:
        _fit_to_begin(campaign, out, asked)
    elif _whole(there, lines):
        return None
    else:
        _fit_to_go_on(there, there.campaign(), asked)
    schedule.keep(campaign.schedule, clock or schedule.Wall(), measure, report)
    return made


def resume(out: Path, asked: Asked, report: Report) -> Made:
    """Go on with the campaign of a directory: what is there is not made again."""
    journal = Journal(out)
    campaign = journal.campaign()
    asked = _fit_to_go_on(journal, campaign, asked)
    if asked.retry_failed:
        for run in journal.failed():
            journal.forget(run)
        planned = len(campaign.blocks())
        for block, direction in journal.failed_probes():
            if block < planned and not journal.ended(block):  # of others the line is gone
                journal.forget_probe(block, direction)
    return _go_on(campaign, journal, asked, report)


def _fit_to_begin(campaign: Campaign, out: Path, asked: Asked) -> tuple[str, str] | None:
    """Refuse what cannot begin here, with nothing sent and nothing written; the kernel of virtual time.

    Raises :class:`InputError`.
    """
    check_free(out)
    lines = _chosen(campaign, asked)
    _fit(campaign, lines, asked)
    return _kernel(campaign, lines, asked) if asked.virtual else None


def _fit_to_go_on(journal: Journal, campaign: Campaign, asked: Asked) -> Asked:
    """The same of a campaign that goes on; what is asked for, with the clock and the kernel that it began with."""
    lines = _chosen(campaign, asked)
    asked = _as_begun(journal, campaign, lines, asked)
    again = journal.failed() if asked.retry_failed else {}
    _fit(campaign, lines, asked, journal.done() - again.keys())
    return asked


def _fit(campaign: Campaign, lines: Sequence[Line], asked: Asked, done: Collection[int] = ()) -> None:
    """Refuse much data that costs money until somebody says yes, and what is not here. Raises :class:`InputError`."""
    if not asked.yes:
        costs.check(campaign, lines, done)
    _token(campaign, lines, asked)
    _paths(campaign, lines)
    _time(lines, asked)
    foreseen.check_options(campaign, lines, done)
    if not iperf3.installed() and any(point.tool == iperf3.TOOL for point in campaign.points if point.line in lines):
        key = ("test", "tool")
        problem, remedy = "iperf3 is not installed here", "apt-get install iperf3, or leave tool out"
        line = line_of(campaign.text, key)
        raise InputError(problem, remedy, source=campaign.source, key=".".join(key), line=line)


def _kernel(campaign: Campaign, lines: Sequence[Line], asked: Asked) -> tuple[str, str]:
    """Name and digest of the kernel of all these lines in virtual time. Raises :class:`InputError`."""
    found = {line.name: shell.kernel_of(load(_path(campaign, line)), asked.kernel) for line in lines}
    if len(set(found.values())) > 1:
        each = ", ".join(f"{line}: {name}" for line, (name, _) in found.items())
        raise InputError(f"lines have several kernels ({each})", "say one for all of them", key="--kernel")
    return next(iter(found.values()))


def _as_begun(journal: Journal, campaign: Campaign, lines: Sequence[Line], asked: Asked) -> Asked:
    """A campaign goes on with its clock and its kernel. Raises :class:`InputError` where others are wanted."""
    kernel = journal.kernel()
    another = "leave it out, or begin one in another directory"
    if kernel is None:
        if asked.virtual:
            raise InputError("the campaign began in real time", another, source=str(journal.out), key="--virtual")
        return asked
    for line in lines:
        if line.via is None:
            problem = f"the campaign began in virtual time, and line '{line.name}' has real time"
            raise InputError(problem, "choose lines with --line, or begin one in another directory", key="--line")
    if asked.kernel is not None and asked.kernel != kernel[0]:
        problem = f"the campaign began in virtual time on the kernel {kernel[0]}"
        raise InputError(problem, another, source=str(journal.out), key="--kernel")
    asked = dataclasses.replace(asked, virtual=True, kernel=kernel[0])
    if _kernel(campaign, lines, asked) != kernel:
        problem = f"the kernel {kernel[0]} has been built of something else since the campaign began"
        raise InputError(problem, "begin one in another directory", source=str(journal.out))
    return asked


def _go_on(campaign: Campaign, journal: Journal, asked: Asked, report: Report) -> Made:
    lines = _chosen(campaign, asked)
    means = Means(_token(campaign, lines, asked), asked.token, asked.virtual, asked.kernel)
    with journal.locked():
        pending = [block for block in campaign.blocks() if block.line in lines]
        if asked.once:
            pending = _next(campaign, journal, pending)
        again = 0
        try:
            while pending:
                block = pending.pop(0)
                if journal.ended(block.number):
                    (open_part,) = _left(campaign, journal, [block])
                    if not open_part:
                        continue
                    block = _apart(campaign, journal, block, open_part)
                left = _block(campaign, journal, block, means, report)
                if left and again < _EVER_AGAIN:
                    again += 1
                    pending.append(block)
        finally:
            if journal.done():
                tables.write(campaign, journal)
    done, total = journal.done(), len(campaign.points) * campaign.header.repetitions
    return Made(len(done), journal.failed(), total - len(done), journal.failed_probes())


def _apart(campaign: Campaign, journal: Journal, block: Block, left: Left) -> Block:
    """What is left of a block whose line is another one now, as a block of its own, with a number that none has."""
    known = [*(number for number, _ in journal.probed()), *journal.blocks(), len(campaign.blocks()) - 1]
    found = Block(max(known) + 1, block.line, block.repetition, tuple(left.points))
    journal.put_block(found.number, {"of": block.number})
    return found


@dataclass(frozen=True, slots=True)
class Left:
    """What of a block is not there yet."""

    points: Sequence[Point]
    probes: Sequence[Probe]

    def __bool__(self) -> bool:
        return bool(self.points or self.probes)


def _left(campaign: Campaign, journal: Journal, of: Sequence[Block]) -> list[Left]:
    """What is not there yet of each of these blocks."""
    done, probed = journal.done(), journal.probed()
    found = []
    for block in of:
        points = [point for point in block.points if campaign.run(point, block.repetition) not in done]
        probes = [probe for probe in campaign.probes(block.line) if (block.number, probe.asked.direction) not in probed]
        # Where the line of a block is gone nothing finds out what it carried; the points have a block of their own.
        found.append(Left(points, [] if journal.ended(block.number) else probes))
    return found


def _whole(journal: Journal, lines: Sequence[Line]) -> bool:
    """Whether nothing is left of a campaign on some lines."""
    campaign, names = journal.campaign(), {line.name for line in lines}
    return not any(_left(campaign, journal, [each for each in campaign.blocks() if each.line.name in names]))


def _next(campaign: Campaign, journal: Journal, blocks_left: list[Block]) -> list[Block]:
    """The blocks of the first repetition of which something is missing."""
    left = zip(blocks_left, _left(campaign, journal, blocks_left), strict=True)
    open_ones = [block.repetition for block, what in left if what]
    return [block for block in blocks_left if open_ones and block.repetition == min(open_ones)]


@dataclass(frozen=True, slots=True)
class Means:
    """What a block is played with."""

    token: bytes | None
    token_file: Path | None
    """What is used in place of the campaign's own, if any."""
    virtual: bool
    kernel: str | None


def _block(campaign: Campaign, journal: Journal, block: Block, means: Means, report: Report) -> list[Point]:
    """What of a block is not there yet is made; what is left of it is returned."""
    (left,) = _left(campaign, journal, [block])
    if not left:
        return []
    if block.line.via is not None:
        return _behind(campaign, journal, block, left, means, report)
    place = campaign.server_of(block.line)
    assert place is not None, "a line without a path has a server: the campaign was checked"
    address = Address(*place, device=block.line.interface)
    job = blocks.Job(block.number, block.repetition, left.points, address, means.token, left.probes)
    try:
        return blocks.play(campaign, journal, job, report)
    except RefusedError as refused:
        raise refusals.explained(refused, campaign, means.token_file) from None


def _behind(
    campaign: Campaign, journal: Journal, block: Block, left: Left, means: Means, report: Report
) -> list[Point]:
    """A block on a line that is a scenario's path: both ends run behind it, for all of its tests."""
    own = [sys.executable, "-m", "ackclock.measure.inside"]
    tools = {probe.tool for probe in left.probes} | {point.tool for point in left.points}
    others = [str(campaign.header.iperf3_port)] if iperf3.TOOL in tools else []
    command = [*own, "play", str(journal.out.resolve()), str(block.number), str(block.repetition)]
    command += [str(campaign.lines.index(block.line)), *(probe.asked.direction for probe in left.probes)]
    command += [str(point.index) for point in left.points]
    virtual = shell.Virtual(means.kernel, journal.out.resolve()) if means.virtual else None
    server = shlex.join([*own, "serve", *others])
    request = shell.Request(command=command, server=server, capture=False, status=False, virtual=virtual)
    ended = shell.play(load(_path(campaign, block.line)), request)
    warnings = list(ended.warnings)
    if not ended.emulation.get("valid", True):
        late = "; ".join(ended.emulation["problems"][:2])
        warnings.append(f"the emulated path was late ({late}): give the computer rest, or --virtual (docs/engines.md)")
        report(f"{block.line.name}: block {block.number}: {warnings[-1]}")
    code = ended.shell["exit"]
    noted = journal.blocks().get(block.number, {}) if code == inside.CHANGED else {}
    warnings = [*noted.get("warnings", ()), *warnings]
    journal.put_block(block.number, {**noted, "warnings": warnings, "emulation": dict(ended.emulation)})
    if code in _STOPPED:
        raise KeyboardInterrupt
    if code == inside.REFUSED:
        raise RefusedError(f"line '{block.line.name}': its tests are refused, for the reason said above")
    if code not in (0, inside.CHANGED):
        raise AckclockError(f"{block.line.name}: the tests behind the path ended with exit code {code}")
    done = journal.done()
    return [point for point in left.points if campaign.run(point, block.repetition) not in done]


def _chosen(campaign: Campaign, asked: Asked) -> list[Line]:
    if asked.lines is None:
        return list(campaign.lines)
    names = [line.name for line in campaign.lines]
    for name in asked.lines:
        if name not in names:
            raise InputError(f"there is no line '{name}'", f"there are: {', '.join(names)}", key="--line")
    return [line for line in campaign.lines if line.name in asked.lines]


def _token(campaign: Campaign, lines: Sequence[Line], asked: Asked) -> bytes | None:
    """The token, where a line needs one."""
    if all(line.via is not None for line in lines):
        return None
    if asked.token is not None:
        return secret.read(asked.token)
    return None if campaign.header.token is None else secret.read(campaign.folder / campaign.header.token)


def _path(campaign: Campaign, line: Line) -> Path:
    assert line.via is not None
    return campaign.folder / line.via


def _paths(campaign: Campaign, lines: Sequence[Line]) -> None:
    """Refuse scenarios that cannot be lines before anything is measured."""
    for line in lines:
        if line.via is not None:
            shell.single(load(_path(campaign, line)))
            behind.level()


def _time(lines: Sequence[Line], asked: Asked) -> None:
    """Refuse virtual time for lines that have none. Raises :class:`InputError`."""
    if not asked.virtual:
        if asked.kernel is not None:
            raise InputError("it belongs to virtual time", "give --virtual, too, or leave it out", key="--kernel")
        return
    for line in lines:
        if line.via is None:
            problem = f"line '{line.name}' is a real one, and its time is, too"
            raise InputError(problem, "leave --virtual out, or choose lines with --line", key="--virtual")
