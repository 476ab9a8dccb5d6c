"""Runs that a result does not have: how many there are of how many, in words.

While a sweep goes on, and after it was stopped, a file beside its runs says how far it came. A result of an earlier
sweep may be in the same directory: it is whole, and not what was asked for last.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ackclock.files import STOPPED, parse_json
from ackclock.results.manifest import INVALID, LATER_SWEEP, Manifest

_PART = f"{STOPPED}.part"
BEHIND = "the computer did not keep up"
"""Why runs on a real kernel are not valid, whatever of them was late or lost (docs/engines.md)."""
_LATE = f"not valid and left out: {BEHIND}"
_WHY = (("missing", "missing: it was interrupted"), ("failed", ""), (INVALID, _LATE))


def notes(manifest: Manifest, source: str = "") -> list[str]:
    """A line for runs that were not played to their end, one for those that failed, one for those not valid."""
    counts = {key: len(manifest.get(key, ())) for key, _ in _WHY}
    total = len(manifest["runs"]) + sum(counts.values())
    whose = f" of {source}" if source else ""
    found = [note] if (note := earlier(manifest, source)) else []
    for key, why in _WHY:
        if count := counts[key]:
            what = f"{'is' if count == 1 else 'are'} {why}" if why else "failed"
            found.append(f"{count} of {total} runs{whose} {what}")
    if late := sum(not entry["emulation"]["valid"] for entry in manifest["runs"] if measured_behind(entry)):
        what = f"{'was' if late == 1 else 'were'} measured behind an emulated path that was late (docs/engines.md)"
        found.append(f"{late} of {total} runs{whose} {what}: rates and round trips are this computer's, too")
    return found


def used(manifest: Manifest) -> list[str]:
    """A line for runs that are not valid and are in the tables all the same."""
    runs = manifest["runs"]
    played = [entry.get("emulation") or {} for entry in runs if not measured_behind(entry)]
    count = sum(not emulation.get("valid", True) for emulation in played)
    if not count:
        return []
    what = "the run is" if len(runs) == 1 else f"{count} of {len(runs)} runs {'is' if count == 1 else 'are'}"
    remedy = "where run in (select run from runs where valid) leaves such runs out"
    return [f"{what} not valid, as {BEHIND}: {remedy}"]


def measured_behind(entry: Mapping[str, Any]) -> bool:
    """Whether a run is a test of a measurement behind an emulated path: it stays, whether that was late or not."""
    return "context" in entry and bool(entry.get("emulation"))


def earlier(manifest: Manifest, source: str = "") -> str:
    """What to say of the result of a sweep after which another one was begun in its directory; else nothing."""
    there = manifest.get(LATER_SWEEP)
    if there is None:
        return ""
    whose = f" of {source}" if source else ""
    done = f" ({there} are done)" if there else ""
    return (
        f"the tables{whose} are those of an earlier sweep with {len(manifest['runs'])} runs: a later one in the same "
        f"directory has not finished{done}; the command that began it goes on"
    )


def write_down(folder: Path, finished: int, runs: int, *, playing: bool = False) -> None:
    """Keep how far a sweep came. Nothing rests on it, so that a full disk does not hide why it was stopped.

    Of one that is `playing` more may be there by the time somebody reads it.
    """
    with contextlib.suppress(OSError):
        known = {"finished": finished, "runs": runs, "playing": playing}
        (folder / _PART).write_text(json.dumps(known), encoding="utf-8")
        (folder / _PART).replace(folder / STOPPED)


def stopped(folder: Path) -> str:
    """How many runs of a sweep that did not finish are there, ``5 of 24 runs``; empty where nobody wrote it down.

    Of one that was killed, or is still playing, it is ``at least 5 of 24 runs``.
    """
    try:
        known = parse_json((folder / STOPPED).read_text(encoding="utf-8"))
        least = "at least " if known.get("playing") else ""
        return f"{least}{int(known['finished'])} of {int(known['runs'])} runs"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
