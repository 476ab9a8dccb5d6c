"""Values of engine options: what a scenario writes, turned into what the engine reads, and shown again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ackclock.engine import Option
from ackclock.errors import Problem, nearest, unknown
from ackclock.scenario.values.units import DURATION, SEGMENTS, SIZE, parse_fraction


def convert(what: str, options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """`given` as the engine wants it, in the order written.

    `what` names the owner of the options in messages, for instance "parameter of cubic". Raises
    :class:`Problem` with the name of the offending option as its key.
    """
    result = {}
    for name, value in given.items():
        option = options.get(name)
        if option is None:
            raise unknown(what, name, options, name)
        try:
            result[name] = _value(option, value)
        except Problem as problem:
            raise Problem(problem.problem, problem.remedy, name, *problem.key) from None
    return result


def show(option: Option, value: Any) -> str:
    """An engine value the way a scenario writes it."""
    if value is None:
        return "none"
    if option.kind == "duration":
        return DURATION.format(value)
    if option.kind == "bytes":
        return SIZE.format(value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def written(option: Option, value: Any) -> Any:
    """An engine value as a scenario may have it: what has a unit as text."""
    return show(option, value) if option.kind in ("duration", "bytes") else value


def _written(value: Any) -> str:
    """A value as TOML has it, for messages."""
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _value(option: Option, value: Any) -> Any:
    result = _parse(option, value)
    if option.range is not None and isinstance(result, int | float) and not isinstance(result, bool):
        compared = result / 1e9 if option.kind == "duration" else result
        low, high = option.range
        if (low is not None and compared < low) or (high is not None and compared > high):
            raise Problem(f"{_written(value)} is out of range", f"give {_range(option)}")
    return result


def _parse(option: Option, value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match option.kind:
        case "bool":
            if not isinstance(value, bool):
                raise Problem(f"{_written(value)} is not a yes or no", "write true or false")
            return value
        case "count" | "segments":
            if option.kind == "segments" and isinstance(value, str):
                return SEGMENTS.parse(value)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise Problem(f"{_written(value)} is not a whole number", f"write for instance {option.default}")
            return value
        case "bytes":
            return SIZE.parse(value)
        case "duration":
            return DURATION.parse(value)
        case "fraction":
            return parse_fraction(value)
        case "float":
            if not number or not math.isfinite(value):
                raise Problem(f"{_written(value)} is not a number", f"write for instance {option.default}")
            return float(value)
        case "choice":
            choices = option.choices or ()
            if value not in choices:
                guess = nearest(str(value), choices)
                hint = f"did you mean '{guess}'? known" if guess else "known"
                raise Problem(f"{_written(value)} is not one of the choices", f"{hint}: {', '.join(choices)}")
            return value
    raise Problem(f"the engine describes an unknown kind '{option.kind}'", "rebuild the package with: make build")


def _range(option: Option) -> str:
    assert option.range is not None
    low, high = option.range
    unit = " s" if option.kind == "duration" else ""
    if low is None:
        return f"at most {high:g}{unit}"
    if high is None:
        return f"at least {low:g}{unit}"
    return f"{low:g}{unit} to {high:g}{unit}"
