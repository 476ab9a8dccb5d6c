"""A key that is given twice in a TOML text: which one, and where, of which the parser says only the second place."""

from __future__ import annotations

import re

from ackclock.errors import InputError
from ackclock.scenario.reading.expansion import Path, dotted
from ackclock.scenario.reading.line_numbers import keys

_AT = re.compile(r"\(at line (\d+), column \d+\)$")
_TWICE = ("Cannot overwrite a value", "Cannot declare ", "Cannot mutate immutable namespace ")
"""What the parser says of a key that is there."""
_INLINE = re.compile(r"Duplicate inline table key '(.*)' ")


def found(text: str, error: Exception, source: str) -> InputError | None:
    """The error that says which key of `text` is given twice and in which lines, if that is what `error` is about."""
    said = str(error)
    at = _AT.search(said)
    if at is None:
        return None
    line = int(at[1])
    written = [(path, number) for path, number in keys(text) if number <= line]
    if not written:
        return None
    last = written[-1][1]
    where = next(path for path, number in written if number == last)  # of an array of tables its own name, no number
    if (inline := _INLINE.match(said)) is not None:
        return _error((*where, inline[1]), f"twice in line {line}", source)
    if not said.startswith(_TWICE):
        return None
    # A table and a value of one name, or a table below a value, are the same key twice, too.
    before = [(path, number) for path, number in written if number < last and path and path == where[: len(path)]]
    first = max(before, key=lambda item: len(item[0]), default=None)
    return None if first is None else _error(where, f"twice, in lines {first[1]} and {last}", source)


def _error(key: Path, how: str, source: str) -> InputError:
    return InputError(f"it is given {how}", "keep one of them", source=source, key=dotted(key))
