"""Writes the measured part of docs/benchmarks.md from a file that `benches/bench.py --json FILE` wrote.

python benches/bench.py --json results/bench.json
python scripts/benchmarks.py results/bench.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def short(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(value: dict[str, float]) -> str:
    """Median, and the least and most of the rounds."""
    return f"{short(value['median'])} ({short(value['least'])}–{short(value['most'])})"


def rows(lines: list[dict[str, Any]]) -> list[str]:
    """One row per peer and dumbbell, with the ackclock runs of the same rounds beside it, or without a peer."""
    out = [
        "| dumbbell | peer | simulated | ackclock, ns per packet | peer, ns per packet | ackclock/peer "
        "| memory above start, MB: ackclock, peer |",
        "|---|---|---|---|---|---|---|",
    ]
    ours: dict[str, Any] = {}
    met = {line["scenario"] for line in lines if line["program"] != "ackclock"}
    for line in lines:
        if line["program"] == "ackclock":
            ours = line
            if line["scenario"] not in met:
                out.append(
                    f"| {line['scenario']} | none | {line['duration_s']:g} s | {spread(line['ns_per_packet'])} | | "
                    f"| {line['rss_above_start_mb']:.1f} |"
                )
            continue
        out.append(
            f"| {line['scenario']} | {line['program']} | {line['duration_s']:g} s | {spread(ours['ns_per_packet'])} "
            f"| {spread(line['ns_per_packet'])} | {spread(line['ratio'])} "
            f"| {ours['rss_above_start_mb']:.1f}, {line['rss_above_start_mb']:.1f} |"
        )
    return out


def main() -> int:
    """Replaces the measured part of the page."""
    measured = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    host = measured["host"]
    programs = ", ".join(f"{name} {version}" for name, version in host["programs"].items())
    facts = f"{host['cpu']}, {host['cores']} cores, {host['system']}, commit {host['commit']}; {programs}."
    text = "\n".join([BEGIN, "", facts, "", *rows(measured["lines"]), "", END])
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + text + rest.split(END)[1], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
