"""Swept keys and their values by short names: `queue` for `topology.queue`, `codel` for ``codel(target=5 ms)``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ackclock.errors import InputError, unknown
from ackclock.results import keys as short


def key(given: str, keys: Iterable[str], source: str | None = None) -> str:
    """The swept key that is meant: its name, its last part, or any part, if no other key has that.

    Raises :class:`InputError` for one that is none, or may be several.
    """
    names = list(dict.fromkeys(keys))
    meant = short.meant(given, names)
    if len(meant) > 1:
        raise InputError(f"'{given}' may be {' or '.join(meant)}", "write one of them", source=source, key="by")
    if meant:
        return meant[0]
    problem = unknown("swept key", given, names)
    remedy = problem.remedy if names else "nothing is swept here: give a key a list"
    raise InputError(problem.problem, remedy, source=source, key="by")


def value(given: str, words: Sequence[str], by: str, source: str | None = None) -> str:
    """The value of a swept key that is meant: itself, or the kind of a table such as ``codel(target=5 ms)``.

    Raises :class:`InputError` for one that is none, or may be several.
    """
    if given in words:
        return given
    meant = [word for word in words if word.startswith(f"{given}(")]
    if len(meant) > 1:
        raise InputError(f"'{given}' may be {' or '.join(meant)}", "write one of them", source=source, key="base")
    if meant:
        return meant[0]
    problem = unknown(f"value of '{by}'", given, words)
    raise InputError(problem.problem, problem.remedy, source=source, key="base")
