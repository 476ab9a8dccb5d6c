"""Swept keys by short names, the same for every command: `queue` for ``topology.queue``."""

from __future__ import annotations

from collections.abc import Iterable


def meant(given: str, keys: Iterable[str]) -> list[str]:
    """The swept keys that a name may mean: itself, else those that end with it, else those that have it as a part."""
    names = list(dict.fromkeys(keys))
    if given in names:
        return [given]
    ends = [name for name in names if name.endswith(f".{given}")]
    return ends or [name for name in names if given in name.split(".")]
