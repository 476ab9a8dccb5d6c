"""Where the numbers of a study come from: which engine played its runs, on what, when, and how many there are."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import shlex
from collections import Counter
from typing import Any

from ackclock.study.runner import Report

LIBRARIES = ("numpy", "polars", "scipy")
"""What the numbers of a report went through besides ackclock."""


def of(report: Report) -> dict[str, Any]:
    """What played the runs, where and when, and how many there are: the same in the report and beside the verdicts.

    `runs_wall_s` are the seconds that the runs took, each by itself. They do not depend on how often a study was
    interrupted, whereas the wall time of the report is only that of the command that finished it.
    """
    found = {name: result.manifest for name, result in report.results.results.items()}
    counts = {name: _replications(manifest) for name, manifest in found.items()}
    one = next(iter(found.values()))  # the same process made all of them, with the engine that it has
    return {
        "command": command(report),
        "version": one["version"],
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
        "engine": one["engine"],
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "host": one["host"],
        "scenarios": {
            name: {
                "runs": sum(each.values()),
                "replications": max(each.values(), default=0),
                "seeds": sorted({run["seed"] for run in found[name]["runs"]}),
            }
            for name, each in counts.items()
        },
        "runs": sum(sum(each.values()) for each in counts.values()),
        "runs_wall_s": round(sum(run["wall_s"] for manifest in found.values() for run in manifest["runs"]), 3),
    }


def command(report: Report) -> str:
    """The command that makes this report again."""
    words = ["ackclock", "study", "run", report.study.name, *(["--quick"] if report.quick else [])]
    words += [word for name in report.added for word in ("--cc", name)]
    engines = {result.manifest["engine"]["name"] for result in report.results.results.values()}
    words += [word for name in sorted(engines - {"sim"}) for word in ("--engine", name)]
    return shlex.join(words)


def lines(report: Report, origin: dict[str, Any]) -> list[str]:
    """The provenance as a list to read. Date and wall time, which differ between two times, have lines of their own."""
    machine, counts = origin["host"], [each["replications"] for each in origin["scenarios"].values()]
    least, most = min(counts, default=0), max(counts, default=0)
    each = f"{most}" if least == most else f"{least} to {most}, by scenario,"
    memory = "" if machine["memory_bytes"] is None else f", {machine['memory_bytes'] / 2**30:.1f} GiB"
    played = "" if origin["engine"]["name"] == "sim" else f" on {origin['engine']['name']}"
    failed = f", of which {len(report.failures)} failed," if report.failures else ""
    seeds = sorted({seed for each in origin["scenarios"].values() for seed in each["seeds"]})
    used = ", ".join(f"{name} {version}" for name, version in origin["libraries"].items())
    again = "- the same command gives the same tables, figures and verdicts, byte for byte, on any machine"
    repeatable = [again] if origin["engine"]["name"] == "sim" else []
    return [
        f"- command: `{origin['command']}`; seed{'s' * (len(seeds) != 1)} {', '.join(map(str, seeds))}",
        *repeatable,
        f"- ackclock {origin['version']}{played}, engine of commit {origin['engine']['commit']}, "
        f"Python {machine['python']}, {used}",
        f"- host: {machine['cores']} processors ({machine['processor'] or 'of unknown kind'}){memory}, "
        f"{machine['system']} {machine['kernel']}, {machine['machine']}",
        f"- {'quick' if report.quick else 'full'} run: {origin['runs']} runs{failed} "
        f"of {len(counts)} scenario{'s' * (len(counts) != 1)}, "
        f"{each} replication{'s' * (most != 1)} of every point",
        f"- date: {origin['created']}",
        f"- wall time: {report.wall_s:.1f} s of the command that finished it; "
        f"the runs by themselves {origin['runs_wall_s']:.1f} s, those kept from earlier commands included",
    ]


def _replications(manifest: dict[str, Any]) -> Counter[int]:
    """How many replications each point of a scenario has, failed ones too."""
    return Counter(run["point"] for part in ("runs", "failed") for run in manifest[part])
