#!/usr/bin/env python3
"""Checks that `make demo`, `make build` and `make test` compile dependencies with the same features: once for all.

    python3 scripts/shared_features.py     # names crates whose features differ; exit code 1 if there are any

Cargo unites the features of the packages that it is asked for. Where the extension alone needs fewer features of a
crate than the whole workspace, everything that depends on this crate is compiled twice. The remedy is a line in
Cargo.toml of the package that needs fewer.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDS = {
    "make demo": ["-p", "ackclock-py"],
    "make build": ["-p", "ackclock-emu", "-p", "ackclock-get", "-p", "ackclock-proxy"],
}


def features(packages: list[str], kinds: str) -> dict[str, set[str]]:
    """The features of every crate in the dependencies of packages. A crate may be built twice, for the host too."""
    command = ["cargo", "tree", "--locked", "--edges", kinds, "--prefix", "none", "--format", "{p}|{f}", *packages]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        crate, bar, listed = line.removesuffix(" (*)").partition("|")
        if bar:
            found.setdefault(crate.partition(" (")[0], set()).add(listed)
    return found


def main() -> int:
    """Prints what differs; returns the exit code."""
    whole = features(["--workspace"], "normal,build,dev")
    problems = 0
    for build, packages in BUILDS.items():
        for crate, sets in features(packages, "normal,build").items():
            if sets != whole[crate]:
                problems += 1
                print(f"{crate}: {build} has features {sorted(sets)}, the workspace {sorted(whole[crate])}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
