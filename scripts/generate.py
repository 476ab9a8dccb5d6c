#!/usr/bin/env python3
"""Writes what is generated and committed: tables and pictures in the documentation, the JSON schema of scenarios.

    python scripts/generate.py            # writes what has changed
    python scripts/generate.py --check    # writes nothing; names stale files and exits with 1

A table stands in its page between ``<!-- generated: NAME -->`` and ``<!-- end -->``; the text around it is written by
hand. Needs the package with its extension (``make build``).
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import rule_pictures
from ackclock.drawing import topology
from ackclock.engine import Algorithm, Discipline, Option, catalogue
from ackclock.pcaps.analyse import pcap
from ackclock.scenario.display import schema
from ackclock.scenario.display.sketch import sketch
from ackclock.scenario.plan import load
from ackclock.scenario.values.options import show
from ackclock.sweeps.run import run

ROOT = Path(__file__).resolve().parent.parent


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return " | ".join(["", *(cell.replace("|", r"\|") for cell in cells), ""]).strip()

    return "\n".join([line(head), "|---" * len(head) + "|", *(line(row) for row in rows)])


def values(option: Option) -> str:
    """What a value may be: the choices or the range."""
    if option.choices:
        return ", ".join(f"`{choice}`" for choice in option.choices)
    if option.range is None:
        return ""
    unit = {"duration": " s", "bytes": " B"}.get(option.kind, "")
    low, high = (f"{bound:.10g}" for bound in option.range if bound is not None)
    return f"{low} to {high}{unit}"


def tcp_options() -> str:
    """Every endpoint option with its value in each profile."""
    known = catalogue()
    rows = (
        [
            f"`{option.name}`",
            option.kind,
            *(show(option, option.defaults[profile]) for profile in known.profiles),
            values(option),
            option.doc,
        ]
        for option in known.tcp_options.values()
    )
    return table(["option", "kind", *(f"`{name}`" for name in known.profiles), "values", "meaning"], rows)


def controllers() -> str:
    """Every controller with its source."""
    rows = ([f"`{item.name}`", item.family, item.source, item.summary] for item in catalogue().controllers.values())
    return table(["controller", "reacts to", "source", "what it does"], rows)


def slow_starts() -> str:
    """Every slow start with its source."""
    rows = ([f"`{item.name}`", item.source, item.summary] for item in catalogue().slow_starts.values())
    return table(["slow start", "source", "what it does"], rows)


def queues() -> str:
    """Every queueing discipline with its source."""
    rows = (
        [
            f"`{item.name}`",
            "must be given" if item.default_limit is None else f"{item.default_limit} packets",
            item.source,
            item.summary,
        ]
        for item in catalogue().queues.values()
    )
    return table(["`kind`", "limit", "source", "what it does"], rows)


def parameters(algorithms: Mapping[str, Algorithm] | Mapping[str, Discipline]) -> str:
    """The parameters of all `algorithms`; one row for those that share one."""
    owners: dict[tuple[str, ...], list[str]] = {}
    for item in algorithms.values():
        for option in item.params.values():
            row = (f"`{option.name}`", option.kind, show(option, option.default), values(option), option.doc)
            owners.setdefault(row, []).append(f"`{item.name}`")
    rows = ([row[0], ", ".join(names), *row[1:]] for row, names in owners.items())
    return table(["parameter", "of", "kind", "default", "values", "meaning"], rows)


TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "docs/tcp.md": {"tcp options": tcp_options},
    "docs/controllers.md": {
        "controllers": controllers,
        "controller parameters": lambda: parameters(catalogue().controllers),
        "slow starts": slow_starts,
        "slow start parameters": lambda: parameters(catalogue().slow_starts),
    },
    "docs/queues.md": {
        "queues": queues,
        "queue parameters": lambda: parameters(catalogue().queues),
    },
}
"""Pages with generated tables, and what makes each table."""

FILES: Mapping[str, Callable[[], str]] = {"schema/scenario.schema.json": schema.text}
"""Files that are generated as a whole."""

PICTURES: Mapping[str, str] = {
    "docs/pictures/dumbbell.svg": "scenarios/rtt-fairness.toml",
    "docs/pictures/access.svg": "scenarios/asymmetric.toml",
    "docs/pictures/chain.svg": "scenarios/chain.toml",
    "docs/pictures/parking-lot.svg": "scenarios/parking-lot.toml",
    "docs/pictures/network.svg": "scenarios/network.toml",
    "docs/pictures/lte-cell.svg": "scenarios/lte-cell.toml",
}
"""Pictures of topologies, and the scenario each is drawn from."""


_NOISY = {"topology.rtt": "40 ms", "topology.queue.limit": "2 BDP", "topology.loss": 0.0005}
_ONE_CELL = {
    "topology.users": 15, "topology.rtt": "100 ms", "app.connections": 4, "app.objects_table": True,
    "run.replications": 1,
}  # fmt: skip
FIGURES: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]] = {
    "docs/pictures/plot-curve.svg": ("scenarios/buffer-sizes.toml", {}, {}),
    "docs/pictures/plot-pareto.svg": (
        "scenarios/compare.toml",
        {**_NOISY, "cc": ["reno", "cubic", "vegas", "bbr1", "bbr3", "copa"]},
        {"kind": "pareto"},
    ),
    "docs/pictures/plot-share.svg": (
        "scenarios/compare.toml",
        {
            "topology.rtt": "40 ms", "cc": "cubic", "flows.0.count": 3, "flows.0.start": {"uniform": ["0 s", "20 s"]},
            "run.duration": "40 s", "run.replications": 1, "probes.interval": "100 ms",
        },
        {"kind": "share"},
    ),
    "docs/pictures/plot-map.svg": ("scenarios/lte-web.toml", _ONE_CELL, {"kind": "map"}),
    "docs/pictures/plot-waterfall.svg": (
        "scenarios/lte-web.toml", _ONE_CELL, {"kind": "waterfall", "user": 8, "width": "page"},
    ),
}  # fmt: skip
"""Figures of results: the scenario each is of, what is changed of it, and what is asked of the figure."""


CAPTURED: Mapping[str, str] = {"docs/pictures/pcap-sequence.svg": "conformance/captures/kernel/spike.sender.pcap.gz"}
"""Sequence graphs, and the capture each is of."""

RULES = "docs/pcap-rules.md"
"""The page whose examples have pictures."""


def fill(page: str, text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """`text` with the tables of `page` renewed."""
    for name, make in tables.items():
        begin, end = f"<!-- generated: {name} -->\n", "<!-- end -->"
        before, *after = text.split(begin)
        if len(after) != 1 or end not in after[0]:
            raise SystemExit(f"generate: {page} must have one place for a table: {begin.strip()} ... {end}")
        text = f"{before}{begin}{make()}\n{end}{after[0].partition(end)[2]}"
    return text


def picture(scenario: str) -> str:
    """The SVG of the topology of a scenario."""
    drawn = sketch(load(ROOT / scenario).points[0].scenario)
    with tempfile.TemporaryDirectory() as folder:
        return topology.save(drawn, Path(folder) / "topology.svg").read_text(encoding="utf-8")


@functools.cache
def figure(name: str) -> str:
    """The SVG of a figure of a result."""
    scenario, changes, asked = FIGURES[name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figure.svg"
        run(ROOT / scenario, set=changes, jobs=1).plot(**asked).savefig(file)
        return file.read_text(encoding="utf-8")


@functools.cache
def sequence(capture: str) -> str:
    """The SVG of the sequence graph of a capture."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sequence.svg"
        pcap(ROOT / capture, series=True, events=True).plot(kind="sequence", width="page").savefig(file)
        return file.read_text(encoding="utf-8")


@functools.cache
def rules() -> dict[str, str]:
    """The pictures of the examples of rules."""
    examples = rule_pictures.examples((ROOT / RULES).read_text(encoding="utf-8"))
    return {f"docs/{name}": rule_pictures.picture(example) for name, example in examples.items()}


def structure(svg: str) -> list[tuple[str, ...]]:
    """What is drawn and said in an SVG. Coordinates may differ between versions of the library that draws it."""
    return re.findall(r"<!-- (.*?) -->|id=\"((?:link|flows)-.*?)\"|>([^<>]+)</text>|(<use) ", svg)


def generated(root: Path = ROOT) -> dict[str, str]:
    """What every generated file should contain."""
    pages = {page: fill(page, (root / page).read_text(encoding="utf-8"), tables) for page, tables in TABLES.items()}
    pictures = {name: picture(scenario) for name, scenario in PICTURES.items()}
    figures = {name: figure(name) for name in FIGURES}
    sequences = {name: sequence(capture) for name, capture in CAPTURED.items()}
    return pages | {name: make() for name, make in FILES.items()} | pictures | figures | sequences | rules()


def differs(name: str, old: str, new: str) -> bool:
    """Whether a committed file is not what it should be."""
    return structure(old) != structure(new) if name.endswith(".svg") else old != new


def stale(root: Path = ROOT) -> dict[str, str]:
    """The generated files that are not what they should be, and what they should be."""
    return {
        name: text
        for name, text in generated(root).items()
        if not (root / name).exists() or differs(name, (root / name).read_text(encoding="utf-8"), text)
    }


def main() -> int:
    """Writes or checks; returns the exit code."""
    parser = argparse.ArgumentParser(description="Writes what is generated and committed.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    check = parser.parse_args().check
    changed = stale()
    for name, text in changed.items():
        if check:
            print(f"{name}: stale; run: make docs")
        else:
            (ROOT / name).parent.mkdir(exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"{name}: written")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
