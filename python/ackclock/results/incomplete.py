"""Runs that a result does not have: how many there are of how many, in words."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from ackclock.files import STOPPED
from ackclock.results.manifest import Manifest

_WHY = (("missing", "missing: it was interrupted"), ("failed", ""))


def notes(manifest: Manifest, source: str = "") -> list[str]:
    """A line for runs that were not played to their end, and one for those that failed."""
    counts = {key: len(manifest.get(key, ())) for key, _ in _WHY}
    total = len(manifest["runs"]) + sum(counts.values())
    whose = f" of {source}" if source else ""
    found = []
    for key, why in _WHY:
        if count := counts[key]:
            what = f"{'is' if count == 1 else 'are'} {why}" if why else "failed"
            found.append(f"{count} of {total} runs{whose} {what}")
    return found


def write_down(folder: Path, finished: int, runs: int) -> None:
    """Keep how far a sweep came. Nothing rests on it, so that a full disk does not hide why it was stopped."""
    with contextlib.suppress(OSError):
        (folder / STOPPED).write_text(json.dumps({"finished": finished, "runs": runs}), encoding="utf-8")


def stopped(folder: Path) -> str:
    """How many runs of a sweep that was stopped are there, ``5 of 24 runs``; empty where nobody wrote it down."""
    try:
        known = json.loads((folder / STOPPED).read_text(encoding="utf-8"))
        return f"{int(known['finished'])} of {int(known['runs'])} runs"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
