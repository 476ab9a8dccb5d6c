"""What a result was swept over: which keys vary, which of them are numbers, and what the candidates are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.drawing import quantities
from ackclock.drawing.quantities import Quantity
from ackclock.drawing.wrapping import plain
from ackclock.errors import InputError, nearest
from ackclock.results import groups
from ackclock.results import keys as short
from ackclock.results.manifest import numbers_of
from ackclock.results.result import Result

SEED = "run.seed"
GROUP = "group"
"""What stands for the [[flows]] tables of a scenario where a swept key is expected."""
_FEW = 6  # numbers of connections that are lines
_TABLE = re.compile(r"flows\.(\d+)\.")  # which of several [[flows]] tables a key is of


@dataclass(frozen=True, slots=True)
class Key:
    """A swept key: its value in each point as text, and as a number in the base unit of `column` where it is one."""

    name: str
    column: str
    texts: dict[int, str]
    numbers: dict[int, float] | None
    group: int | None = None
    """The group of flows that it is of, where there are several."""

    @property
    def varies(self) -> bool:
        """Whether it has several values."""
        return len(set(self.texts.values())) > 1

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.numbers is not None

    @property
    def controllers(self) -> bool:
        """Whether its values are controllers."""
        return self.name.rpartition(".")[2] == "cc"

    @property
    def steps(self) -> list[str]:
        """Its values: numbers in their order, others in that of the sweep."""
        steps = list(dict.fromkeys(self.texts.values()))
        if self.numbers is None:
            return steps
        at = {self.texts[point]: self.numbers.get(point, float("inf")) for point in self.texts}
        return sorted(steps, key=lambda step: at[step])

    @property
    def quantity(self) -> Quantity:
        """What it is on an axis."""
        known = quantities.of(self.column)
        return known if self.group is None else Quantity(f"{known.name} of group {self.group}", known.unit)

    @property
    def short(self) -> str:
        """Its name without what every key begins with."""
        return self.quantity.name

    def named(self, steps: Sequence[str]) -> tuple[tuple[str, ...], str]:
        """Values as names at an axis, and its label: numbers in one unit, which the label has, where they are."""
        at = {text: self.numbers.get(point) for point, text in self.texts.items()} if self.numbers else {}
        known = [number for step in steps if (number := at.get(step)) is not None]
        if len(known) < len(steps):
            return tuple(steps), self.short
        by, label = self.quantity.scaled(known)
        words = tuple(plain(float(f"{number * by:.6g}")) for number in known)
        return (words, label) if len(set(words)) == len(words) else (tuple(steps), self.short)

    def says(self, step: str) -> str:
        """A value with the name of its key, as the title of a panel."""
        return f"{self.short} = {step}"


def of(result: Result) -> dict[str, Key]:
    """The swept keys of a result, by name."""
    entries = result.manifest["points"]
    return {name: _key(name, entries, result.numbers.get(name, [])) for name in result.params}


def _key(name: str, entries: list[dict[str, Any]], columns: list[str], column: str = "") -> Key:
    values = {entry["point"]: entry["params"][name] for entry in entries}
    texts = {point: _word(value) for point, value in values.items()}
    table = _TABLE.match(name)
    several = table is not None and any(len(groups.recorded(entry)) > 1 for entry in entries)
    group = int(table[1]) if table is not None and several else None
    if columns:
        chosen = column or columns[0]
        known = {entry["point"]: numbers_of(entry)[chosen] for entry in entries}
        return Key(name, chosen, texts, {point: value for point, value in known.items() if value is not None}, group)
    plain = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values())
    return Key(name, name, texts, {point: float(value) for point, value in values.items()} if plain else None, group)


def chosen(result: Result, keys: dict[str, Key], name: str, option: str) -> Key:
    """The key that an option names: by its name, the end or a part of it, or one of its numeric columns."""
    for key, columns in result.numbers.items():
        if name in columns:
            return _key(key, result.manifest["points"], columns, name)
    meant = short.meant(name, keys)
    if len(meant) == 1:
        return keys[meant[0]]
    known = [*keys, GROUP]
    if len(meant) > 1:
        raise InputError(f"'{name}' may be {' or '.join(meant)}", "write the whole key", key=option)
    tails = {key.rpartition(".")[2]: key for key in known}
    guess = nearest(name, known) or tails.get(nearest(name, tails) or "")
    there = f"swept are {', '.join(keys)}" if keys else "nothing was swept"
    remedy = f"did you mean '{guess}'? {there}" if guess else f"{there}; '{GROUP}' stands for the groups of flows"
    raise InputError(f"'{name}' was not swept", remedy, key=option)


def candidates(keys: dict[str, Key]) -> Key | None:
    """The key whose values are compared by default: the controller, or else the first that is no number."""
    varying = [key for key in keys.values() if key.varies and not key.numeric]
    controllers = [key for key in varying if key.controllers]
    return next(iter(controllers or varying), None)


def connections(keys: dict[str, Key]) -> Key | None:
    """The numbers of connections of web pages, which are candidates beside another number that varies."""
    varying = [key for key in keys.values() if key.varies]
    own = next((key for key in varying if key.name.endswith("app.connections")), None)
    others = any(key.numeric for key in varying if key is not own)
    return own if others and own is not None and len(own.steps) <= _FEW else None


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
