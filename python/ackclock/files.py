"""What the system says of a file, what is on its disk, and texts that users give, read within bounds."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

from ackclock.errors import InputError, Problem, one_line

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

JOURNAL = "runs.journal"
"""The file that keeps the finished runs of a sweep. With what is moved aside from it, it marks the directory of one."""
STOPPED = f"{JOURNAL}.stopped"
"""Beside it, while a sweep that was stopped waits to go on: how many of how many runs had finished."""


def reason(error: BaseException) -> str:
    """Why the system refused something, in one line of small letters: "no space left on device"."""
    return one_line((getattr(error, "strerror", None) or str(error)).lower())


def to_disk(path: Path) -> None:
    """Have a file on the disk, or the names in a directory. Raises :class:`OSError`."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def figures_of(scenario: Path) -> Path:
    """The directory in the current one for figures of a scenario, where no other is named."""
    from pathlib import Path

    return Path(f"{scenario.stem}-plots")


def unwritable(folder: Path, error: OSError, remedy: str = "give --out a directory you may write to") -> InputError:
    """The error of a directory that takes no results."""
    return InputError(f"cannot write the results there ({reason(error)})", remedy, source=str(folder))


MOST_TEXT = 8 << 20
"""Bytes of a text in TOML, JSON or CSV. 100,000 groups of flows, more than a run has, take half of it.

The TOML library needs 0.5 to 4 CPU seconds and up to 350 MB of memory for each MB, depending on what the text holds.
"""
MOST_TRACE = 64 << 20
"""Bytes of a recorded trace: a day at 1 Mbit/s, or 18 minutes at 100 Mbit/s."""
MOST_PARTS = 32
"""Parts of a dotted key, and levels of tables and lists in each other; no key of ackclock has ten."""


def read_text(path: Path, most: int = MOST_TEXT, encoding: str = "utf-8") -> str:
    """The text of a regular file of at most `most` bytes, with line breaks as Python has them.

    Raises :class:`OSError` for a device, a pipe or a larger file before any of it is read, and
    :class:`UnicodeDecodeError`.
    """
    _check_regular(path.stat(), most)
    # Another file may have taken the name since: a pipe must not block here.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as stream:
        _check_regular(os.fstat(handle), most)
        data = stream.read(most + 1)
    if len(data) > most:  # files of /proc do not know their size
        raise _too_large(most)
    return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def _check_regular(found: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    if found.st_size > most:
        raise _too_large(most)


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {most:,} bytes")


class NestedTooDeeply(Problem):
    """A text with more levels than :data:`MOST_PARTS`. `line`, counted from 1, is where, if that is known."""

    def __init__(self, problem: str, remedy: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(problem, remedy)


def parse_toml(text: str) -> dict[str, Any]:
    """The content of a TOML text.

    Raises :class:`NestedTooDeeply`, for dotted keys before the TOML library expands them, and :class:`ValueError`, most
    often ``tomllib.TOMLDecodeError``.
    """
    import tomllib

    _check_dotted_keys(text)
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise _nested() from None
    check_depth(found)
    return found


def parse_json(text: str | bytes) -> Any:
    """The content of a JSON text. Raises :class:`NestedTooDeeply` and :class:`ValueError`."""
    import json

    try:
        return json.loads(text)
    except RecursionError:
        raise _nested() from None


def check_depth(value: Any) -> None:
    """Refuse tables and lists in each other on more than :data:`MOST_PARTS` levels: :class:`NestedTooDeeply`."""
    level, depth = {id(value): value}, 0
    while level := {id(item): item for each in level.values() for item in _inside(each)}:
        depth += 1
        if depth > MOST_PARTS:
            raise _nested()


def _inside(value: Any) -> list[Any]:
    """The tables and lists in a table or a list."""
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return [item for item in items if isinstance(item, Mapping | list | tuple)]


def _nested() -> NestedTooDeeply:
    return NestedTooDeeply("brackets are nested too deeply", f"correct it: at most {MOST_PARTS} levels are possible")


_PART = r"""(?:[A-Za-z0-9_-]++|"(?!"")(?:[^"\\\n]|\\[^\n])*+"|'(?!'')[^'\n]*+')"""
_TOKEN = rf"""
    \"{{3}}(?:[^"\\]|\\.|"(?!""))*+"{{3,5}}+   # strings of several lines
    | '{{3}}(?:[^']|'(?!''))*+'{{3,5}}+
    | \#[^\n]*+
    | (?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+)  # also strings, numbers and words that are values
    | (?P<open>["'])                               # of a string without an end: the library refuses it
    | [^"'\#A-Za-z0-9_-]++
"""


def _check_dotted_keys(text: str) -> None:
    """Refuse a dotted key or header of a table with too many parts, for which the library takes much memory."""
    if not any(line.count(".") >= MOST_PARTS for line in text.split("\n")):
        return
    import re

    part = re.compile(_PART)
    for token in re.finditer(_TOKEN, text, re.VERBOSE | re.DOTALL):
        if token["open"]:
            return
        key = token["key"]
        if key is None or key.count(".") < MOST_PARTS:
            continue
        if (parts := len(part.findall(key))) > MOST_PARTS:
            line = text.count("\n", 0, token.start()) + 1
            problem = f"the key '{key[:20]}...' has {parts} parts"
            raise NestedTooDeeply(problem, f"at most {MOST_PARTS} are possible", line)
