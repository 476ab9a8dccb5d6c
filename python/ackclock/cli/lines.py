"""Lines for people, JSON for machines: all without what tables take to load."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from typing import Any, TextIO

_USUAL = 80
"""Columns of a terminal that does not say."""

_INFINITY = float("inf")

_BLANK = "\N{NO-BREAK SPACE}"
_TOGETHER = (
    r"(?<=\d) (?=(?:%|[kMG]?bit/s|[numµ]?s|[kM]?B|BDP|packets?|segments?)(?!\w))"
    r"|(?<=\d) (?=to [-+]?\d)|(?<=\d to) (?=[-+]?\d)|(?<=×) (?=\d)"
)
"""Blanks at which no line is folded: before a unit, and within an interval."""


def width() -> int:
    """Columns of the terminal: what the environment says, or the system."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    for stream in (0, 1, 2):
        try:
            return os.get_terminal_size(stream).columns or _USUAL
        except OSError:
            continue
    return _USUAL


def say(line: str = "") -> None:
    """Print a line of text: folded between words in a terminal, whole in a file or a pipe.

    A number stays with its unit, an interval is whole, and what is longer than a line, as a path, is not split.
    """
    if sys.stdout.isatty():
        columns = width()
        line = "\n".join(fold(part, columns) for part in line.split("\n"))
    sys.stdout.write(f"{line}\n")


def blocks() -> bool:
    """Whether standard output can show more than ASCII."""
    return "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()


def print_json(value: Any) -> None:
    """One JSON object on standard output. What is not a number there, such as an infinity, is null."""
    import json

    json.dump(_finite(value), sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def warn(message: str) -> None:
    """A line on standard error, folded between words if that is a terminal."""
    print(folded(f"ackclock: {message}", sys.stderr), file=sys.stderr)


def folded(line: str, stream: TextIO) -> str:
    """A line as it is for a file or a pipe; for a terminal in as many lines as it takes, between words."""
    return fold(line, width(), indent="  ") if stream.isatty() else line


def fold(line: str, columns: int, *, indent: str = "") -> str:
    """A line in as many as it takes, the others begun by `indent`: between words, none of which is split."""
    import re
    import textwrap

    glued = re.sub(_TOGETHER, _BLANK, line)
    parts = textwrap.wrap(glued, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(parts).replace(_BLANK, " ")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not -_INFINITY < value < _INFINITY:
        return None
    return value
