"""What this computer's kernel, in real time and with the real proxy, makes of some cells of the study split-tcp.

    python conformance/split_real_time.py WORK

plays them into folders of WORK, each run once, and writes `split/real-time.csv`: each download with whether its run was
valid (docs/engines.md). The page docs/split-agreement.md has them beside the simulator; no test plays them, for they
hang on the computer and on what else it does.
"""

from __future__ import annotations

import csv
import functools
import sys
from pathlib import Path
from typing import Any

import ackclock
from ackclock.results.result import Result
from ackclock.scenario.plan import load
from ackclock.study import mean_interval
from ackclock.sweeps.sweep import sweep
from split_kernel import KEYS, by, given, rates
from split_words import SERVERS, SIZES, tenths

FILE = Path(__file__).parent / "split" / "real-time.csv"
SHORT = {"topology.profile": ["near"], "run.replications": 6}
MODERN = {
    "topology.hops.1.rate": ["25 Mbit/s"],
    "app.size": ["1 MB", "5 MB"],
    "run.duration": "5 s",
    "run.replications": 6,
}
PLAYED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "3g": ("3G", "3g-short", SHORT),
    "modern": ("windows that do not limit", "modern", MODERN),
    "modern-offload": ("the same with `--offload`", "modern", MODERN | {"run.offload": True}),
}
"""By name what the page calls it, what of `split_kernel.py` it is, and what is different."""
HEAD = ["played", "row", "replication", "column", "rate", "valid"]
Found = dict[tuple[str, str, int, str], tuple[float, bool]]
"""Bit/s, and whether its run was valid, by what was played, the name of a row, a replication and a column."""


def downloads(name: str, result: Result) -> Found:
    """What came of a scenario."""
    _, scenario, _ = PLAYED[name]
    keys = KEYS[scenario]
    valid: dict[tuple[str, int], bool] = {}
    found: Found = {}
    for run in result.runs.to_dicts():
        row = ", ".join(str(run.get(key, "cubic")) for key in keys)
        valid[row, run["replication"]] = bool(run.get("valid", True))
    for each in rates(result, scenario).to_dicts():
        of, number = str(each.pop("row")), int(each.pop("replication"))
        found |= {(name, of, number, column): (float(rate), valid[of, number]) for column, rate in each.items()}
    return found


def recorded() -> Found:
    """What a kernel made of them."""
    lines = (line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {
        (row["played"], row["row"], int(row["replication"]), row["column"]): (float(row["rate"]), row["valid"] == "1")
        for row in csv.DictReader(lines)
    }


@functools.cache
def simulated(name: str) -> Found:
    """The same runs in the simulator."""
    _, scenario, changes = PLAYED[name]
    source, own = given(scenario)
    kept = {key: value for key, value in changes.items() if key != "run.offload"}
    return downloads(name, ackclock.run(source, set=own | kept))


def page() -> list[str]:
    """As Markdown, a table of gains."""
    parts = ["### In real time", ""]
    parts += [
        "Gains of pairs of runs, with the proxy and without, that are both valid. Of each are six replications; "
        "none was repeated because it was not valid.",
        "",
    ]
    parts += ["| played | cell | download | valid runs | simulated | real time | difference | 95 % interval |"]
    parts += ["|" + "---|" * 8]
    linux = recorded()
    for name, (title, _, _) in PLAYED.items():
        rows = dict.fromkeys((row.rpartition(", ")[0], column) for played, row, _, column in linux if played == name)
        for cell, column in rows:
            both = [cell + ", none", cell + ", pep"]
            numbers = sorted({n for played, row, n, _ in linux if (played, row) == (name, both[0])})
            ways = [[linux[name, row, number, column] for row in both] for number in numbers]
            good = [number for number, way in zip(numbers, ways, strict=True) if all(valid for _, valid in way)]
            runs = sum(valid for way in ways for _, valid in way)
            where = [SERVERS.get(word, word) for word in cell.removesuffix(", cubic").split(", ")]
            words = [title, ", ".join(where), SIZES[column], f"{runs} of {2 * len(numbers)}"]
            parts.append(f"| {' | '.join([*words, *_gains(name, both, column, good)])} |")
    return [*parts, ""]


def _gains(name: str, both: list[str], column: str, numbers: list[int]) -> list[str]:
    if not numbers:
        return [""] * 4
    sides = [
        [100 * (of[name, both[1], number, column][0] / of[name, both[0], number, column][0] - 1) for number in numbers]
        for of in (simulated(name), recorded())
    ]
    apart = mean_interval(one - two for one, two in zip(*sides, strict=True))
    means = [f"{sum(side) / len(side):.1f} %" for side in sides]
    interval = "" if apart.low is None or apart.high is None else f"{tenths(apart.low)} to {tenths(apart.high)}"
    return [*means, tenths(apart.value), interval]


def main(work: Path) -> None:
    """Play, and write."""
    said, rows = [], []
    for name, (_, scenario, changes) in PLAYED.items():
        source, own = given(scenario)
        plan = load(source, set=own | changes | {"run.engine": "kernel"})
        result = sweep(plan, work / name, jobs=1).result
        said.append(f"# {name}: {by(result, 'real time')}.\n")
        rows += [
            [*map(str, key), f"{rate:.0f}", str(int(valid))] for key, (rate, valid) in downloads(name, result).items()
        ]
    text = "".join(",".join(f'"{word}"' if "," in word else word for word in row) + "\n" for row in [HEAD, *rows])
    FILE.write_text("".join(said) + text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
