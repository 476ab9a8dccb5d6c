"""Where each finished run is, by its key. A sweep may have a million of them, so each has numbers and no object."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_FAILED, _REPEAT, _INVALID = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a finished run is: the place of its batch in the file, and its own place in the batch."""

    offset: int
    number: int
    rows: int
    """What it has in all tables."""
    failed: bool
    repeat: bool
    """It failed for a reason outside it, so it is worth another try."""
    invalid: bool = False
    """It was played in real time, and is not to be used: packets were too late."""


class Index(Mapping[str, Entry]):
    """The entries by key; the last one that was entered under a key counts."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._offsets, self._rows = array("Q"), array("Q")
        self._numbers = array("I")
        self._states = array("B")

    def enter(self, key: str, entry: Entry) -> None:
        """Enter a run, in place of an older one."""
        # The same text is asked for again and again: of many runs it is worth having it once.
        self._at[sys.intern(key)] = len(self._states)
        self._offsets.append(entry.offset)
        self._numbers.append(entry.number)
        self._rows.append(entry.rows)
        self._states.append(_FAILED * entry.failed | _REPEAT * entry.repeat | _INVALID * entry.invalid)

    def enter_batch(self, runs: Sequence[Mapping[str, Any]], offset: int) -> None:
        """Enter the runs of a batch's header, which begins there."""
        for number, run in enumerate(runs):
            error = run.get("error")
            repeat = bool(error and error["repeat"])
            emulation = run.get("info", {}).get("emulation")
            invalid = emulation is not None and not emulation["valid"]
            self.enter(run["key"], Entry(offset, number, run.get("rows", 0), error is not None, repeat, invalid))

    def __getitem__(self, key: str) -> Entry:
        at = self._at[key]
        state = self._states[at]
        failed, repeat, invalid = (bool(state & bit) for bit in (_FAILED, _REPEAT, _INVALID))
        return Entry(self._offsets[at], self._numbers[at], self._rows[at], failed, repeat, invalid)

    def __contains__(self, key: object) -> bool:
        return key in self._at

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)
