"""Captures in words: what is in each, and the largest connections."""

from __future__ import annotations

import itertools
import sys

from ackclock.cli import connections, lines

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ackclock.pcaps.digest import Digest

    Row = Mapping[str, Any]

_FEW = 6
"""Captures whose interfaces are listed."""


def files(captures: Sequence[Row]) -> None:
    """What is in each file, of which there is a row for each interface."""
    of = [list(rows) for _, rows in itertools.groupby(captures, key=lambda row: row["run"])]
    for rows in of[:_FEW]:
        _file(rows)
    if len(of) > _FEW:
        lines.say(f"and {len(of) - _FEW} more captures")


def largest(found: Digest, most: int) -> None:
    """Each of the largest connections, and how many there are."""
    for row in found.connections:
        lines.say()
        if found.several:
            lines.say(row["file"])
        for name, text in connections.lines(row):
            _line(name, text)
    if found.carrying > most:
        every = f"--most {found.carrying} shows all, --flows prints their rows"
        lines.say(f"\nthe {most} largest of {connections.count(found.carrying, 'connection')}; {every}")
    if not found.carrying:
        lines.say("\nno connection of TCP carries data in it")


def _file(rows: Sequence[Row]) -> None:
    first = rows[0]
    packets, segments = (sum(row[name] for row in rows) for name in ("packets", "segments"))
    parts = [
        f"{connections.count(packets, 'packet')} in {connections.duration(first['duration_s'])}",
        f"{segments} of TCP" if segments < packets else "all of TCP",
    ]
    if not packets:
        parts = ["a header and no packets"]
    lost = sum(row["drops"] or 0 for row in rows)
    others = [("malformed", first["malformed"]), ("lost by the capture", lost)]
    parts += [f"{number} {words}" for words, number in others if number]
    if first.get("checksums") is not None:
        parts.append(_checksums(first["checksums"], first["wrong_checksums"]))
    if first["truncated"]:
        parts.append("TRUNCATED")
    lines.say(f"{first['file']}: {', '.join(parts)}")
    if len(rows) > 1:
        for row in rows:
            where = f", {row['vantage']}" if row["vantage"] else ""
            lines.say(f"  {row['name'] or row['interface']}: {connections.count(row['packets'], 'packet')}{where}")


def _checksums(seen: int, wrong: int) -> str:
    if not seen:
        return "no checksum to look at, as no packet of TCP is whole"
    return f"{wrong or 'none'} of {connections.count(seen, 'checksum')} wrong"


def _line(name: str, text: str) -> None:
    """A line of a connection; in a terminal what is longer goes on below where it began."""
    line = connections.said(name, text)
    if name and sys.stdout.isatty():
        room = len(line) - len(text)
        folded = lines.fold(text, max(20, lines.width() - room)).replace("\n", "\n" + " " * room)
        sys.stdout.write(f"{connections.said(name, folded)}\n")
    else:
        lines.say(line)
