"""The values of ``{ range = [first, last, step] }`` and ``{ logrange = [first, last, n] }``, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ackclock.errors import Problem
from ackclock.scenario.values.units import DURATION, RATE, SIZE, short, split

Raw = dict[str, Any]
Path = tuple[str | int, ...]

MOST_VALUES = 1_000_000
"""Of a range, and points of a sweep."""
UNCOUNTED = 10**18
"""What is more than this is not counted: it may have more digits than Python writes."""
_MOST_DIGITS = 30
"""Before or behind the point, of a bound of a range; no quantity has as many."""
_MOST_BITS = 10_000
"""Of a whole number that Python still turns into text."""


def values(node: Raw, path: Path) -> list[Any]:
    """The values of a range or a logrange. Raises :class:`Problem`, as :func:`number` does."""
    kind, bounds = _bounds(node, path)
    return _linear(bounds, (*path, kind)) if kind == "range" else _logarithmic(bounds, (*path, kind))


def number(node: Raw, path: Path) -> int:
    """How many values it has, without making them; may be one off for a logrange of whole numbers."""
    kind, bounds = _bounds(node, path)
    where = (*path, kind)
    return _linear_parts(bounds, where)[0] if kind == "range" else _logarithmic_number(bounds, where)


def _bounds(node: Raw, path: Path) -> tuple[str, list[Any]]:
    """Whether it is a range or a logrange, and its three values."""
    if len(node) != 1:
        raise Problem("a range stands alone", "write { range = [first, last, step] }", *path)
    kind, bounds = next(iter(node.items()))
    if not isinstance(bounds, list) or len(bounds) != 3:
        shape = "[first, last, step]" if kind == "range" else "[first, last, n]"
        raise Problem(f"a {kind} has three values", f"write {{ {kind} = {shape} }}", *path, kind)
    return kind, bounds


def _linear(bounds: list[Any], path: Path) -> list[Any]:
    number, first, step, unit = _linear_parts(bounds, path)
    return [_written(first + index * step, unit, bounds) for index in range(number)]


def _linear_parts(bounds: list[Any], path: Path) -> tuple[int, Decimal, Decimal, str]:
    """How many values a range has, the first, the step and their unit."""
    (first, last, step), unit = _same_unit(bounds, path)
    if step <= 0 or last < first:
        raise Problem("a range goes upwards", "give first <= last and a positive step", *path)
    quotient = (last - first) / step
    if quotient >= MOST_VALUES:
        what = f"{int(quotient) + 1}" if quotient < UNCOUNTED else f"more than {UNCOUNTED}"
        raise Problem(f"the range has {what} values", f"give a larger step, for at most {MOST_VALUES}", *path)
    return int(quotient) + 1, first, step, unit


def _logarithmic_number(bounds: list[Any], path: Path) -> int:
    """How many values a logrange has; of whole numbers each counts once."""
    first, last, ratio, _ = _logarithmic_parts(bounds, path)
    number: int = bounds[2]
    if not all(isinstance(bound, int) for bound in bounds[:2]) or float(first) * (ratio - 1) >= 1:
        return number
    if ratio == 1:
        return min(number, int(last - first) + 1)
    # Up to the value where steps reach 1, every whole number is met; from there on each value is another one.
    dense = min(number - 1, math.ceil(-math.log(float(first) * (ratio - 1)) / math.log(ratio)))
    return min(number, round(float(first) * ratio**dense - float(first)) + number - dense)


def _logarithmic_parts(bounds: list[Any], path: Path) -> tuple[Decimal, Decimal, float, str]:
    """The first and the last value of a logrange, the ratio of two that follow each other, and their unit."""
    (first, last), unit = _same_unit(bounds[:2], path)
    number = bounds[2]
    if type(number) is not int or not 2 <= number <= MOST_VALUES:
        remedy = f"give a whole number of at least 2 and at most {MOST_VALUES}"
        raise Problem(f"{_shown(number)} is not a number of values", remedy, *path)
    if first <= 0 or last <= first:
        raise Problem("a logrange goes upwards from above zero", "give 0 < first < last", *path)
    return first, last, float(last / first) ** (1 / (number - 1)), unit


def _logarithmic(bounds: list[Any], path: Path) -> list[Any]:
    first, last, ratio, unit = _logarithmic_parts(bounds, path)
    number = bounds[2]
    whole = all(isinstance(bound, int) for bound in bounds[:2])
    values: list[Decimal] = []
    for index in range(number):
        exact = last if index == number - 1 else first * Decimal(ratio) ** index
        value = exact.quantize(Decimal(1)) if whole else Decimal(f"{exact:.6g}")
        if not values or value != values[-1]:
            values.append(value)
    return [_written(value, unit, bounds[:2]) for value in values]


def _same_unit(bounds: Sequence[Any], path: Path) -> tuple[list[Decimal], str]:
    """The numbers of `bounds`, all in the unit of the first."""
    parts = []
    for bound in bounds:
        if isinstance(bound, int) and bound.bit_length() > _MOST_BITS:
            raise Problem("the number is too large", "give a value that the key takes", *path)
        plain = isinstance(bound, int | float) and not isinstance(bound, bool)
        number, unit = split(str(bound)) if plain or isinstance(bound, str) else (None, "")
        if number is None:
            raise Problem(
                f"{short(repr(bound))} is not a number", 'write for instance ["10 ms", "50 ms", "10 ms"]', *path
            )
        if number and abs(number.adjusted()) >= _MOST_DIGITS:
            size = "large" if number.adjusted() > 0 else "small"
            raise Problem(f"{short(repr(bound))} is too {size}", "give a value that the key takes", *path)
        parts.append((number, unit))
    target = parts[0][1]
    return [number if unit == target else _converted(number, unit, target, path) for number, unit in parts], target


def _converted(number: Decimal, unit: str, target: str, path: Path) -> Decimal:
    for quantity in (DURATION, RATE, SIZE):
        if unit in quantity.units and target in quantity.units:
            ratio = quantity.units[unit] / quantity.units[target]
            return number * ratio.numerator / ratio.denominator
    raise Problem(f"the units '{unit}' and '{target}' do not go together", "write all values in one unit", *path)


def _written(value: Decimal, unit: str, bounds: Sequence[Any]) -> Any:
    if unit:
        return f"{value.normalize():f} {unit}"
    return int(value) if all(isinstance(bound, int) for bound in bounds) else float(value)


def _shown(value: Any) -> str:
    return "the number" if isinstance(value, int) and value.bit_length() > _MOST_BITS else short(repr(value))
