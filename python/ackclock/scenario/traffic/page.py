"""Manifests of web pages: a file, TOML or JSON, that lists the objects of a page, their sizes and what refers to them.

```toml
[[objects]]
name = "index.html"       # the first object is the main one
size = "30 kB"

[[objects]]
name = "site.css"         # known when the main object has come
size = "60 kB"

[[objects]]
name = "font.woff2"       # known 5 ms after the last of these
size = "25 kB"
parents = ["site.css"]
parse = "5 ms"
```
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from ackclock.errors import Problem, unknown
from ackclock.files import NestedTooDeeply, parse_json, parse_toml, read_text
from ackclock.scenario.values.units import DURATION, SIZE

MOST_OBJECTS = 2**20
"""Of a page: requests number them."""
MOST_BYTES = 2**40
"""Of an object."""
_MOST_NAMED = 8
"""Objects that a message names."""

_KEYS = ("name", "size", "parents", "parse")
_ABOUT = ("title", "description", "source")
_EXAMPLE = '[[objects]], name = "index.html", size = "30 kB"'


@dataclass(frozen=True)
class Page:
    """The objects of a page as the engine reads them, each behind its parents, and the file's name as written."""

    objects: tuple[Mapping[str, Any], ...]
    written: str

    def __hash__(self) -> int:
        """By what it says."""
        return hash(repr(self.objects))


@dataclass(frozen=True, slots=True)
class _Item:
    name: str
    size: int
    parents: tuple[str, ...]
    parse: int | None


def read(value: Any, folder: str | None) -> Page:
    """The page of the manifest named `value`, beside the scenario in `folder`.

    Raises :class:`Problem` with file, key and remedy for a file that cannot be read or is no page.
    """
    if isinstance(value, Page):
        return value
    if not isinstance(value, str):
        raise Problem("a page is the name of a manifest", 'write for instance page = "news.toml"')
    content = _content(value, Path(value) if folder is None else Path(folder) / value)
    objects = content.get("objects")
    for key in content:
        if key not in ("objects", *_ABOUT):
            raise _at(value, key, unknown("key of a manifest", key, ("objects", *_ABOUT)))
    if not isinstance(objects, list) or not objects:
        raise Problem(f"'{value}' lists no objects", f"give each a table: {_EXAMPLE}")
    if len(objects) > MOST_OBJECTS:
        raise Problem(f"'{value}' lists {len(objects)} objects", f"a page has at most {MOST_OBJECTS}")
    items = [_item(value, index, item) for index, item in enumerate(objects)]
    return Page(tuple(_ordered(value, items)), value)


def _content(name: str, path: Path) -> dict[str, Any]:
    try:
        text = read_text(path)
        found = parse_json(text) if path.suffix == ".json" else parse_toml(text)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise Problem(f"cannot read '{name}' ({reason})", "give a manifest beside the scenario") from None
    except UnicodeDecodeError:
        raise Problem(f"cannot read '{name}' (it is not text)", "give a manifest in TOML or JSON") from None
    except NestedTooDeeply as problem:
        at = f", line {problem.line}" if problem.line else ""
        raise Problem(f"'{name}'{at}: {problem.problem}", problem.remedy) from None
    except ValueError as error:  # of both parsers; the message has the line
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise Problem(f"'{name}' is not {kind} ({error})", f"a manifest is {kind}: {_EXAMPLE}") from None
    if not isinstance(found, dict):
        raise Problem(f"'{name}' lists no objects", 'write { "objects": [ ... ] }')
    return found


def _at(file: str, key: str, problem: Problem) -> Problem:
    """The problem, told with the file and the key in it."""
    where = ".".join(map(str, (key, *problem.key)))
    return Problem(f"'{file}', {where}: {problem.problem}", problem.remedy)


def _item(file: str, index: int, item: Any) -> _Item:
    place = f"objects.{index}"
    try:
        if not isinstance(item, dict):
            raise Problem("an object is a table", f"write {_EXAMPLE}")
        for key in item:
            if key not in _KEYS:
                raise unknown("key of an object", key, _KEYS, key)
        for key in ("name", "size"):
            if key not in item:
                raise Problem(f"missing key '{key}'", f"write {_EXAMPLE}")
        name, parents = item["name"], item.get("parents", [])
        if not isinstance(name, str) or not name:
            raise Problem(f"{name!r} is not a name", 'write text, such as "index.html"', "name")
        if not isinstance(parents, list) or not all(isinstance(parent, str) for parent in parents):
            raise Problem("parents are a list of names", 'write for instance parents = ["index.html"]', "parents")
        size = _within("size", lambda: SIZE.parse(item["size"], zero=False, most=MOST_BYTES))
        parse = _within("parse", lambda: DURATION.parse(item["parse"])) if "parse" in item else None
        return _Item(name, size, tuple(parents), parse)
    except Problem as problem:
        raise _at(file, place, problem) from None


def _within(key: str, parse: Any) -> int:
    try:
        return int(parse())
    except Problem as problem:
        raise Problem(problem.problem, problem.remedy, key, *problem.key) from None


def _ordered(file: str, items: Sequence[_Item]) -> list[Mapping[str, Any]]:
    """The objects as the engine reads them: the main one first, each behind its parents, else as they are listed."""
    numbers: dict[str, int] = {}
    for index, item in enumerate(items):
        numbers.setdefault(item.name, index)
    main = items[0].name
    for index, item in enumerate(items):
        place = f"objects.{index}"
        if numbers[item.name] < index:
            raise _at(file, place, Problem(f"two objects are named '{item.name}'", "give each a name", "name"))
        if index == 0 and item.parents:
            problem = Problem("the first object is the main one, which nothing refers to", "remove parents", "parents")
            raise _at(file, place, problem)
        for parent in item.parents:
            if parent not in numbers:
                raise _at(file, place, unknown("object", parent, numbers, "parents"))
    # Of the objects whose parents are all placed, the first of the list is next.
    missing = [len(set(item.parents)) for item in items]
    children: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        for parent in dict.fromkeys(item.parents):
            children.setdefault(parent, []).append(index)
    ready = [index for index, count in enumerate(missing) if count == 0]  # in order, and so a heap
    placed: dict[str, int] = {}
    rows: list[Mapping[str, Any]] = []
    while ready:
        item = items[heapq.heappop(ready)]
        rows.append(_row(item, sorted({placed[parent] for parent in item.parents or (main,)}) if rows else ()))
        placed[item.name] = len(placed)
        for index in children.get(item.name, ()):
            missing[index] -= 1
            if missing[index] == 0:
                heapq.heappush(ready, index)
    if len(rows) < len(items):
        cycle = _cycle([item for item in items if item.name not in placed], placed)
        text = " -> ".join(cycle if len(cycle) <= _MOST_NAMED else [*cycle[: _MOST_NAMED - 1], "...", cycle[-1]])
        raise Problem(f"'{file}': objects wait for each other ({text})", f"remove a parent of '{cycle[0]}'")
    return rows


def _row(item: _Item, after: Sequence[int]) -> Mapping[str, Any]:
    row: dict[str, Any] = {"name": item.name, "bytes": item.size, "after": list(after)}
    return row if item.parse is None else {**row, "parse_ns": item.parse}


def _cycle(left: Sequence[_Item], placed: Mapping[str, int]) -> list[str]:
    """Objects that wait for each other, the first again at the end."""
    waits = {
        item.name: next(parent for parent in item.parents if parent not in placed) for item in left if item.parents
    }
    seen: dict[str, None] = {}
    name = left[0].name
    while name not in seen:
        seen[name] = None
        name = waits[name]
    names = list(seen)
    return [*names[names.index(name) :], name]


PageField = Annotated[
    Page | None,
    PlainValidator(
        lambda value, info: None if value is None else read(value, (info.context or {}).get("folder")),
    ),
    PlainSerializer(lambda page: page.written if isinstance(page, Page) else page),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "description": "a manifest of a page, beside the scenario"}, {"type": "null"}]}
    ),
]
"""The manifest of a page, by the name of its file."""
