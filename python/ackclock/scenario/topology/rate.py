"""The rate of a link: constant, or with rates that change at known times, a recorded trace, token buckets."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from ackclock.errors import Problem, unknown
from ackclock.files import MOST_TRACE, read_text
from ackclock.scenario.values import units
from ackclock.scenario.values.base import Model
from ackclock.scenario.values.types import MOST_BURST, Burst
from ackclock.scenario.values.units import DURATION, RATE, SIZE

OPPORTUNITY = 1500
"""Bytes an opportunity of a trace carries, unless the scenario says otherwise."""

_DIGITS = 12
"""Of a time in a trace: ms, up to what the engine can hold."""

_FORMS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "steps": (frozenset({"steps"}), frozenset({"repeat"})),
    "on": (frozenset({"on", "off", "rate"}), frozenset()),
    "trace": (frozenset({"trace"}), frozenset({"opportunity"})),
}
_EXAMPLE = '{ on = "2 s", off = "1 s", rate = "10 Mbit/s" } or { trace = "cell.trace" }'


class VaryingRate(int):
    """A rate that is not constant. As a number it is the rate, bit/s, that a BDP fraction counts.

    That is the mean over a period or a trace; of steps that do not repeat, the first that is not zero.
    """

    written: Mapping[str, Any]
    """As the scenario has it."""
    document: Mapping[str, Any]
    """The keys of the link in the resolved run."""

    def __new__(cls, number: int, written: Mapping[str, Any], document: Mapping[str, Any]) -> "VaryingRate":
        """See the class."""
        rate = super().__new__(cls, number)
        rate.written, rate.document = written, document
        return rate

    def __eq__(self, other: object) -> bool:
        """Whether `other` varies in the same way."""
        return isinstance(other, VaryingRate) and self.document == other.document

    def __hash__(self) -> int:
        """Of the number: equal rates have the same."""
        return hash(int(self))


def _table(value: Mapping[str, Any], folder: Any) -> VaryingRate:
    form = next((name for name in _FORMS if name in value), None)
    known = sorted({key for wanted, optional in _FORMS.values() for key in wanted | optional})
    if form is None:
        strange = next((key for key in value if key not in known), None)
        if strange is not None:
            raise unknown("key of a rate", strange, known, strange)
        raise Problem("a rate that changes has steps, on and off, or a trace", f"write for instance {_EXAMPLE}")
    wanted, optional = _FORMS[form]
    for key in value:
        if key not in wanted | optional:
            raise unknown(f"key of a rate with '{form}'", key, sorted(wanted | optional), key)
    for key in sorted(wanted - set(value)):
        raise Problem(f"missing key '{key}'", "add it", key)
    if form == "trace":
        return _trace(value, folder)
    return _steps(value) if form == "steps" else _on_off(value)


def _within(key: str | int, *deeper: str | int, parse: Any) -> Any:
    """What `parse` gives; its problem is told with the key."""
    try:
        return parse()
    except Problem as problem:
        raise Problem(problem.problem, problem.remedy, key, *deeper, *problem.key) from None


def _rate_of_step(value: Any) -> int:
    return 0 if value in ("off", 0) else RATE.parse(value)


def _steps(value: Mapping[str, Any]) -> VaryingRate:
    steps = value["steps"]
    example = 'write [{ at = "0 s", rate = "10 Mbit/s" }, { at = "30 s", rate = "off" }]'
    if not isinstance(steps, list | tuple) or not steps:
        raise Problem("steps are a list of tables", example, "steps")
    parsed = []
    for index, step in enumerate(steps):
        if not isinstance(step, dict) or set(step) != {"at", "rate"}:
            raise Problem("a step has a time and a rate", example, "steps", index)
        at = _within("steps", index, "at", parse=lambda step=step: DURATION.parse(step["at"]))
        parsed.append((at, _within("steps", index, "rate", parse=lambda step=step: _rate_of_step(step["rate"]))))
    if parsed[0][0] != 0:
        raise Problem("the rate before the first step is unknown", 'begin with at = "0 s"', "steps", 0)
    for index, (earlier, later) in enumerate(itertools.pairwise(parsed), start=1):
        if later[0] <= earlier[0]:
            raise Problem("a step must begin after the one before it", "put them in the order of time", "steps", index)
    period = None
    if "repeat" in value:
        period = _within("repeat", parse=lambda: DURATION.parse(value["repeat"], zero=False))
        if period <= parsed[-1][0]:
            raise Problem("the steps would repeat before the last of them begins", "give a longer time", "repeat")
    return of_steps(parsed, period, value)


def of_steps(steps: list[tuple[int, int]], period: int | None, written: Mapping[str, Any]) -> VaryingRate:
    """A rate of steps (time in ns, bit/s). Raises :class:`Problem` if the link would never transmit."""
    first = next((rate for _, rate in steps if rate), 0)
    if not first:
        raise Problem("the link is always off", "give at least one step a rate", "steps")
    number = first
    if period is not None:
        ends = [*(at for at, _ in steps[1:]), period]
        number = sum(rate * (end - at) for (at, rate), end in zip(steps, ends, strict=True)) // period or 1
    schedule = {"steps": [list(step) for step in steps], "period_ns": period}
    return VaryingRate(number, written, {"schedule": schedule})


def _on_off(value: Mapping[str, Any]) -> VaryingRate:
    on, off = (_within(key, parse=lambda key=key: DURATION.parse(value[key], zero=False)) for key in ("on", "off"))
    rate = _within("rate", parse=lambda: RATE.parse(value["rate"], zero=False))
    return of_steps([(0, rate), (on, 0)], on + off, value)


def _trace(value: Mapping[str, Any], folder: Any) -> VaryingRate:
    name = value["trace"]
    if not isinstance(name, str):
        raise Problem("a trace is the name of a file", 'write for instance trace = "cell.trace"', "trace")
    path = Path(name) if folder is None else Path(folder) / name
    try:
        lines = read_text(path, MOST_TRACE).rstrip().splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:  # the last of a path with a zero byte
        reason = getattr(error, "strerror", None) or "it is not text"
        raise Problem(f"cannot read '{name}' ({reason.lower()})", "give a file beside the scenario", "trace") from None
    times = _times(name, lines)
    bytes_each = _within("opportunity", parse=lambda: _opportunity(value))
    number = max(1, len(times) * bytes_each * 8 * 1000 // times[-1])
    return VaryingRate(number, value, {"trace": {"times_ms": times, "opportunity_bytes": bytes_each}})


def _opportunity(value: Mapping[str, Any]) -> int:
    return SIZE.parse(value.get("opportunity", f"{OPPORTUNITY} B"), zero=False, most=MOST_BURST)


def _times(name: str, lines: list[str]) -> list[int]:
    wrong = "one whole number of milliseconds per line, not decreasing"
    if not lines:
        raise Problem(f"the trace '{name}' is empty", f"it has {wrong}", "trace")
    times: list[int] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not (text.isascii() and text.isdecimal()):
            problem = f"line {number} of '{name}' is '{units.short(text)}', not a whole number"
            raise Problem(problem, f"a trace has {wrong}", "trace")
        if len(text.lstrip("0")) > _DIGITS:
            problem = f"line {number} of '{name}' is {units.short(text)}, too late"
            raise Problem(problem, "a trace lasts less than 31 years: it counts milliseconds", "trace")
        if times and int(text) < times[-1]:
            raise Problem(f"line {number} of '{name}' is earlier than the line before", f"a trace has {wrong}", "trace")
        times.append(int(text))
    if times[-1] == 0:
        raise Problem(f"the last line of '{name}' is 0", "the trace repeats after that time: make it longer", "trace")
    return times


def read(value: Any, info: ValidationInfo) -> int | None:
    """A rate as a scenario writes it; None is unlimited."""
    if isinstance(value, VaryingRate) or value is None:
        return value
    if isinstance(value, dict):
        return _table(value, (info.context or {}).get("folder"))
    return units.parse_rate(value)


def write(rate: int | None) -> Any:
    """A rate as a scenario writes it."""
    if isinstance(rate, VaryingRate):
        return dict(rate.written)
    return "unlimited" if rate is None else RATE.format(rate)


_TABLE = {"type": "object", "description": f"a rate that changes: {_EXAMPLE}"}
_TEXT = {
    "type": "string",
    "description": 'a rate with its unit, such as "100 Mbit/s", or "unlimited"',
    "examples": [RATE.example],
}

Rate = Annotated[int | None, PlainValidator(read), PlainSerializer(write), WithJsonSchema({"anyOf": [_TEXT, _TABLE]})]
"""A rate in bit/s, constant or not; ``None`` is ``"unlimited"``."""

ReverseRate = Annotated[
    Any,
    PlainValidator(lambda value, info: value if value in (None, "unlimited") else read(value, info)),
    PlainSerializer(lambda value: value if value in (None, "unlimited") else write(value)),
    WithJsonSchema({"anyOf": [_TEXT, _TABLE, {"type": "null"}]}),
]
"""A rate, ``"unlimited"``, or ``None`` for as on the way out."""


def _constant(value: Any) -> int:
    return RATE.parse(value, zero=False)


ConstantRate = Annotated[int, PlainValidator(_constant), PlainSerializer(write), WithJsonSchema(_TEXT)]
"""A rate in bit/s that is there and does not change."""


class Bucket(Model):
    """A token bucket, full at the start of the run."""

    rate: ConstantRate
    """Rate at which it fills."""
    burst: Burst
    """Bytes it holds: at least a full-size packet."""
