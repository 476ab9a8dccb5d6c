#!/usr/bin/env python3
"""Writes docs/rfc-clauses.md: clauses of RFCs, the code that follows them and the tests that hold it to them.

    python scripts/clauses.py            # writes the page
    python scripts/clauses.py --check    # writes nothing; prints what is wrong and exits with 1

The register is conformance/clauses.toml. A comment line claims a clause: ``//= RFC 8985 §6.3 timeout`` above code, and
``//= test: RFC 8985 §6.3 timeout`` above the name of a test. The id may be left out where the section has one clause.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REGISTER = "conformance/clauses.toml"
PAGE = "docs/rfc-clauses.md"
SOURCES = "crates/*/**/*.rs"
LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "DEFINITION")
CLAIM = re.compile(
    r"^\s*//=\s*(?P<test>test:\s*)?RFC (?P<rfc>\d+) §(?P<section>[\dA-Z.]+)(?: (?P<id>[a-z0-9.-]+))?\s*$"
)
MARK = re.compile(r"^\s*//=")
FUNCTION = re.compile(r"\bfn (\w+)")
HEAD = """# RFC clauses

Which clauses of RFCs the TCP endpoint and its controllers follow, in which file, and which tests hold them to it.
Use it to find the code of a clause, or to see what is missing before you rely on it.

- `scripts/clauses.py` writes this page from `conformance/clauses.toml` and from comments in the code: do not edit it.
- Above code, `//= RFC 8985 §6.3 timeout` claims a clause.
- Above the name of a test, `//= test: RFC 8985 §6.3 timeout` covers it.
- The wording and the choice of clauses are ours; the register is not complete. The RFC decides.
- The level DEFINITION is an algorithm or term that the RFC defines without a key word.
- Claims hold for profile `rfc`. The other profiles deviate as their models do: see
  [the endpoint](tcp.md#known-deviations).
"""


@dataclass
class Clause:
    """A clause of the register and who claims it."""

    rfc: int
    section: str
    id: str
    level: str
    text: str
    gap: str = ""
    code: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """How claims and messages name it."""
        return f"RFC {self.rfc} §{self.section} {self.id}"


def register(root: Path) -> tuple[dict[int, str], list[Clause], list[str]]:
    """Titles of the RFCs, their clauses, and problems of the register."""
    document = tomllib.loads((root / REGISTER).read_text(encoding="utf-8"))
    titles: dict[int, str] = {}
    clauses: list[Clause] = []
    problems: list[str] = []
    for rfc in document["rfc"]:
        titles[rfc["number"]] = rfc["title"]
        clauses += [Clause(rfc["number"], **keys) for keys in rfc["clause"]]
    seen: set[str] = set()
    for clause in clauses:
        if clause.level not in LEVELS:
            problems.append(f"{REGISTER}: {clause.name}: level {clause.level!r} must be one of {', '.join(LEVELS)}")
        if clause.name in seen:
            problems.append(f"{REGISTER}: {clause.name} is defined twice; every clause of a section needs its own id")
        seen.add(clause.name)
    return titles, clauses, problems


def lookup(clauses: list[Clause], found: re.Match[str]) -> Clause | str:
    """The clause that a claim names, or what is wrong with the claim."""
    section = [c for c in clauses if c.rfc == int(found["rfc"]) and c.section == found["section"]]
    if not section:
        return f"RFC {found['rfc']} §{found['section']} has no clause in {REGISTER}"
    if found["id"] is None:
        ids = ", ".join(c.id for c in section)
        return section[0] if len(section) == 1 else f"name one of the clauses of this section: {ids}"
    named = [c for c in section if c.id == found["id"]]
    if named:
        return named[0]
    known = ", ".join(c.id for c in section)
    return f"unknown clause {found['id']!r} of RFC {found['rfc']} §{found['section']}; known: {known}"


def claims(root: Path, clauses: list[Clause]) -> Iterator[str]:
    """Adds who claims what to the clauses; yields problems."""
    for path in sorted(root.glob(SOURCES)):
        name = path.relative_to(root).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            if not MARK.match(line):
                continue
            found = CLAIM.match(line)
            if found is None:
                yield f"{name}:{number}: a claim must be '//= RFC NUMBER §SECTION ID', or begin with '//= test: RFC'"
                continue
            clause = lookup(clauses, found)
            if isinstance(clause, str):
                yield f"{name}:{number}: {clause}"
                continue
            below = next((text for text in lines[number:] if not MARK.match(text)), "")
            if found["test"] is None:
                if name not in clause.code:
                    clause.code.append(name)
                continue
            function = FUNCTION.search(below)
            if function is None:
                yield f"{name}:{number}: a claim of a test must stand above the line of its 'fn'"
            else:
                clause.tests.append(function[1])


def unclaimed(clauses: list[Clause]) -> Iterator[str]:
    """Problems of clauses without code: they need a reason, and no test can cover them."""
    for clause in clauses:
        if not clause.code and not clause.gap:
            yield f"{REGISTER}: {clause.name}: no code claims it; add a claim, or 'gap' with the reason"
        if clause.tests and not clause.code:
            yield f"{REGISTER}: {clause.name}: a test covers it, but no code claims it"


def row(*cells: str) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def link(name: str) -> str:
    """A link to a source file, under its path in its crate."""
    return f"[{name.partition('/src/')[2] or name}](../{name})"


def page(titles: dict[int, str], clauses: list[Clause]) -> str:
    """The page."""
    claimed = [c for c in clauses if c.code]
    missing = [c for c in clauses if not c.code]
    untested = [c for c in claimed if not c.tests]
    lines = [HEAD]
    lines += [
        f"{len(clauses)} clauses of {len(titles)} RFCs: {len(claimed)} claimed by code, {len(untested)} of them without"
        f" a test; {len(missing)} claimed by nobody.",
        "",
        "## Clauses that no code claims",
        "",
        row("Clause", "Level", "What it requires", "Reason"),
        "|---|---|---|---|",
        *(row(c.name, c.level, c.text, c.gap) for c in missing),
        "",
        "## Claimed clauses without a test",
        "",
        row("Clause", "Level", "What it requires", "Code"),
        "|---|---|---|---|",
        *(row(c.name, c.level, c.text, ", ".join(map(link, c.code))) for c in untested),
        "",
        "## Clauses by RFC",
    ]
    for number, title in titles.items():
        lines += [
            "",
            f"### RFC {number}: {title}",
            "",
            row("§", "Clause", "Level", "What it requires", "Code", "Tests"),
        ]
        lines.append("|---|---|---|---|---|---|")
        for c in clauses:
            if c.rfc == number:
                text = c.text if not (c.gap and c.code) else f"{c.text}. {c.gap}"
                code = ", ".join(map(link, c.code)) or "none"
                lines.append(row(c.section, f"`{c.id}`", c.level, text, code, ", ".join(f"`{t}`" for t in c.tests)))
    return "\n".join(lines) + "\n"


def build(root: Path) -> tuple[str, list[str]]:
    """The page of a tree, and the problems of its register and claims."""
    titles, clauses, problems = register(root)
    problems += claims(root, clauses)
    problems += unclaimed(clauses)
    return page(titles, clauses), problems


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Writes or checks the page; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is wrong")
    check = parser.parse_args(arguments).check
    text, problems = build(root)
    target = root / PAGE
    if check and (not target.exists() or target.read_text(encoding="utf-8") != text):
        problems.append(f"{PAGE}: stale; run: python scripts/clauses.py")
    for problem in problems:
        print(problem)
    if not check and not problems:
        target.write_text(text, encoding="utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
