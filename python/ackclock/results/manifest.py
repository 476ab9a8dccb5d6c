"""The record beside the tables of a result: what it is, and where what it says can be found."""

from __future__ import annotations

from typing import Any

FORMAT = 1
"""What a reader of results must know: it grows when a manifest or a table means something else."""

TABLES = ("runs", "flows", "links", "transfers", "series", "pages", "objects", "cells", "users", "legs")
"""The tables of a result, and the names of their files."""

LATER = frozenset({"pages", "objects", "cells", "users", "legs"})
"""Those that results of older versions do not have."""

LATER_SWEEP = "later_sweep"
"""In a manifest that was read, not in its file: how far a later sweep in its directory came that has not finished."""

INVALID = "invalid"
"""In a manifest in memory, not in its file: runs that were left out as they are not valid."""

CAPTURED = ("captures", "events")
"""Those that a result of captures has besides."""

CAPTURE = "capture"
"""The engine of results that were captured."""

Manifest = dict[str, Any]
Params = dict[str, str | int | float | bool]
"""The values of the swept keys of a point."""

Numbers = dict[str, float | None]
"""Those that are quantities written as text, in base units, by the names of their columns."""


def captured(manifest: Manifest) -> bool:
    """Whether what a result is of was captured, and not simulated."""
    return bool(manifest.get("engine", {}).get("name") == CAPTURE)


def tables_of(manifest: Manifest) -> tuple[str, ...]:
    """The tables of a result."""
    return (*TABLES, *CAPTURED) if captured(manifest) else TABLES


def numbers_of(entry: Manifest) -> Numbers:
    """The numbers of a point of a manifest; a result of an older version has none."""
    found: Numbers = entry.get("numbers", {})
    return found
