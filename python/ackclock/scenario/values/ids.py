"""How flows and links are named from outside: by their ids, or else by their numbers."""

from __future__ import annotations

from collections.abc import Sequence


def place(given: object, ids: Sequence[str]) -> int | None:
    """The number of the one that has this id; of none, where `given` is a whole number below their count, that one.

    An id comes first, so that 1 is the link "1" wherever it stands.
    """
    if isinstance(given, bool) or not isinstance(given, int | str):
        return None
    if str(given) in ids:
        return ids.index(str(given))
    return given if isinstance(given, int) and 0 <= given < len(ids) else None
