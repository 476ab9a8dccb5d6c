"""Where studies are: those of the package by name, others by the path of their directory."""

from __future__ import annotations

import os
from pathlib import Path

from ackclock.errors import InputError, unknown
from ackclock.study.document import FILE

BUILT_IN = Path(__file__).resolve().parent.parent / "studies"
"""The studies that come with the package; `studies` in the repository leads there (docs/adr/0011-studies.md)."""


def names(folder: Path = BUILT_IN) -> list[str]:
    """The studies that come with the package."""
    return sorted(item.parent.name for item in folder.glob(f"*/{FILE}"))


def find(name: str | os.PathLike[str]) -> Path:
    """The directory of a study, by its name or its path. Raises :class:`InputError`."""
    known = names()
    if str(name) in known:
        return BUILT_IN / str(name)
    path = Path(name)
    if path.name == FILE and path.is_file():
        path = path.parent
    if (path / FILE).is_file():
        return path.resolve()
    if path.is_dir():
        raise InputError(f"there is no {FILE} in it", "give the name or the directory of a study", source=str(name))
    found = unknown("study", str(name), known)
    raise InputError(found.problem, f"{found.remedy} (ackclock study list)", source="study")
