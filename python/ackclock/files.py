"""What the system says of a file, and what is on its disk."""

from __future__ import annotations

import os

from ackclock.errors import InputError, one_line

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from pathlib import Path

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
