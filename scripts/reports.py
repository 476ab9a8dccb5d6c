#!/usr/bin/env python3
"""Keeps the reports of studies beside the code, in docs/reports, and says whether they still hold.

ackclock study run NAME                              # the whole study
python scripts/reports.py keep NAME results/NAME     # its report, tables and figures become docs/reports/NAME
python scripts/reports.py check [NAME...]            # plays a few runs of each again; exit code 1 if one is other now
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ackclock.errors import AckclockError
from ackclock.study import kept
from ackclock.study.runner import load, plans

REPORTS = Path(__file__).resolve().parent.parent / "docs" / "reports"


def main() -> int:
    """Keeps or checks; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="what", required=True)
    keeps = commands.add_parser("keep", help="copy a report")
    keeps.add_argument("name")
    keeps.add_argument("results", type=Path)
    checks = commands.add_parser("check", help="play a few runs again")
    checks.add_argument("names", nargs="*")
    asked = parser.parse_args()
    try:
        if asked.what == "keep":
            stamp = kept.keep(asked.results, REPORTS / asked.name, plans(load(asked.name).study))
            print(f"kept: {stamp['runs']} runs of commit {stamp['commit']}, {len(stamp['again'])} to be played again")
            return 0
        names = asked.names or sorted(path.parent.name for path in REPORTS.glob(f"*/{kept.STAMP}"))
        found = {name: kept.moved(REPORTS / name, plans(load(name).study)) for name in names}
    except AckclockError as error:
        print(f"reports: {error}", file=sys.stderr)
        return 2
    for name, lines in found.items():
        print(f"{name}: {'still holds' if not lines else 'to be made anew'}")
        for line in lines:
            print(f"  {line}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
