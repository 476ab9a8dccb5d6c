"""A campaign file: lines, a test or a sweep of tests, repetitions; and what it comes to."""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from ackclock.errors import InputError, Problem, unknown
from ackclock.files import read_text, reason
from ackclock.measure import asked, bounds, iperf3, probe, sockets
from ackclock.measure.asked import Asked, Direction
from ackclock.measure.order import Order, order
from ackclock.measure.schedule import Schedule
from ackclock.scenario.reading import diagnosis, expansion, toml
from ackclock.scenario.reading.line_numbers import line_of
from ackclock.scenario.values.base import Model, fields
from ackclock.scenario.values.types import Duration, PositiveDuration, PositiveRate, PositiveSize, matching

_NAME = "take at most 60 letters, digits, spaces, points, dashes and underscores"
Name = Annotated[str, matching(r"[\w .-]{1,60}", "a name for tables and files", _NAME)]
Label = str | int | float | bool
Params = dict[str, Label]


class Header(Model):
    """``[campaign]``: what is common to all tests."""

    name: Name
    server: str | None = None
    """HOST:PORT, or HOST with the usual port. Lines behind a scenario's path have one of their own."""
    token: str | None = None
    """File with the token, seen from the campaign file."""
    repetitions: Annotated[int, Field(ge=1, le=10_000)] = 10
    """How often each test is made; a block is one repetition."""
    gap: Duration = Field(default="1 s", validate_default=True)
    """Pause before each test."""
    order: Order = "shuffled"
    seed: Annotated[int, Field(ge=0, lt=1 << 53)] = 1
    """Of the order."""
    retries: Annotated[int, Field(ge=0, le=100)] = 2
    """How often a test that broke is made again."""
    probe: bool | None = None
    """Whether each block begins with a probe of the line. Default: where tests differ in the number of connections."""
    keep_addresses: bool = False
    """Whether addresses are kept in full: otherwise as their /24 or /48."""
    iperf3_port: Annotated[int, Field(ge=1, le=65535)] = iperf3.PORT
    """Where the servers listen for tests of the tool iperf3."""

    @field_validator("server")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None:
            address(value)
        return value


class Line(Model):
    """``[[lines]]``: one way to a server."""

    name: Name
    interface: Annotated[str, matching(r"[^\s/]{1,15}", "the name of an interface", "ip link lists them")] | None = None
    """To go out by, in place of the one that the routes say."""
    via: str | None = None
    """A scenario, seen from the campaign file: its path is the line, with a server behind it."""
    server: str | None = None
    """In place of the campaign's."""
    rate: PositiveRate | None = None
    """What it is thought to carry: only to say beforehand how much data a campaign takes."""
    metered: bool | None = None
    """Whether its data costs money. Default: what the system says."""
    place: Annotated[str, Field(max_length=120)] | None = None
    """Free text, or ``lat,lon``, which is rounded to three decimals."""
    labels: dict[str, Label] = Field(default_factory=dict)

    @field_validator("server")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        return Header._address(value)

    @field_validator("place")
    @classmethod
    def _rounded(cls, value: str | None) -> str | None:
        parts = (value or "").split(",")
        try:
            latitude, longitude = (float(part) for part in parts)
        except ValueError:
            return value
        return f"{latitude:.3f},{longitude:.3f}"

    @field_validator("labels", mode="before")
    @classmethod
    def _words(cls, value: object) -> object:
        for name, each in value.items() if isinstance(value, dict) else ():
            if not isinstance(each, str | int | float) or (isinstance(each, float) and not math.isfinite(each)):
                raise Problem(f"{each} is neither a word nor a number", "write it as moving = true or floor = 2", name)
        return value

    @model_validator(mode="after")
    def _one_way(self) -> Line:
        if self.via is not None and (self.interface or self.server):
            other = "interface" if self.interface else "server"
            raise Problem("a scenario's path has hosts of its own", f"leave {other} out", other)
        return self


class Trial(Model):
    """``[test]``: what each test is; a list or a range of values makes a point of each."""

    connections: Annotated[int, Field(ge=1, le=asked.MOST_CONNECTIONS)] = 1
    duration: PositiveDuration = Field(default="10 s", validate_default=True)
    direction: Direction = "down"
    warmup: Duration = Field(default="0 s", validate_default=True)
    interval: PositiveDuration = Field(default="100 ms", validate_default=True)
    cc: str | None = None
    mss: int | None = None
    nodelay: bool = False
    rcvbuf: PositiveSize | None = None
    sndbuf: PositiveSize | None = None
    notsent_lowat: PositiveSize | None = None
    pacing: PositiveRate | None = None
    tos: int | None = None
    tool: Literal["ackclock", "iperf3"] = "ackclock"
    """What makes the test: our own data plane, or the installed iperf3."""

    def message(self) -> Asked:
        """As a server is asked for it. Raises :class:`Problem` and :class:`ValidationError`."""
        options = {name: getattr(self, name) for name in sockets.Options.model_fields}
        message = {
            "connections": self.connections,
            "direction": self.direction,
            "duration_ns": self.duration,
            "warmup_ns": self.warmup,
            "interval_ns": self.interval,
            "options": options,
        }
        found = asked.consistent(Asked.model_validate(message, strict=True))
        if self.tool == iperf3.TOOL:
            iperf3.check(found)
        return found


class Parts(Model):
    """The tables of a file but the test."""

    campaign: Header
    lines: Annotated[tuple[Line, ...], Field(min_length=1)]
    schedule: Schedule | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One test on one line; `params` are what tells it from the others."""

    index: int
    line: Line
    params: Params
    asked: Asked
    tool: str = "ackclock"


@dataclass(frozen=True, slots=True)
class Probe:
    """What finds out how much a line carries before the tests of a block: it is none of them."""

    line: Line
    asked: Asked
    tool: str = "ackclock"

    @property
    def params(self) -> Params:
        """What it is called where tests say their values."""
        return {"probe": self.asked.direction}


@dataclass(frozen=True, slots=True)
class Block:
    """One repetition on one line: its points in order."""

    number: int
    line: Line
    repetition: int
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign file that was read; `text` is what was written, `folder` where it is."""

    source: str
    text: str
    folder: Path
    header: Header
    lines: tuple[Line, ...]
    points: tuple[Point, ...]
    params: tuple[str, ...] = field(default=())
    schedule: Schedule | None = None

    def blocks(self) -> list[Block]:
        """All blocks, in order: repetitions, of each the lines."""
        found: list[Block] = []
        for repetition in range(self.header.repetitions):
            for line in self.lines:
                own = [point for point in self.points if point.line == line]
                places = order(self.header.order, len(own), line.name, repetition, self.header.seed)
                found.append(Block(len(found), line, repetition, tuple(own[place] for place in places)))
        return found

    def probes(self, line: Line) -> tuple[Probe, ...]:
        """With what each block on a line begins."""
        own = [(point.asked, point.tool) for point in self.points if point.line == line]
        wanted = self.header.probe
        if wanted is None:
            wanted = len({test.connections for test, _ in own}) > 1
        return tuple(Probe(line, *each) for each in probe.of(own)) if wanted else ()

    def public_text(self) -> str:
        """What was written, with places no more precise than they are kept."""
        text = self.text
        for line, written in zip(self.lines, toml.parse(text, self.source)["lines"], strict=True):
            if line.place is not None and (exact := str(written["place"])) != line.place:
                text = text.replace(exact, line.place)
        return text

    def run(self, point: Point, repetition: int) -> int:
        """The number of a run: points in order, the repetitions of each together."""
        return point.index * self.header.repetitions + repetition

    def server_of(self, line: Line) -> tuple[str, int] | None:
        """Host and port of a line's server."""
        text = line.server or self.header.server
        return None if text is None else address(text)

    def seconds(self) -> float:
        """How long tests and probes take at least, with the pauses between them."""
        made = [point.asked for point in self.points]
        made += [each.asked for line in self.lines for each in self.probes(line)]
        return sum(asked.duration_ns + self.header.gap for asked in made) * self.header.repetitions / 1e9

    def volume(self, line: Line, rate: int) -> float:
        """Bytes over a line that carries so many bit/s in each direction."""
        own = [point.asked for point in self.points if point.line == line]
        own += [each.asked for each in self.probes(line)]
        ways = sum(asked.duration_ns * (2 if asked.direction == "both" else 1) for asked in own)
        return self.header.repetitions * ways / 1e9 * rate / 8


def address(text: str) -> tuple[str, int]:
    """HOST:PORT, HOST, [V6]:PORT or V6. Raises :class:`Problem`."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        host, port = text, "5301"
    host = host.removeprefix("[").removesuffix("]")
    if not _is_host(host) or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        scheme, is_url, _ = text.partition("://")
        of_url = f", without {scheme}:// and what comes after the port" if is_url else ""
        raise Problem(f"'{text}' is no address", f'write it as "192.0.2.1:5301"{of_url}')
    return host, int(port)


def _is_host(text: str) -> bool:
    """Whether this can be a name or an address; that of IPv6 may have a zone."""
    if ":" not in text:
        return re.fullmatch(r"[\w.-]+", text) is not None
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


def load(file: str | os.PathLike[str]) -> Campaign:
    """Read a campaign file. Raises :class:`InputError`, with file, key, problem and remedy."""
    path = Path(file)
    try:
        text = read_text(path, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(reason(error), "give a campaign in TOML", source=str(path)) from None
    return parsed(text, str(path), path.resolve().parent)


def parsed(text: str, source: str, folder: Path) -> Campaign:
    """The same of a text."""
    raw = toml.parse(text, source)
    current: Any = raw
    try:
        for key in raw:
            if key not in _TABLES:
                raise unknown("key", key, _TABLES, key)
        test = raw.get("test", {})
        if not isinstance(test, dict):
            raise Problem("the test is a table", "write [test] with connections = 4", "test")
        parts = Parts.model_validate({key: value for key, value in raw.items() if key != "test"})
        _consistent(parts)
        _check_number(expansion.foreseen({"test": test})[0] * len(parts.lines) * parts.campaign.repetitions)
        points: list[Point] = []
        before: set[tuple[str, str, str]] = set()
        for line in parts.lines:
            for params, current in expansion.points({"test": test}):
                point = _point(len(points), line, params, current["test"], several=len(parts.lines) > 1)
                _new(point, before, params)
                points.append(point)
    except (Problem, ValidationError) as error:
        raise _as_input(error, current, text, source) from None
    names = tuple(points[0].params)
    return Campaign(source, text, folder, parts.campaign, parts.lines, tuple(points), names, parts.schedule)


_MOST = 100_000
_TABLES = ["campaign", "lines", "test", "schedule"]


def _point(index: int, line: Line, params: Mapping[str, Any], raw: dict[str, Any], *, several: bool) -> Point:
    try:
        test = Trial.model_validate(raw)
    except ValidationError as error:
        found = _finding(error, raw, Trial)
        raise Problem(found.problem, found.remedy, "test", *found.key) from None
    try:
        asked_for = test.message()
    except Problem as problem:
        raise Problem(problem.problem, problem.remedy, "test", *problem.key) from None
    except ValidationError as error:
        found_wrong = bounds.problem(error, raw)
        raise Problem(found_wrong.problem, found_wrong.remedy, "test", *found_wrong.key) from None
    own: Params = {name.removeprefix("test."): value for name, value in params.items()}
    return Point(index, line, {"line": line.name, **own} if several else own, asked_for, test.tool)


def _check_number(tests: int) -> None:
    """Refuse more tests than a campaign may have, before the first is made."""
    if tests > _MOST:
        raise Problem(f"{tests} tests are too many", f"at most {_MOST}", "campaign", "repetitions")


def _new(point: Point, before: set[tuple[str, str, str]], params: Mapping[str, Any]) -> None:
    """Refuse a test that is there: it would look like two of which one is the better. Raises :class:`Problem`."""
    key = (point.line.name, point.asked.model_dump_json(), point.tool)
    if key not in before:
        before.add(key)
    else:
        values = ", ".join(f"{name.removeprefix('test.')} {value}" for name, value in params.items())
        raise Problem(f"the test with {values} is there twice", "leave one out; repetitions says how often", "test")


def _consistent(parts: Parts) -> None:
    names = [line.name for line in parts.lines]
    for number, line in enumerate(parts.lines):
        if line.name in names[:number]:
            raise Problem(f"two lines are called '{line.name}'", "give each a name of its own", "lines", number, "name")
        if line.via is None and line.server is None and parts.campaign.server is None:
            raise Problem(f"line '{line.name}' has no server", 'write server = "192.0.2.1:5301"', "campaign")


def _as_input(error: Problem | ValidationError, raw: Any, text: str, source: str) -> InputError:
    found = _finding(error, raw, Parts)
    key = expansion.dotted(found.key)
    return InputError(found.problem, found.remedy, source=source, key=key or None, line=line_of(text, found.key))


def _finding(error: Problem | ValidationError, raw: Any, model: type[Model]) -> diagnosis.Finding:
    """The first thing that is wrong; an unknown key with those there are."""
    if isinstance(error, ValidationError):
        for detail in error.errors(include_url=False):
            if detail["type"] == "extra_forbidden":
                *inside, name = detail["loc"]
                tables: dict[str, type[Model]] = {"campaign": Header, "lines": Line, "schedule": Schedule}
                table = tables.get(str(inside[0]) if inside else "", model)
                problem = unknown("key", str(name), fields(table))
                return diagnosis.Finding(detail["loc"], problem.problem, problem.remedy)
    found = diagnosis.finding(error, raw)
    remedy = _MISSING.get(tuple(map(str, found.key))) if isinstance(error, ValidationError) else None
    if remedy is not None and found.problem.startswith(("missing key", "'at' is empty")):
        return diagnosis.Finding(found.key, found.problem, remedy)
    return found


_MISSING = {
    ("campaign",): 'write [campaign] with name = "home" and server = "192.0.2.1:5301"',
    ("lines",): 'write [[lines]] with name = "fibre"',
    ("schedule", "at"): 'write at = ["08:00", "20:00"]',
}
"""What a file has to have, by its keys."""
