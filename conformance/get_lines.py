"""Downloads that choose their number of connections, beside the best fixed number: the record, and a table of it.

    python conformance/get_lines.py --write

writes the table of `docs/get.md` from `get_lines.csv`, which `benches/get.py --record` adds to; `test_get_lines.py`
holds both to what a download may cost.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "conformance" / "get_lines.csv"
PAGE = ROOT / "docs" / "get.md"
BEGIN, END = "<!-- generated: get_lines.py -->", "<!-- end -->"
LINES = {
    "mobile-window": "60 Mbit/s on average, 60 ms, receive buffers of 256 kB",
    "mobile-loss": "60 Mbit/s on average, 60 ms, one packet in a thousand lost",
    "fibre-window": "1 Gbit/s, 8 ms, receive buffers of 512 kB",
    "fibre-loss": "1 Gbit/s, 8 ms, one packet in 20,000 lost",
    "policed": "1 Gbit/s, 20 ms, policed to 100 Mbit/s",
    "saturated-mobile": "30 Mbit/s, 60 ms, a queue of 1 BDP",
    "saturated-fibre": "100 Mbit/s, 10 ms, a queue of 1 BDP",
}
"""What limits one connection on each, in the order of the page."""
HELPED = ("mobile-window", "mobile-loss", "fibre-window", "fibre-loss", "policed")
"""The lines on which several connections are faster than one."""
DECIDED = "decided"
RATES = {"fibre-window": 1e9, "fibre-loss": 1e9}
"""Bit/s of the lines whose fixed numbers are not played: 15 GB take a guest half an hour."""
PAYLOAD = 1448 / 1500
"""Share of a packet that is the file's, with timestamps: no number of connections has more."""


@dataclass(frozen=True, slots=True)
class Download:
    """A download: how long it took, and what a flow beside it had in the meantime, Mbit/s, where there was one."""

    line: str
    size: int
    way: str
    took_s: float
    settled_mbps: float | None
    other_mbps: float | None


def recorded() -> list[Download]:
    """All of the record."""
    lines = (line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return [
        Download(
            row["line"],
            int(row["bytes"]),
            row["way"],
            float(row["took_s"]),
            float(row["settled_mbps"]) if row["settled_mbps"] else None,
            float(row["other_mbps"]) if row["other_mbps"] else None,
        )
        for row in csv.DictReader(lines)
    ]


def alone(line: str) -> tuple[Download, list[Download]]:
    """The download of a line that decided, and those with a fixed number, fastest first."""
    own = [each for each in recorded() if each.line == line and each.other_mbps is None]
    (decided,) = (each for each in own if each.way == DECIDED)
    return decided, sorted((each for each in own if each.way.startswith("always")), key=lambda each: each.took_s)


def best_s(line: str) -> float:
    """Seconds of the fixed number that is best, or where none was played what the line itself takes at least."""
    decided, fixed = alone(line)
    return fixed[0].took_s if fixed else 8 * decided.size / (RATES[line] * PAYLOAD)


def beside(line: str) -> dict[str, Download]:
    """The downloads of a line beside a flow of CUBIC, by their way."""
    return {each.way: each for each in recorded() if each.line == line and each.other_mbps is not None}


def table() -> str:
    """As Markdown."""
    parts = ["| line | file | decided | fixed numbers | more than the best |", "|---|---|---|---|---|"]
    for line, words in LINES.items():
        decided, fixed = alone(line)
        others = ", ".join(f"{each.way.removeprefix('always ')}: {each.took_s:.1f} s" for each in fixed)
        others = others or f"any: {best_s(line):.1f} s at least"
        more = f"{100 * (decided.took_s / best_s(line) - 1):.1f} %"
        size = f"{decided.size / 1e9:g} GB" if decided.size >= 1e9 else f"{decided.size / 1e6:g} MB"
        parts.append(f"| {words} (`{line}`) | {size} | {decided.took_s:.1f} s | {others} | {more} |")
    return "\n".join(parts)


def main(*words: str) -> None:
    """Print the table, or write it."""
    if words != ("--write",):
        print(table())
        return
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{table()}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
