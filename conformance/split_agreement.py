"""How far the gains of the study split-tcp are from those of a real proxy on a real kernel, cell by cell.

    python conformance/split_agreement.py --write

plays in the simulator what `split_kernel.py` recorded, and writes `split/agreement.csv`, the table of
`docs/split-agreement.md` and the summary in the README of the study, which `test_split_kernel.py` holds against what
it plays itself.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ackclock
import split_gone
import split_real_time
from ackclock.study import mean_interval
from session_cache import session_cache
from split_kernel import COLUMNS, MEANS, PLAYED, REPLICATIONS, STUDY, given, rates
from split_words import NAMES, SIZES, WEIGHTED, tenths

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "conformance" / "split" / "agreement.csv"
PAGE = ROOT / "docs" / "split-agreement.md"
README = STUDY / "README.md"
BEGIN, END = "<!-- generated: split_agreement.py -->", "<!-- end -->"
MARGIN = 10.0
"""Points of gain."""
OFF = "none"
ON = {"proxy": ("third", "two-thirds", "pep", "buffer-100k", "buffer-400k", "iw-32", "bbr1", "bbr1-server")}
"""By scenario the names of its proxies, where it has others than `pep`."""
TITLES = {
    "mean": "LTE at the mean pings",
    "3g": "3G at the mean pings",
    "regions": "LTE at the pings of the regions",
    "3g-regions": "3G at the pings of the regions",
    "outages": "a radio that goes away",
    "window": "the phone's window",
    "rates": "the rate of 3G",
    "loss": "random losses of the Internet in place of a window",
    "modern": "windows that do not limit",
    "proxy": "the proxy itself",
}
SAME = ("modern", "proxy")
"""Scenarios in which nothing is drawn but the start: a run more is the same run later (`test_split_kernel.py`)."""
LARGE = ("rate_5m", "rate_10m", "rate_20m")
"""Columns of 5 MB and more."""
PARTS = {
    "100 kB to 1 MB": ("rate_100k", "rate_500k", "rate_1m"),
    "5 to 20 MB": LARGE,
    "all sizes, weighted": (WEIGHTED,),
    "": ("only",),
}
"""Columns that the README has together."""
WEIGHTS = dict(zip(COLUMNS.values(), (0.15, 0.15, 0.15, 0.30, 0.125, 0.125), strict=True))
"""Those of `measures.py` of the study."""
FEW = {3: "regions"}
"""Few runs, and the scenario whose large files have so many."""
Rates = dict[tuple[str, int], dict[str, float]]
"""Bit/s by the name of a row and a replication, and by column."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Gains of a download in per cent, means over runs, and their difference with its interval where there is one."""

    scenario: str
    cell: str
    column: str
    runs: int
    ours: float
    linux: float
    apart: float
    low: float | None
    high: float | None

    @property
    def verdict(self) -> str:
        """`equal` if the difference is within the margin, all of its interval; of one run the difference alone."""
        ends = [self.apart] if self.low is None or self.high is None else [self.low, self.high]
        if max(map(abs, ends)) <= MARGIN:
            return "equal"
        return "open" if min(ends) <= MARGIN and max(ends) >= -MARGIN else "different"

    @property
    def is_large(self) -> bool:
        """Of 5 MB and more, or of all sizes, which these are part of."""
        return self.column in (*LARGE, WEIGHTED)

    @property
    def where(self) -> str:
        """Its name as pages have it."""
        return ", ".join(NAMES.get(word, word) for word in self.cell.split(", "))

    def words(self) -> list[str]:
        """As the table has it: three significant digits are more than is known of a gain."""
        ends = [tenths(end) if end is not None else "" for end in (self.low, self.high)]
        numbers = [tenths(value) for value in (self.ours, self.linux, self.apart)]
        return [self.scenario, self.cell, self.column, str(self.runs), *numbers, *ends, self.verdict]


HEAD = ["scenario", "cell", "download", "runs", "simulated", "linux", "difference", "low", "high", "verdict"]


def recorded(name: str) -> Rates:
    """What a kernel made of a scenario."""
    own = f"linux-{name}-runs" if name in REPLICATIONS else f"linux-{name}"
    text = (STUDY / "expected" / f"{own}.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in text if not line.startswith("#"))
    return {
        (row.pop("row"), int(row.pop("replication", "0"))): {c: float(rate) for c, rate in row.items()} for row in rows
    }


@session_cache
def played(name: str) -> Rates:
    """The same runs in the simulator."""
    source, changes = given(name)
    result = ackclock.run(source, set=changes)
    return {(str(row.pop("row")), int(row.pop("replication"))): row for row in rates(result, name).to_dicts()}


def cells_of(found: Rates) -> list[str]:
    """The names of rows without the proxy's."""
    return list(dict.fromkeys(row.rpartition(", ")[0] for row, _ in found))


def every() -> Iterator[Cell]:
    """All cells; where several recordings have one, of the last, which has most runs."""
    found: dict[tuple[str, str, str], Cell] = {}
    for name in PLAYED:
        for cell in of(name, recorded(name), played(name)):
            found[cell.scenario, cell.cell, cell.column] = cell
    yield from found.values()


def of(name: str, linux: Rates, ours: Rates) -> Iterator[Cell]:
    """The cells of a recording."""
    scenario = next((each for each, parts in MEANS.items() if name in parts), name)
    numbers = sorted({number for _, number in linux})
    for row in cells_of(linux):
        begin = f"{row}, " if row else ""
        for relay in ON.get(name, ("pep",)):
            columns = list(linux[begin + OFF, 0])
            for column in [*columns, WEIGHTED] if set(columns) == set(WEIGHTS) else columns:
                pairs = [[gain(each, begin, relay, column, number) for each in (ours, linux)] for number in numbers]
                apart = mean_interval(one - two for one, two in pairs)
                one, two = (sum(side) / len(side) for side in zip(*pairs, strict=True))
                low, high = apart.low, apart.high
                if low is None and len(numbers) > 1:
                    # All are the same.
                    low = high = one - two
                cell = row if name not in ON else relay
                yield Cell(scenario, cell, column, len(numbers), one, two, one - two, low, high)


def gain(found: Rates, begin: str, relay: str, column: str, number: int) -> float:
    """By how many per cent a download is faster with the proxy; of all sizes the weighted mean of their gains."""
    on, off = (found[begin + name, number] for name in (relay, OFF))
    if column == WEIGHTED:
        return 100 * math.fsum(weight * (on[each] / off[each] - 1) for each, weight in WEIGHTS.items())
    return 100 * (on[column] / off[column] - 1)


def table(cells: list[Cell]) -> str:
    """As CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows(cell.words() for cell in cells)
    return stream.getvalue()


def page(cells: list[Cell]) -> str:
    """As Markdown, a table for each scenario."""
    equal = sum(cell.verdict == "equal" for cell in cells)
    parts = [f"**{equal} of {len(cells)} cells equal.** {how_many(cells)}", ""]
    for scenario, title in TITLES.items():
        own = [cell for cell in cells if cell.scenario == scenario]
        equal = sum(cell.verdict == "equal" for cell in own)
        parts += [f"### {title[0].upper()}{title[1:]}", "", f"{equal} of {len(own)} equal, {how_often(own)}.", ""]
        parts += ["| cell | download | runs | simulated | Linux | difference | 95 % interval | |", "|" + "---|" * 8]
        for cell in own:
            _, _, column, runs, ours, linux, apart, low, high, verdict = cell.words()
            where = cell.where
            name, interval = SIZES[column], f"{low} to {high}" if low else ""
            parts.append(f"| {where} | {name} | {runs} | {ours} % | {linux} % | {apart} | {interval} | {verdict} |")
        parts.append("")
    return "\n".join(parts + split_gone.page() + split_real_time.page())


def summary(cells: list[Cell]) -> str:
    """As Markdown, a row for each scenario and kind of size: how many cells, and the one whose gains are most apart."""
    several = [cell for cell in cells if cell.runs > 1]
    parts = [
        f"**In {sum(abs(cell.apart) <= MARGIN for cell in cells)} of {len(cells)} cells the gains are within "
        f"{MARGIN:.0f} points, in {sum(cell.verdict == 'equal' for cell in several)} of the {len(several)} that were "
        f"played more than once with all of the 95 % interval; the other {len(cells) - len(several)} are of one run of "
        "each engine, of paths where nothing is drawn and another run says the same.**",
        "",
        "| cells | | gains most apart |",
        "|---|---|---|",
    ]
    for scenario, title in TITLES.items():
        for part, columns in PARTS.items():
            own = [cell for cell in cells if cell.scenario == scenario and cell.column in columns]
            if not own:
                continue
            most, runs = max(own, key=lambda cell: abs(cell.apart)), sorted({cell.runs for cell in own})
            often = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
            ends = "" if most.low is None or most.high is None else f"; {tenths(most.low)} to {tenths(most.high)}"
            place = ", ".join(word for word in (most.where, "" if len(columns) == 1 else SIZES[most.column]) if word)
            name = ": ".join(word for word in (title, part) if word)
            detail = f" ({(place + ends).removeprefix('; ')})" if place or ends else ""
            parts.append(
                f"| {name} | {len(own)}, of {often} run{'s' * (often != '1')} | {tenths(most.apart)} points{detail} |"
            )
    return "\n".join(parts)


def how_many(cells: list[Cell]) -> str:
    """What the verdicts rest on."""
    once = [cell for cell in cells if cell.runs == 1]
    assert all(cell.scenario in SAME for cell in once), "a gain that is drawn rests on a single run"
    often = [cell for cell in cells if cell.runs > 1]
    few = {runs: [cell for cell in often if cell.runs == runs] for runs in FEW}
    assert all(cell.scenario == FEW[runs] and cell.is_large for runs, own in few.items() for cell in own)
    (three,) = few.values()
    rest = [cell for cell in often if cell.runs not in FEW]
    fewest = min(cell.runs for cell in rest)
    return (
        f"{len(often)} of them have intervals, {len(three)} of these of three runs of each engine (5 MB and more over "
        f"LTE at the pings of the regions, and what is weighted with them) and {len(rest)} of {fewest} at least. The "
        f"other {len(once)} are one "
        f"run of each, of paths where nothing is drawn but the start (`{'`, `'.join(SAME)}`): "
        f"another run says the same."
    )


def how_often(cells: list[Cell]) -> str:
    """How many of some cells were played more than once."""
    once = sum(cell.runs == 1 for cell in cells)
    if once in (0, len(cells)):
        return f"{'none' if once else 'all'} of them played more than once"
    return f"{len(cells) - once} of them played more than once and {once} once"


def main(*words: str) -> None:
    """Print the table, or write it."""
    cells = list(every())
    if words != ("--write",):
        print(table(cells))
        return
    FILE.write_text(table(cells), encoding="utf-8")
    for file, text in ((PAGE, page(cells)), (README, summary(cells))):
        head, _, rest = file.read_text(encoding="utf-8").partition(BEGIN)
        file.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
