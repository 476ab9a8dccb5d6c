"""Lists and ranges in a scenario file: which values they hold, and the points they span.

Any value may be a list, a ``{ range = [first, last, step] }`` or a ``{ logrange = [first, last, n] }``. Each is an
axis; axes are crossed in the order of the file, the last varying fastest, unless ``[sweep] zip`` ties some together.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ackclock.controllers import loading
from ackclock.errors import Problem, unknown
from ackclock.scenario.values.units import DURATION, RATE, SIZE, split

Raw = dict[str, Any]
Path = tuple[str | int, ...]

# Keys whose value is a list by nature: for them a sweep is a list of lists.
_LISTS = frozenset(
    {
        "active",
        "bitrates",
        "capture",
        "drops",
        "events",
        "flows",
        "hops",
        "links",
        "nodes",
        "over",
        "places",
        "points",
        "relays",
        "steps",
        "uniform",
        "values",
        "via",
        "via_back",
        "weights",
        "zip",
    }
)
_MOST_POINTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Axis:
    """Values that vary together: `paths[i]` takes `steps[j][i]` at step j. `names` are the paths' columns."""

    names: tuple[str, ...]
    paths: tuple[tuple[Path, ...], ...]
    steps: tuple[tuple[Any, ...], ...]


def dotted(path: Path) -> str:
    """A path as a user writes it: ``flows.0.cc``."""
    return ".".join(map(str, path))


def label(value: Any) -> str | int | float | bool:
    """A swept value as a table cell: scalars as they are, tables as ``cubic(beta=0.8)``."""
    if isinstance(value, str | int | float | bool):
        return value
    if loading.is_class(value):
        return loading.name_of(value)
    if isinstance(value, Mapping):
        rest = dict(value)
        name = rest.pop("name", None) or rest.pop("kind", None)
        inside = ", ".join(f"{key}={label(item)}" for key, item in rest.items())
        return f"{name}({inside})" if name and inside else str(name or inside)
    return ", ".join(str(label(item)) for item in value) if isinstance(value, Sequence) else str(value)


def axes(raw: Raw) -> list[Axis]:
    """The axes of a scenario as read from a file, in its order. Raises :class:`Problem`."""
    single: dict[str, Axis] = {}
    several = len(raw["flows"]) > 1 if isinstance(raw.get("flows"), list) else False
    for path, values in _swept(raw, ()):
        name = _name(path, several)
        steps = tuple((value,) for value in values)
        if name in single:  # one value for every group of flows, from --set cc=[...]
            single[name] = Axis((name,), ((*single[name].paths[0], path),), steps)
        else:
            single[name] = Axis((name,), ((path,),), steps)
    return _zipped(single, raw)


def counts(raw: Raw) -> tuple[int, int]:
    """How many points and runs a sweep has. Replications that are no number count as one: they are refused later."""
    found, run = axes(raw), raw.get("run")
    values = [run.get("replications") if isinstance(run, dict) else None]
    for axis in found:
        if "run.replications" in axis.names:
            place = axis.names.index("run.replications")
            values = [step[place] for step in axis.steps]
    each = [value if type(value) is int and value > 0 else 1 for value in values]
    total = math.prod(len(axis.steps) for axis in found)
    return total, total // len(each) * sum(each)


def points(raw: Raw) -> Iterator[tuple[dict[str, Any], Raw]]:
    """Every point of a sweep: what is particular to it, and the whole scenario with lists replaced."""
    found = axes(raw)
    total = math.prod(len(axis.steps) for axis in found)
    if total > _MOST_POINTS:
        raise Problem(f"the sweep has {total} points", f"at most {_MOST_POINTS}; shorten its lists", "sweep")
    base = copy.deepcopy({key: value for key, value in raw.items() if key != "sweep"})
    for path in (path for axis in found for paths in axis.paths for path in paths):
        _put(base, path, None)  # a list of many values is not copied for every one of them
    for combination in itertools.product(*(axis.steps for axis in found)):
        point, params = copy.deepcopy(base), {}
        for axis, step in zip(found, combination, strict=True):
            for name, paths, value in zip(axis.names, axis.paths, step, strict=True):
                params[name] = label(value)
                for path in paths:
                    _put(point, path, value)
        yield params, point


def _swept(node: Any, path: Path) -> Iterator[tuple[Path, list[Any]]]:
    key = path[-1] if path else None
    if path == ("sweep",):
        return
    if isinstance(node, list):
        if key in _LISTS and not (node and isinstance(node[0], list)):
            for index, item in enumerate(node):
                yield from _swept(item, (*path, index))
        elif not node:
            raise Problem("an empty list", "give at least one value", *path)
        else:
            yield path, [value for item in node for value in _unfolded(item, key)]
    elif isinstance(node, dict):
        if "range" in node or "logrange" in node:
            yield path, _generated(node, path)
        else:
            for name, item in node.items():
                yield from _swept(item, (*path, name))


def _unfolded(item: Any, key: str | int | None) -> list[Any]:
    """The values one entry of a list stands for: more than one if it holds lists itself."""
    inner = list(_swept({key: item}, ()))
    result = []
    for combination in itertools.product(*(values for _, values in inner)):
        holder = {key: copy.deepcopy(item)}
        for (path, _), value in zip(inner, combination, strict=True):
            _put(holder, path, value)
        result.append(holder[key])
    return result


def _generated(node: Raw, path: Path) -> list[Any]:
    if len(node) != 1:
        raise Problem("a range stands alone", "write { range = [first, last, step] }", *path)
    kind, bounds = next(iter(node.items()))
    if not isinstance(bounds, list) or len(bounds) != 3:
        shape = "[first, last, step]" if kind == "range" else "[first, last, n]"
        raise Problem(f"a {kind} has three values", f"write {{ {kind} = {shape} }}", *path, kind)
    return _linear(bounds, (*path, kind)) if kind == "range" else _logarithmic(bounds, (*path, kind))


def _linear(bounds: list[Any], path: Path) -> list[Any]:
    (first, last, step), unit = _same_unit(bounds, path)
    if step <= 0 or last < first:
        raise Problem("a range goes upwards", "give first <= last and a positive step", *path)
    number = int((last - first) / step) + 1
    if number > _MOST_POINTS:
        raise Problem(f"the range has {number} values", "give a larger step", *path)
    return [_written(first + index * step, unit, bounds) for index in range(number)]


def _logarithmic(bounds: list[Any], path: Path) -> list[Any]:
    (first, last), unit = _same_unit(bounds[:2], path)
    number = bounds[2]
    if type(number) is not int or not 2 <= number <= _MOST_POINTS:
        raise Problem(f"{number!r} is not a number of values", "give a whole number of at least 2", *path)
    if first <= 0 or last <= first:
        raise Problem("a logrange goes upwards from above zero", "give 0 < first < last", *path)
    ratio = float(last / first) ** (1 / (number - 1))
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
        plain = isinstance(bound, int | float) and not isinstance(bound, bool)
        number, unit = split(str(bound)) if plain or isinstance(bound, str) else (None, "")
        if number is None:
            raise Problem(f"{bound!r} is not a number", 'write for instance ["10 ms", "50 ms", "10 ms"]', *path)
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


def _name(path: Path, several: bool) -> str:
    """The column of a swept key: what ``--set`` calls it. A key of the only group of flows needs no index."""
    if path[0] == "flows" and not several and len(path) > 2:
        return dotted(path[2:])
    return dotted(path)


def _zipped(single: dict[str, Axis], raw: Raw) -> list[Axis]:
    sweep = raw.get("sweep", {})
    if not isinstance(sweep, dict):
        raise Problem("the sweep is a table", 'write [sweep] with zip = [["key", "key"]]', "sweep")
    for key in sweep:
        if key != "zip":
            raise unknown("key", key, ["zip"], "sweep", key)
    groups = sweep.get("zip", [])
    shape = 'write zip = [["topology.rtt", "topology.queue.limit"]]'
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        raise Problem("zip is a list of lists of keys", shape, "sweep", "zip")
    group_of: dict[str, int] = {}
    for index, group in enumerate(groups):
        for name in group:
            key = _axis_named(single, raw, name)
            if key is None:
                continue  # a single value, perhaps from --set, goes with any step of the others
            if key in group_of:
                raise Problem(f"'{name}' is zipped twice", "name it once", "sweep", "zip")
            group_of[key] = index
    result: list[Axis] = []
    done: set[int] = set()
    for name, axis in single.items():
        number = group_of.get(name)
        if number is None:
            result.append(axis)
        elif number not in done:
            done.add(number)
            result.append(_tied([single[other] for other in single if group_of.get(other) == number]))
    return result


def _axis_named(single: dict[str, Axis], raw: Raw, name: Any) -> str | None:
    """The axis of a zipped key, or ``None`` if the key is there but has a single value."""
    for key, axis in single.items():
        if name == key or name in (dotted(path) for path in axis.paths[0]):
            return key
    guess = unknown("swept key", str(name), single)
    parts = str(name).split(".")
    groups = raw.get("flows")
    if present(raw, parts) or (isinstance(groups, list) and any(present(group, parts) for group in groups)):
        return None
    raise Problem(f"'{name}' is zipped but not there", guess.remedy, "sweep", "zip")


def present(node: Any, parts: Sequence[str]) -> bool:
    """Whether there is a value at a place."""
    for part in parts:
        if isinstance(node, list):
            node = node[int(part)] if part.isdecimal() and int(part) < len(node) else None
        else:
            node = node.get(part) if isinstance(node, dict) else None
    return node is not None


def _tied(members: list[Axis]) -> Axis:
    lengths = {len(axis.steps) for axis in members}
    if len(lengths) > 1:
        detail = ", ".join(f"{axis.names[0]} has {len(axis.steps)}" for axis in members)
        raise Problem(f"zipped keys differ in length: {detail}", "give each as many values", "sweep", "zip")
    return Axis(
        tuple(axis.names[0] for axis in members),
        tuple(axis.paths[0] for axis in members),
        tuple(tuple(axis.steps[step][0] for axis in members) for step in range(lengths.pop())),
    )


def _put(node: Any, path: Path, value: Any) -> None:
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = copy.deepcopy(value)
