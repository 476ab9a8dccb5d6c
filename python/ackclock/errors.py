"""The errors a user can meet, each one line: where, what is wrong, what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.results.result import Result


class AckclockError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(AckclockError, ValueError):
    """Something the user gave cannot be used; nothing was run.

    Parameters
    ----------
    problem: what is wrong, without a full stop.
    remedy: what to write or do instead.
    source: the file or option the value came from.
    key: dotted path of the key inside it, for instance ``topology.queue.limit``.
    line: line of that key in the file, counted from 1.
    """

    def __init__(
        self,
        problem: str,
        remedy: str,
        *,
        source: str | None = None,
        key: str | None = None,
        line: int | None = None,
    ) -> None:
        self.problem = problem
        self.remedy = remedy
        self.source = source
        self.key = key
        self.line = line
        where = "".join(f"{part}: " for part in (source, key) if part)
        at = f" (line {line})" if line else ""
        super().__init__(one_line(f"{where}{problem}{at}; {remedy}"))


class EngineError(AckclockError, RuntimeError):
    """The engine refused or failed a run; the message names the run and its parameters."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during :func:`ackclock.run`. ``result`` holds the runs that had finished."""

    def __init__(self, result: Result, missing: int) -> None:
        self.result = result
        self.missing = missing
        super().__init__(f"interrupted: {len(result.runs)} runs finished, {missing} missing")


class Problem(ValueError):  # noqa: N818 - a finding on its way to becoming an error
    """Raised inside a validator, which knows what is wrong but not where.

    ``key`` is the rest of the path below the value being validated; whoever knows the place turns
    this into an :class:`InputError`.
    """

    def __init__(self, problem: str, remedy: str, *key: str | int) -> None:
        self.problem = problem
        self.remedy = remedy
        self.key = key
        super().__init__(f"{problem}; {remedy}")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word a mistyped one most resembles, or ``None``."""
    names = list(known)
    folded = {name.casefold(): name for name in names}
    exact = folded.get(word.casefold())
    if exact is not None:
        return exact
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def unknown(what: str, word: str, known: Iterable[str], *key: str | int) -> Problem:
    """The :class:`Problem` for a name that does not exist: suggest one, or list them all."""
    names = list(known)
    guess = nearest(word, names)
    if guess is not None:
        remedy = f"did you mean '{guess}'?"
    elif names:
        remedy = f"known: {', '.join(names)}"
    else:
        remedy = "remove it"
    return Problem(f"unknown {what} '{word}'", remedy, *key)


def one_line(text: str) -> str:
    """`text` with every run of white space, line breaks included, made one blank."""
    return " ".join(text.split())
