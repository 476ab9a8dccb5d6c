#!/usr/bin/env python3
"""Whether a change of the engine changed a byte of any table: for work that must not change what is simulated.

    .venv/bin/python scripts/same_runs.py record results/before   # on the code before the change
    python3 scripts/same_runs.py check results/before             # on the code after it; exit code 1 if a run differs

It plays 320 random networks (every kind of link, queue, application and controller) and the paths of the recorded
kernel runs, and keeps a digest of the tables of each. What a recording holds depends on nothing but the code.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "target" / "release" / "examples" / "digests"
BUILD = ["cargo", "build", "--quiet", "--release", "-p", "ackclock-sim", "--example", "digests"]
MOST_SECONDS = 10
"""Of a recorded path so much is played."""


def paths() -> list[str]:
    """The paths of the recorded kernel runs as resolved runs; needs the package (``make build``)."""
    sys.path.insert(0, str(ROOT / "conformance"))
    import kernel_records

    found = []
    for name in kernel_records.names():
        document = kernel_records.document(name)
        document["duration_ns"] = min(document["duration_ns"], MOST_SECONDS * 1_000_000_000)
        found.append(json.dumps(document))
    return found


def digests(documents: Path) -> dict[str, str]:
    """Digest and packets of every run, by its name."""
    subprocess.run(BUILD, cwd=ROOT, check=True)
    lines: list[str] = []
    for arguments in (["random"], ["files", str(documents)]):
        done = subprocess.run([str(BINARY), *arguments], capture_output=True, text=True, check=True)
        lines += done.stdout.splitlines()
    return {name: digest for name, _, digest in (line.partition(" ") for line in lines)}


def main() -> int:
    """Records or checks; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("directory", type=Path)
    chosen = parser.parse_args()
    documents, recorded = chosen.directory / "paths.jsonl", chosen.directory / "digests.json"
    if chosen.what == "record":
        chosen.directory.mkdir(parents=True, exist_ok=True)
        documents.write_text("\n".join(paths()) + "\n")
        before = digests(documents)
        recorded.write_text(json.dumps(before, indent=0) + "\n")
        print(f"same_runs: {len(before)} runs recorded")
        return 0
    if not recorded.is_file():
        print(f"same_runs: {chosen.directory} has no recording; make one with: record {chosen.directory}")
        return 2
    before = json.loads(recorded.read_text())
    now = digests(documents)
    differ = [name for name in before if now.get(name) != before[name]]
    for name in differ:
        print(f"{name}: {before[name]} before, {now.get(name, 'not played')} now")
    print(f"same_runs: {len(before) - len(differ)} of {len(before)} runs are the same")
    return 1 if differ or not before else 0


if __name__ == "__main__":
    sys.exit(main())
