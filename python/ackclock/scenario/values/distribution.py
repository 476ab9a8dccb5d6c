"""Distributions of sizes and times, as a scenario writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from ackclock.errors import Problem, unknown
from ackclock.scenario.values.units import DURATION, SIZE, Quantity

_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "constant": (("value",), ()),
    "uniform": (("min", "max"), ()),
    "exponential": (("mean",), ("min", "max", "truncation")),
    "pareto": (("shape",), ("mean", "min", "max", "truncation")),
    "lognormal": (("mean", "sd"), ("min", "max", "truncation")),
    "empirical": (("points",), ("interpolate",)),
}
"""What each kind needs, and what it may have."""

TRUNCATIONS = ("before", "after", "clip")
"""What is done with values outside min and max: they are left out, and mean and sd are those before or after that; or
they become the nearest end."""

_MOST_SHAPE = 1e6
"""Exponent of a tail; at this all values are practically the smallest one."""


class _Number:
    """A number without a unit, where distributions of quantities have one with it."""

    name = "number"
    example = "6"

    def parse(self, value: object, *, zero: bool = True) -> float:
        """`value` itself. Raises :class:`Problem` for what is none, for one below zero, and for zero unless `zero`."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Problem(f"{value!r} is not a number", "write for instance 6")
        if value < 0 or (value == 0 and not zero):
            raise Problem(f"{value!r} is {'zero' if value == 0 else 'negative'}", "give a positive number")
        return float(value)


_Unit = Quantity | _Number


@dataclass(frozen=True)
class Dist:
    """A distribution as the engine reads it, and as it was written."""

    document: Mapping[str, Any]
    written: Any

    def __hash__(self) -> int:
        """By what it says."""
        return hash(repr(self.document))


def parse(value: Any, quantity: _Unit) -> Dist:
    """A distribution of `quantity`: one value, or a table of its kind and parameters.

    Raises :class:`Problem` with the key that is wrong.
    """
    if isinstance(value, Dist):
        return value
    if not isinstance(value, dict):
        return Dist({"kind": "constant", "value": float(quantity.parse(value, zero=quantity is not SIZE))}, value)
    kind = value.get("kind")
    example = f'write for instance {{ kind = "exponential", mean = "{quantity.example}" }}'
    if kind is None:
        raise Problem("missing key 'kind'", example, "kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise unknown("distribution", str(kind), _KEYS, "kind")
    wanted, optional = _KEYS[kind]
    for key in value:
        if key not in ("kind", *wanted, *optional):
            raise unknown(f"key of a {kind} distribution", key, (*wanted, *optional), key)
    for key in wanted:
        if key not in value:
            raise Problem(f"missing key '{key}'", f"a {kind} distribution has {' and '.join(wanted)}", key)
    document = {"kind": kind, **{key: _item(key, item, quantity) for key, item in value.items() if key != "kind"}}
    if kind == "pareto":
        _check_pareto(document, quantity)
    _check_truncation(document)
    low, high = document.get("min"), document.get("max")
    if low is not None and high is not None and low >= high:
        raise Problem("the smallest value is not below the largest", "exchange them", "min")
    return Dist(document, value)


def _item(key: str, item: Any, quantity: _Unit) -> Any:
    try:
        if key == "shape":
            if isinstance(item, bool) or not isinstance(item, int | float) or not 0 < item <= _MOST_SHAPE:
                raise Problem(f"{item!r} is not a shape", "give a number above 0 and at most a million, such as 1.5")
            return float(item)
        if key == "interpolate":
            if not isinstance(item, bool):
                raise Problem(f"{item!r} is not a yes or no", "write true or false")
            return item
        if key == "truncation":
            if item not in TRUNCATIONS:
                raise unknown("truncation", str(item), TRUNCATIONS)
            return item
        if key == "points":
            return _points(item, quantity)
        return float(quantity.parse(item, zero=key == "min" or (key == "value" and quantity is not SIZE)))
    except Problem as problem:
        raise Problem(problem.problem, problem.remedy, key, *problem.key) from None


def _points(points: Any, quantity: _Unit) -> list[list[float]]:
    example = f'write [{{ value = "{quantity.example}", p = 0.5 }}, ...], p cumulative and 1 at the end'
    if not isinstance(points, list | tuple) or not points:
        raise Problem("points are a list of tables", example)
    found: list[list[float]] = []
    for index, point in enumerate(points):
        if not isinstance(point, dict) or set(point) != {"value", "p"}:
            raise Problem("a point has a value and a cumulative probability p", example, index)
        share = point["p"]
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise Problem(f"{share!r} is not a probability", "give a number from 0 to 1", index, "p")
        try:
            value = float(quantity.parse(point["value"]))
        except Problem as problem:
            raise Problem(problem.problem, problem.remedy, index, "value") from None
        if found and (share < found[-1][1] or value < found[-1][0]):
            raise Problem("the points are not in order", "values and probabilities must not decrease", index)
        found.append([value, float(share)])
    if found[-1][1] != 1:
        raise Problem("the last cumulative probability is not 1", example, len(found) - 1, "p")
    return found


def _check_pareto(document: Mapping[str, Any], quantity: _Unit) -> None:
    by_mean, by_min = "mean" in document, "min" in document
    if by_mean == by_min:
        remedy = f'give min = "{quantity.example}", or mean with a shape above 1'
        raise Problem("a Pareto distribution has a mean or a smallest value", remedy, "mean" if by_mean else "min")
    if by_mean and "max" in document:
        raise Problem("a truncated one is given by its smallest value", "give min in place of mean", "mean")
    if by_mean and document["shape"] <= 1:
        raise Problem("a shape of 1 or less has no mean", "give a shape above 1, or min in place of mean", "shape")


def _check_truncation(document: Mapping[str, Any]) -> None:
    kind, low, high = (document.get(key) for key in ("kind", "min", "max"))
    if kind == "exponential" and low is not None and high is None:
        raise Problem("an exponential distribution with a smallest value has a largest one", "give max", "max")
    truncation = document.get("truncation")
    if truncation is not None and high is None:
        raise Problem("nothing is cut off", "give max, or remove truncation", "truncation")
    if truncation == "after" and kind == "pareto":
        raise Problem(
            "a Pareto distribution is given by shape and min, which no truncation changes", "remove it", "truncation"
        )
    mean = document.get("mean")
    if truncation == "after" and mean is not None and not (low or 0) < mean < high:
        raise Problem("the mean of what is left is between the smallest and the largest value", "give another", "mean")


def _plain(quantity: _Unit) -> dict[str, Any]:
    return {"type": "number"} if isinstance(quantity, _Number) else {"type": "string", "examples": [quantity.example]}


def _field(quantity: _Unit) -> Any:
    return (
        BeforeValidator(lambda value: None if value is None else parse(value, quantity)),
        PlainSerializer(lambda value: value.written if isinstance(value, Dist) else value),
        WithJsonSchema(
            {
                "anyOf": [_plain(quantity), {"type": "object"}],
                "description": f"a {quantity.name}, or a distribution of such: a table with kind = " + ", ".join(_KEYS),
            }
        ),
    )


Sizes = Annotated[Dist, *_field(SIZE)]
"""Sizes in bytes."""

Counts = Annotated[Dist, *_field(_Number())]
"""Numbers of things."""

Times = Annotated[Dist, *_field(DURATION)]
"""Times in ns."""
