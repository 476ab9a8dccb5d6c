"""Where in a TOML text a key is written, so that an error can name its line.

A reading of the lines only: enough for the files people write, and wrong in nothing worse than a missing number.
"""

from __future__ import annotations

import re

from ackclock.scenario.reading.expansion import Path

_TABLE = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_ARRAY = re.compile(r"\s*\[\[([^\[\]]+)\]\]\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_\-\"'. ]+?)\s*=")


def line_of(text: str, path: Path) -> int | None:
    """The line, counted from 1, of the innermost part of `path` that can be found."""
    wanted = tuple(map(str, path))
    best, depth = None, 0
    for where, number in keys(text):
        if len(where) > depth and wanted[: len(where)] == where:
            best, depth = number, len(where)
    return best


def keys(text: str) -> list[tuple[tuple[str, ...], int]]:
    """Every key and table of a text with its line, from the top to the bottom."""
    found: list[tuple[tuple[str, ...], int]] = []
    table: tuple[str, ...] = ()
    counts: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _ARRAY.match(line):
            name = _indexed(_split(match[1]), counts, last=False)
            counts[name] = counts.get(name, -1) + 1
            found.append((name, number))
            table = (*name, str(counts[name]))
        elif match := _TABLE.match(line):
            table = _indexed(_split(match[1]), counts, last=True)
        elif match := _KEY.match(line):
            found.append(((*table, *_split(match[1])), number))
            continue
        else:
            continue
        found.append((table, number))
    return found


def _split(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in name.split("."))


def _indexed(name: tuple[str, ...], counts: dict[tuple[str, ...], int], *, last: bool) -> tuple[str, ...]:
    """`name` with the current index after every part that is an array of tables: flows.cc is flows.0.cc."""
    result: tuple[str, ...] = ()
    for depth, part in enumerate(name):
        result = (*result, part)
        if result in counts and (last or depth < len(name) - 1):
            result = (*result, str(counts[result]))
    return result
