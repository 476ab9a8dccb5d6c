"""Reading a table of `study.toml`: every key once, of its kind, and no others; a mistake names file, key and line."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ackclock.errors import InputError, unknown
from ackclock.files import read_text, reason
from ackclock.scenario.reading import toml
from ackclock.scenario.reading.line_numbers import line_of

T = TypeVar("T")

_MISSING: Any = object()
_ALIKE = 0.75
"""How alike a key and a missing one must be to be taken for each other; no two keys of one table are."""
_KINDS: Mapping[type, tuple[str, str]] = {
    str: ("text", "write it in quotes"),
    bool: ("a yes or no", "write true or false"),
    int: ("a whole number", "write it without quotes and decimals"),
    float: ("a number", "write it without quotes"),
    dict: ("a table", "write it as { key = value } or under its own [header]"),
    list: ("a list", "write it as [ ... ], or [[header]] for each table"),
}


class Source:
    """A TOML file, as its text and its content."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = read_text(path, encoding="utf-8-sig")
        except OSError as error:
            raise InputError(reason(error), "a study is a directory with a study.toml", source=str(path)) from None
        except UnicodeDecodeError:
            raise InputError("not a text file", "write it in TOML, encoded in UTF-8", source=str(path)) from None
        self.raw = toml.parse(self.text, str(path))

    def table(self) -> Table:
        """The whole file."""
        return Table(self, self.raw, ())

    def wrong(self, key: Sequence[str | int], problem: str, remedy: str) -> InputError:
        """The error to raise about a key."""
        dotted, line = ".".join(map(str, key)), line_of(self.text, tuple(key))
        return InputError(problem, remedy, source=str(self.path), key=dotted or None, line=line)


class Table:
    """A table that is being read. :meth:`end` refuses what nobody has asked for."""

    def __init__(self, source: Source, raw: Mapping[str, Any], key: tuple[str | int, ...]) -> None:
        self.source = source
        self.key = key
        self._raw = raw
        self._known: list[str] = []

    def wrong(self, name: str, problem: str, remedy: str) -> InputError:
        """The error to raise about a key of this table."""
        return self.source.wrong((*self.key, name), problem, remedy)

    def get(self, name: str, kind: type[T], default: T = _MISSING) -> T:
        """The value of a key; without a default the key is required."""
        self._known.append(name)
        if name not in self._raw:
            if default is _MISSING:
                raise self.missing(name)
            return default
        value = self._raw[name]
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            what, remedy = _KINDS[kind]
            raise self.wrong(name, f"{_short(value)} is not {what}", remedy)
        return value

    def missing(self, name: str, remedy: str = "add it") -> InputError:
        """The error for a key that is not there: perhaps another is, misspelt."""
        for other in self._raw:
            if other not in self._known and alike(other, name):
                return self.wrong(other, f"unknown key '{other}'", f"did you mean '{name}'?")
        return self.wrong(name, f"missing key '{name}'", remedy)

    def optional(self, name: str, kind: type[T]) -> T | None:
        """The value of a key, or ``None`` without it."""
        self._known.append(name)
        return self.get(name, kind) if name in self._raw else None

    def factor(self, name: str) -> float:
        """What values are multiplied by; one unless it is given."""
        value = self.get(name, float, 1.0)
        if value == 0 or not math.isfinite(value):
            raise self.wrong(name, f"{value} is no scale", "give a number other than zero, such as 1e-6")
        return value

    def choice(self, name: str, known: Sequence[str], default: str = _MISSING) -> str:
        """One of several words."""
        word = self.get(name, str, default)
        if word not in known:
            found = unknown(name, word, known)
            raise self.wrong(name, found.problem, found.remedy)
        return word

    def texts(self, name: str, default: Sequence[str] = _MISSING) -> tuple[str, ...]:
        """A list of texts."""
        values = self.get(name, list, default if default is _MISSING else list(default))
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(name, f"{_short(values)} is not a list of texts", 'write ["one", "two"]')
        return tuple(values)

    def below(self, name: str, *, required: bool = False) -> Table:
        """A table inside this one; empty if it is not there."""
        raw = self.get(name, dict, _MISSING if required else {})
        return Table(self.source, raw, (*self.key, name))

    def each(self, name: str, read: Callable[[Table], T], *, required: bool = False) -> tuple[T, ...]:
        """A list of tables, each read by `read`."""
        values = self.get(name, list, _MISSING if required else [])
        if not all(isinstance(value, dict) for value in values):
            raise self.wrong(name, f"{_short(values)} is not a list of tables", "write [[header]] for each")
        if required and not values:
            raise self.wrong(name, f"'{name}' is empty", "add at least one")
        return tuple(read(Table(self.source, value, (*self.key, name, index))) for index, value in enumerate(values))

    def scalars(self, name: str) -> dict[str, str | int | float | bool]:
        """A table of plain values, such as the swept values that select runs."""
        values = self.get(name, dict, {})
        for key, value in values.items():
            if not isinstance(value, str | int | float | bool):
                problem = f"{_short(value)} is not a single value"
                raise self.source.wrong((*self.key, name, key), problem, 'write for instance "blbe"; quote dotted keys')
        return values

    def file(self, name: str, value: str) -> Path:
        """A file beside the TOML file, which must be there. `name` is the key that names it."""
        path = self.source.path.parent / value
        if not path.is_file():
            raise self.wrong(name, f"there is no file '{value}'", "give its path, relative to study.toml")
        return path

    def end(self) -> None:
        """Refuse every key that was not asked for."""
        for name in self._raw:
            if name not in self._known:
                found = unknown("key", name, self._known)
                raise self.wrong(name, found.problem, found.remedy)


def alike(word: str, name: str) -> bool:
    """Whether a key may be another, misspelt."""
    return bool(difflib.get_close_matches(word, [name], cutoff=_ALIKE))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
