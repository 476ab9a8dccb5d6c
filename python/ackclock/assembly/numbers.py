"""Swept values that are written as text, as numbers in base units: columns that can be sorted, averaged and drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ackclock.scenario.compile import compile_groups, link_key
from ackclock.scenario.plan import Plan, Point
from ackclock.scenario.values.physical import FREQUENCY, LENGTH, LEVEL, RATIO, SPEED
from ackclock.scenario.values.units import DURATION, PACKETS, RATE, SEGMENTS, SIZE, split

_BDP, _PACKETS, _BYTES = "bdp", "packets", "bytes"
_LENGTHS = frozenset({_BDP, _PACKETS, _BYTES})
"""What a queue is measured in: values in different ones are comparable in packets, as the run has them."""
_UNLIMITED = "unlimited"

# The suffix of a column, the quantity it is of, and how many base units of that make one of the column.
_QUANTITIES = (
    ("s", DURATION, 10**9),
    ("bps", RATE, 1),
    (_BYTES, SIZE, 1),
    (_PACKETS, PACKETS, 1),
    ("segments", SEGMENTS, 1),
    ("m", LENGTH, 1),
    ("mhz", FREQUENCY, 1),
    ("dbm", LEVEL, 1),
    ("db", RATIO, 1),
    ("kmh", SPEED, 1),
)
_FRACTION = "fraction"

Parsed = tuple[str, float]
"""The suffix of a value's quantity, and the value in its unit."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numeric columns of a plan."""

    columns: Mapping[str, tuple[str, ...]]
    """Those of each swept key that has any: the first has the value as it was written, in its base unit."""
    values: Sequence[Mapping[str, float | None]]
    """What stands in them, point by point."""

    @property
    def names(self) -> list[str]:
        """All columns, in the order of the swept keys."""
        return [column for columns in self.columns.values() for column in columns]


def of(plan: Plan) -> Numbers:
    """The numbers of every swept key whose values are quantities with units. ``unlimited`` is none (null)."""
    columns: dict[str, tuple[str, ...]] = {}
    values: list[dict[str, float | None]] = [{} for _ in plan.points]
    lengths: list[str] = []
    for key in plan.params:
        texts = [point.params[key] for point in plan.points]
        known = {text: parsed(text) for text in dict.fromkeys(texts) if text != _UNLIMITED}
        if None in known.values() or all(isinstance(text, int | float) for text in texts):
            continue  # text, or numbers already
        suffixes = {each[0] for each in known.values() if each is not None}
        if not suffixes:
            continue
        if len(suffixes) == 1:
            (suffix,) = suffixes
            column = _named(key, suffix)
            columns[key] = (column,)
            for own, text in zip(values, texts, strict=True):
                number = known.get(text)
                own[column] = None if number is None else number[1]
        elif not suffixes <= _LENGTHS:
            continue
        if _BDP in suffixes:
            lengths.append(key)
    for key in lengths:
        _resolve(plan, key, columns, values)
    found = Numbers({key: columns[key] for key in plan.params if key in columns}, values)
    return Numbers(found.columns, [{name: own[name] for name in found.names} for own in values])


def parsed(value: str | float | bool) -> Parsed | None:
    """A value as a number in the base unit of its quantity; ``None`` if it is not a number with a unit."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _FRACTION, float(value)  # beside percentages: no other quantity is written without its unit
    number, unit = split(value)
    if number is None:
        return None
    if unit == "BDP":
        return _BDP, float(number)
    if unit == "%":
        return _FRACTION, float(number / 100)
    for suffix, quantity, scale in _QUANTITIES:
        if unit in quantity.units:
            return suffix, float(Fraction(number) * quantity.units[unit] / scale)
    return None


def _named(key: str, suffix: str) -> str:
    """The column of a key in a unit. That of a flow's key, such as `start`, must not be one of the tables' own."""
    name = key if "." in key else f"flows.{key}"
    return name if name.endswith(suffix) and name[: -len(suffix)].endswith((".", "_")) else f"{name}_{suffix}"


def _resolve(plan: Plan, key: str, columns: dict[str, tuple[str, ...]], values: list[dict[str, float | None]]) -> None:
    """Add the column of a queue's lengths in packets, as each point has them, if every point has one."""
    found = [_packets(point, key) for point in plan.points]
    if all(each is None for each in found):
        return
    column = _named(key, _PACKETS)
    columns[key] = (*columns.get(key, ()), column)
    for own, packets in zip(values, found, strict=True):
        own[column] = packets


def _packets(point: Point, key: str) -> float | None:
    """The length of the queue that a key sets, in packets; of one in bytes as many full-size ones as it holds."""
    document = compile_groups(point.scenario)
    threshold = key.rpartition(".")[2] == "mark_above"
    name = "mark_above" if threshold else "limit"
    lengths = set()
    for number, link in enumerate(document["links"]):
        place = ".".join(map(str, link_key(point.scenario, number)))
        if link["queue"] is None or f"{place}.queue" not in (key, key.rpartition(".")[0]):
            continue
        packets, size = (link["queue"].get(f"{name}_{unit}") for unit in (_PACKETS, _BYTES))
        if packets is None and size is not None:
            packets = size / link["queue"]["packet_bytes"]
        lengths.add(packets)
    only = lengths.pop() if len(lengths) == 1 else None
    return None if only is None else float(only)
