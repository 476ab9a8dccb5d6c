#!/usr/bin/env python3
"""Draws deliberate mistakes, to see whether the tests catch them: one operator or word of a line is changed.

    python scripts/mutations.py draw 5 --seed 1       # prints five mistakes: file, line, before, after
    python scripts/mutations.py apply 3 --seed 1      # makes the third of them in the working tree
    git checkout crates python                        # takes it back

Lines are drawn from the sources of the package and of the crates, without tests, comments, messages and type
signatures. After `apply`, run `make test` and what scripts/select_tests.py selects for the file: one of them must
fail.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SWAPS = (
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \* ", " / "),
    (r" / ", " * "),
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" and ", " or "),
    (r" or ", " and "),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
)
"""A pattern and what takes its place."""
NOT_CODE = re.compile(
    r'^\s*(//|#|use |pub use |import |from |"""|\'|r?f?"|\*|assert|debug_assert)|: .*->|"""|\bwhere\b|\bimpl<'
)


@dataclass(frozen=True)
class Mutation:
    """A changed line: `number` counts from 1."""

    path: Path
    number: int
    before: str
    after: str


def sources() -> list[Path]:
    """The files from which lines are drawn, in a fixed order."""
    rust = [path for path in ROOT.glob("crates/*/src/**/*.rs") if "test" not in path.name]
    python = ROOT.glob("python/ackclock/**/*.py")
    return sorted([*rust, *(path for path in python if "studies" not in path.parts)])


def mutations(path: Path) -> list[Mutation]:
    """All mistakes that can be made in a file."""
    found = []
    lines = path.read_text(encoding="utf-8").split("\n")
    documented = False
    for number, line in enumerate(lines, 1):
        if path.suffix == ".rs" and line.startswith("#[cfg(test)]"):
            break
        quotes = line.count('"""')
        if quotes % 2:
            documented = not documented
        if documented or quotes or NOT_CODE.search(line):
            continue
        code = re.split(r"\s(?://|#) ", line)[0]
        for pattern, new in SWAPS:
            places = (match for match in re.finditer(pattern, code) if code[: match.start()].count('"') % 2 == 0)
            changed = (line[: match.start()] + new + line[match.end() :] for match in places)
            found.extend(Mutation(path, number, line, after) for after in changed)
    return found


def draw(count: int, seed: int) -> list[Mutation]:
    """So many mistakes, each in a file of its own: every file has the same chance, then every mistake in it."""
    rng = random.Random(seed)  # noqa: S311
    files = [path for path in sources() if mutations(path)]
    return [rng.choice(mutations(path)) for path in rng.sample(files, count)]


def apply(mutation: Mutation) -> None:
    """Makes a mistake in its file."""
    lines = mutation.path.read_text(encoding="utf-8").split("\n")
    if lines[mutation.number - 1] != mutation.before:
        raise SystemExit(f"{mutation.path}:{mutation.number}: the line has changed since it was drawn")
    lines[mutation.number - 1] = mutation.after
    mutation.path.write_text("\n".join(lines), encoding="utf-8")


def main() -> int:
    """Draws or applies; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=("draw", "apply"))
    parser.add_argument("number", type=int, help="how many to draw, or which to apply, from 1")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    drawn = draw(chosen.number, chosen.seed)
    if chosen.what == "apply":
        drawn = drawn[-1:]
        apply(drawn[0])
    for mutation in drawn:
        print(f"{mutation.path.relative_to(ROOT)}:{mutation.number}")
        print(f"- {mutation.before.strip()}\n+ {mutation.after.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
