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
from typing import Any

from ackclock.controllers import loading
from ackclock.errors import Problem, unknown
from ackclock.scenario.reading import ranges
from ackclock.scenario.reading.ranges import MOST_VALUES, UNCOUNTED
from ackclock.scenario.reading.ranges import Path as Path
from ackclock.scenario.reading.ranges import Raw as Raw

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


@dataclass(frozen=True, slots=True)
class _Key:
    """A swept key before its values are made: where it is, the list or range that is written, how many values it has.

    `number` may be one off for a logrange of whole numbers, of which several round to the same.
    """

    name: str
    paths: tuple[Path, ...]
    written: Any
    number: int

    def values(self) -> list[Any]:
        """The values, made anew."""
        return _values(self.written, self.paths[-1])


def axes(raw: Raw) -> list[Axis]:
    """The axes of a scenario as read from a file, in its order. Raises :class:`Problem`, before values are made."""
    groups = _groups(raw)
    _check_points(_total(groups))
    return [_axis(group) for group in groups]


def counts(raw: Raw) -> tuple[int, int]:
    """How many points and runs a sweep has. Replications that are no number count as one: they are refused later."""
    values = _replications(raw)
    for axis in (found := axes(raw)):
        if "run.replications" in axis.names:
            place = axis.names.index("run.replications")
            values = [step[place] for step in axis.steps]
    return _counted(math.prod(len(axis.steps) for axis in found), values)


def foreseen(raw: Raw) -> tuple[int, int]:
    """The same before values are made; a logrange of whole numbers may count one off. Raises :class:`Problem`."""
    values, groups = _replications(raw), _groups(raw)
    total = _total(groups)
    _check_points(total)
    for key in (key for group in groups for key in group):
        if key.name == "run.replications":
            values = key.values()
    return _counted(total, values)


def _replications(raw: Raw) -> list[Any]:
    run = raw.get("run")
    return [run.get("replications") if isinstance(run, dict) else None]


def _counted(total: int, replications: list[Any]) -> tuple[int, int]:
    each = [value if type(value) is int and value > 0 else 1 for value in replications]
    return total, total // len(each) * sum(each)


def _groups(raw: Raw) -> list[list[_Key]]:
    """The swept keys, each with those that are zipped to it."""
    single: dict[str, _Key] = {}
    several = len(raw["flows"]) > 1 if isinstance(raw.get("flows"), list) else False
    for path, written in _swept(raw, ()):
        name = _name(path, several)
        before = single[name].paths if name in single else ()  # of another group of flows, from --set cc=[...]
        single[name] = _Key(name, (*before, path), written, _number(written, path))
    return _zipped(single, raw)


def _total(groups: list[list[_Key]]) -> int:
    """How many points there are, or a number beyond :data:`UNCOUNTED`."""
    total = 1
    for group in groups:
        if total > UNCOUNTED:
            break
        total *= max(key.number for key in group)
    return total


def shown(number: int) -> str:
    """A number for a message."""
    return f"more than {UNCOUNTED}" if number > UNCOUNTED else str(number)


def _check_points(total: int) -> None:
    if total > MOST_VALUES:
        raise Problem(f"the sweep has {shown(total)} points", f"at most {MOST_VALUES}; shorten its lists", "sweep")


def points(raw: Raw) -> Iterator[tuple[dict[str, Any], Raw]]:
    """Every point of a sweep: what is particular to it, and the whole scenario with lists replaced."""
    found = axes(raw)
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


def _swept(node: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every swept key: where it is, and the list or range that is written there."""
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
            yield path, node
    elif isinstance(node, dict):
        if "range" in node or "logrange" in node:
            yield path, node
        else:
            for name, item in node.items():
                yield from _swept(item, (*path, name))


def _values(written: Any, path: Path) -> list[Any]:
    """The values of a list or range."""
    if isinstance(written, list):
        return [value for item in written for value in _unfolded(item, path[-1])]
    return ranges.values(written, path)


def _number(written: Any, path: Path) -> int:
    """How many values a list or range has, without making them."""
    if isinstance(written, list):
        return sum(_combinations(item, path[-1]) for item in written)
    return ranges.number(written, path)


def _combinations(item: Any, key: str | int) -> int:
    """How many values one entry of a list stands for."""
    if not isinstance(item, dict | list):
        return 1
    total = 1
    for path, written in _swept({key: item}, ()):
        total *= min(_number(written, path), UNCOUNTED)
        if total > UNCOUNTED:
            return total
    return total


def _unfolded(item: Any, key: str | int | None) -> list[Any]:
    """The values one entry of a list stands for: more than one if it holds lists itself."""
    if not isinstance(item, dict | list):
        return [item]
    inner = [(path, _values(written, path)) for path, written in _swept({key: item}, ())]
    result = []
    for combination in itertools.product(*(values for _, values in inner)):
        holder = {key: copy.deepcopy(item)}
        for (path, _), value in zip(inner, combination, strict=True):
            _put(holder, path, value)
        result.append(holder[key])
    return result


def _name(path: Path, several: bool) -> str:
    """The column of a swept key: what ``--set`` calls it. A key of the only group of flows needs no index."""
    if path[0] == "flows" and not several and len(path) > 2:
        return dotted(path[2:])
    return dotted(path)


def _zipped(single: dict[str, _Key], raw: Raw) -> list[list[_Key]]:
    """The swept keys in groups that vary together."""
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
    result: dict[str | int, list[_Key]] = {}  # by its own name, or by the number of its group
    for name, found in single.items():
        result.setdefault(group_of.get(name, name), []).append(found)
    return list(result.values())


def _axis_named(single: dict[str, _Key], raw: Raw, name: Any) -> str | None:
    """The axis of a zipped key, or ``None`` if the key is there but has a single value."""
    for key, swept in single.items():
        if name == key or name in (dotted(path) for path in swept.paths):
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


def _axis(members: list[_Key]) -> Axis:
    """The values of keys that vary together."""
    values = [key.values() for key in members]
    if len({len(each) for each in values}) > 1:
        detail = ", ".join(f"{key.name} has {len(each)}" for key, each in zip(members, values, strict=True))
        raise Problem(f"zipped keys differ in length: {detail}", "give each as many values", "sweep", "zip")
    return Axis(
        tuple(key.name for key in members),
        tuple(key.paths for key in members),
        tuple(zip(*values, strict=True)),
    )


def _put(node: Any, path: Path, value: Any) -> None:
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = copy.deepcopy(value)
