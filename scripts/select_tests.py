#!/usr/bin/env python3
"""Selects the slower tests that a change needs, and the share of today; runs them.

    python scripts/select_tests.py                 # prints units and reasons
    python scripts/select_tests.py --run           # runs them (needs `make build`)
    python scripts/select_tests.py --base COMMIT --date 2026-11-29

The quick tests (`make test`) are not selected here: they always run. A unit is a file of tests of a slower tier, or
`cases` (all random cases of the tests in Rust), `fuzz` or `instructions`. `.ci/tiers.toml` maps changed paths to units.
Every unit that the change does not need is run on one day of the week, so that a run each day covers all of them.
The change is everything since `--base`, or since the environment's ACKCLOCK_CI_BASE, or else since the last commit that
is four hours older than HEAD.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python" / "tests"), str(ROOT / "scripts")]

import guides  # noqa: E402
import tiers  # noqa: E402

COMMANDS = {
    "cases": ["make", "test-cases"],
    "fuzz": ["make", "fuzz"],
    "instructions": ["make", "instructions"],
}
COSTS = {"cases": 150.0, "fuzz": 100.0, "instructions": 200.0}
"""CPU seconds, roughly: only for days of equal cost."""
NO_TESTS = 5
"""Exit code of pytest where all tests of the files are quick, and so have run already."""
REAL_TIME_COST = 10.0
KERNEL_VT_COST = 60.0
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Rule:
    """Changed files that match one of `paths` select the units that match one of `units`."""

    paths: tuple[str, ...]
    units: tuple[str, ...]


def rules(path: Path = ROOT / ".ci" / "tiers.toml") -> list[Rule]:
    """The map from paths to units."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Rule(tuple(rule["paths"]), tuple(rule["units"])) for rule in document["rule"]]


def units() -> dict[str, float]:
    """Every unit with about its CPU time in seconds."""
    found = dict(COSTS)
    for node, cost in tiers.slow_tests().items():
        path, _, _test = node.partition("::")
        tier = tiers.slow_tier(node)
        name = Path(path).name
        if tier == "guides" and name == "test_guides.py":
            continue
        unit = f"{tier}/{name}"
        found[unit] = found.get(unit, 0.0) + cost
    tests = ROOT / "python" / "tests"
    timed = {page.stem for page in guides.TIMED}
    for page in guides.PAGES:
        if page not in guides.KERNELS:
            found[f"guides/{page.stem}"] = REAL_TIME_COST if page.stem in timed else 15.0
    for file in sorted(tests.glob("test_*.py")):
        if "pytest.mark.real_time" in file.read_text(encoding="utf-8"):
            found[f"real_time/{file.name}"] = REAL_TIME_COST
    for file in sorted(tests.glob("kernel_vt*.py")):
        found[f"kernel_vt/{file.name}"] = KERNEL_VT_COST
    return found


def units_for_change(changed: Iterable[str], table: Iterable[Rule], known: Iterable[str]) -> dict[str, str]:
    """The units that changed files need, each with the first file that needs it."""
    known, table = list(known), list(table)
    chosen: dict[str, str] = {}
    for path in changed:
        matching = [rule for rule in table if any(fnmatchcase(path, pattern) for pattern in rule.paths)]
        patterns = [pattern for rule in matching for pattern in rule.units] if matching else ["*"]
        name = Path(path)
        names = {"@itself": f"*/{name.name}", "@page": f"guides/{name.stem}"}
        for pattern in patterns:
            for unit in known:
                if fnmatchcase(unit, names.get(pattern, pattern)):
                    chosen.setdefault(unit, path)
    return chosen


def day_of_week(known: Mapping[str, float]) -> dict[str, int]:
    """The day on which each unit is run if no change needs it: 0 is Monday. All days cost about the same."""
    load = [0.0] * len(DAYS)
    days = {}
    for unit, cost in sorted(known.items(), key=lambda item: (-item[1], item[0])):
        day = load.index(min(load))
        days[unit] = day
        load[day] += cost
    return days


def selection(changed: Iterable[str], date: dt.date) -> dict[str, str]:
    """The units to run, each with the reason."""
    known = units()
    chosen = units_for_change(changed, rules(), known)
    today = date.weekday()
    for unit, day in day_of_week(known).items():
        if day == today:
            chosen.setdefault(unit, DAYS[today])
    return dict(sorted(chosen.items()))


def git(*arguments: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def changed_since(base: str | None) -> tuple[str, list[str]]:
    """The commit that the change begins with, and the files that differ from it."""
    if not base:
        seconds = int(git("log", "-1", "--format=%ct"))
        base = git("rev-list", "-1", f"--before={seconds - 4 * 3600}", "HEAD")
        base = base or git("rev-list", "--max-parents=0", "HEAD").splitlines()[-1]
    return base, git("diff", "--name-only", "--no-renames", base, "HEAD").splitlines()


def commands(chosen: Iterable[str]) -> list[list[str]]:
    """What runs the units, in order: one call of pytest for each tier."""
    by_tier: dict[str, list[str]] = {}
    ordered: list[list[str]] = []
    for unit in chosen:
        tier, _, name = unit.partition("/")
        if name:
            by_tier.setdefault(tier, []).append(name)
        else:
            ordered.append(COMMANDS[unit])
    timed = {page.stem for page in guides.TIMED}
    pages = [name for name in by_tier.pop("guides", []) if not name.endswith(".py")]
    notebook = [f"python/tests/{name}" for name in chosen_files(chosen, "guides")]
    pytest = [sys.executable, "-m", "pytest"]
    parallel = [*pytest, "-n", "auto", "--dist", "worksteal"]
    files = [f"conformance/{name}" for name in by_tier.pop("conformance", [])]
    files += [f"python/tests/{name}" for tier in ("studies", "slow") for name in by_tier.pop(tier, [])]
    quick_pages = [name for name in pages if name not in timed]
    nodes = [f"python/tests/test_guides.py::{PLAYED}[{name}]" for name in quick_pages]
    if files or nodes or notebook:
        ordered.append(
            [*parallel, "-m", "(slow or conformance or studies or guides) and not quick", *files, *notebook, *nodes]
        )
    alone = [f"python/tests/{name}" for name in by_tier.pop("real_time", [])]
    alone += [f"python/tests/test_guides.py::{PLAYED}[{name}]" for name in pages if name in timed]
    if alone:
        ordered.append([*pytest, "-m", "real_time and not quick", *alone])
    if kernel := by_tier.pop("kernel_vt", []):
        ordered.append(["scripts/kernel_vt.sh", "test", *(f"python/tests/{name}" for name in kernel)])
    assert not by_tier, by_tier
    return ordered


PLAYED = "test_every_block_of_a_page_runs_and_shows_what_the_page_shows"


def chosen_files(chosen: Iterable[str], tier: str) -> list[str]:
    """The files of tests among the units of a tier."""
    return [unit.partition("/")[2] for unit in chosen if unit.startswith(f"{tier}/") and unit.endswith(".py")]


def main() -> int:
    """Prints the selection, and runs it where that is requested; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--run", action="store_true", help="run the units")
    parser.add_argument("--uses", metavar="TIER", help="print nothing; exit with 0 if a unit of this tier is selected")
    parser.add_argument("--base", default=os.environ.get("ACKCLOCK_CI_BASE"), help="first commit before the change")
    parser.add_argument("--date", type=dt.date.fromisoformat, default=dt.datetime.now(dt.UTC).date())
    chosen = parser.parse_args()
    base, changed = changed_since(chosen.base)
    selected = selection(changed, chosen.date)
    if chosen.uses:
        return 0 if any(unit.partition("/")[0] == chosen.uses for unit in selected) else 1
    print(f"slower tests for {len(changed)} files changed since {base[:8]} and for {DAYS[chosen.date.weekday()]}:")
    for unit, reason in selected.items():
        print(f"  {unit}  ({reason})")
    left_out = sorted(units().keys() - selected.keys())
    print(f"left out until their day: {' '.join(left_out) or 'nothing'}", flush=True)
    if chosen.run:
        for command in commands(selected):
            print(f"+ {' '.join(command)}", flush=True)
            code = subprocess.run(command, cwd=ROOT, check=False).returncode
            if code and code != NO_TESTS:
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
