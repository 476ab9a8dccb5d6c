"""The errors a user can meet, each one line: where, what is wrong, what to do about it."""

from __future__ import annotations

TYPE_CHECKING = False  # what typing says, which takes time to load, as re does
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class AckclockError(Exception):
    """Base of every error this package raises on purpose."""


class EarlierResultWarning(UserWarning):
    """A result was read that an earlier sweep wrote: a later one in the same directory has not finished."""


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
        problem = _clipped(problem)
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


class ControllerError(EngineError):
    """A controller written in Python raised an exception, which ended its run. ``__cause__`` is that exception.

    Parameters
    ----------
    problem: the exception, in one line.
    controller: the controller's name.
    flow: id of the flow it served.
    time_s: simulated time of the call.
    method: the method that raised.
    traceback: the exception with its traceback, as Python prints it.
    run: the run and its parameters, if there are several.

    ``result`` is a :class:`ackclock.Result` of the runs that had finished, or ``None``.
    """

    result: Any = None

    def __init__(
        self, problem: str, controller: str, flow: str, time_s: float, method: str, traceback: str, run: str = ""
    ) -> None:
        self.problem = problem
        self.controller = controller
        self.flow = flow
        self.time_s = time_s
        self.method = method
        self.traceback = traceback
        self.run = run
        where = f"{run}: " if run else ""
        super().__init__(f"{where}{controller}, flow {flow}, t = {time_s:.9f} s: {method} raised {problem}")

    def of_run(self, run: str) -> ControllerError:
        """The same error, naming the run."""
        return ControllerError(**{**self.fields(), "run": run})

    def fields(self) -> dict[str, Any]:
        """What it was made of, by name: plain values, which go from process to process."""
        names = ("problem", "controller", "flow", "time_s", "method", "traceback", "run")
        return {name: getattr(self, name) for name in names}

    def __reduce__(self) -> tuple[type[ControllerError], tuple[object, ...]]:
        return type(self), tuple(self.fields().values())


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during :func:`ackclock.run`. ``result`` is a :class:`ackclock.Result` of the runs that had finished."""

    def __init__(self, result: Any, missing: int) -> None:
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


_MOST_NAMES = 200
"""Names that a message lists."""
_MOST_COMPARED = 10_000
"""Names that a mistyped one is compared with: a network or a page may have far more, and a comparison takes 10 us."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word a mistyped one most resembles, or ``None``."""
    import difflib
    import itertools

    names = list(itertools.islice(known, _MOST_COMPARED))
    folded = {name.casefold(): name for name in names}
    exact = folded.get(word.casefold())
    if exact is not None:
        return exact
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


_VERSIONS = r"[-_.]?\d+$"


def _versions(word: str, names: Iterable[str]) -> list[str]:
    """Known names that are `word` with a number behind it, as `bbr1` and `bbr3` are of ``bbr``."""
    import re

    found = [name for name in names if re.search(_VERSIONS, name)]
    return [name for name in found if re.sub(_VERSIONS, "", name).casefold() == word.casefold()]


def unknown(what: str, word: str, known: Iterable[str], *key: str | int) -> Problem:
    """The :class:`Problem` for a name that does not exist: suggest one, or the versions of it, or list them all."""
    names = list(known)
    guess = nearest(word, names)
    versions = _versions(word, names)
    if len(versions) > 1:
        remedy = f"did you mean {' or '.join(map(repr, versions))}?"
    elif guess is not None:
        remedy = f"did you mean '{guess}'?"
    elif names:
        more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        remedy = f"known: {', '.join(names[:_MOST_NAMES])}{more}"
    else:
        remedy = "remove it"
    shown = word if len(word) <= 60 else f"{word[:57]}..."
    return Problem(f"unknown {what} '{shown}'", remedy, *key)


_LONG = 120
"""Characters of a word that nobody would read."""


def _clipped(text: str) -> str:
    """`text` with words that nobody would read cut short: what a user gives may have thousands of characters."""
    if len(text) < _LONG:
        return text
    import re

    short = rf"\S{{{_LONG},}}"
    return re.sub(short, lambda found: found[0][:57] + "..." + ("'" if found[0].endswith("'") else ""), text)


def one_line(text: str) -> str:
    """`text` with every run of white space, line breaks included, made one blank."""
    return " ".join(text.split())
