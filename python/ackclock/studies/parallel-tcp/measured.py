"""What was measured on lines: the paper's claims on it, and its curves beside formula and simulation.

A line's capacity is what the paper takes, the most that was ever seen, and besides the mean of the number of
connections that had most: the largest of many noisy figures grows with how many there are. Intervals are of blocks,
drawn again with replacement: in each, both forms of the capacity are looked for anew.
"""

from __future__ import annotations

import functools
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ackclock.models import fitted_keep, parallel_utilisation
from ackclock.stats import Interval, spearman, tost
from ackclock.stats.hypotheses.variance import lack_of_fit
from ackclock.study import (
    Results,
    Run,
    Verdict,
    at_least,
    at_most,
    claim,
    clipped,
    every,
    labelled,
    mean_interval,
    valued,
)
from ackclock.study.measured import MEASURED, Plotted, figure, table

from .measures import CUBIC, RENO, share

FULL = 0.85
"""The share of a line with which one connection counts as filling it (claim C4)."""

MARGIN = 0.1
"""Shares that differ by less count as equal."""

DRAWS = 999
SIMULATED = ("mobile-window", "mobile-loss", "fibre-loss", "saturated")
"""Scenarios of the study that stand beside what was measured."""

Block = Mapping[int, float]
"""Goodput by the number of connections, of one repetition, bit/s."""

Curve = Mapping[int, float]


@dataclass(frozen=True)
class Line:
    """What was measured on one line, and the words and numbers that its campaign says of it."""

    name: str
    labels: Mapping[str, object]
    blocks: tuple[Block, ...]

    @functools.cached_property
    def numbers(self) -> list[int]:
        """Of connections."""
        return sorted({count for block in self.blocks for count in block})

    @functools.cached_property
    def curve(self) -> Curve:
        """Mean goodput by the number of connections."""
        return curve(self.blocks)

    @functools.cached_property
    def shares(self) -> Curve:
        """The same over the mean of the best number."""
        return shares(self.blocks)

    @property
    def room(self) -> bool:
        """Whether the fewest connections leave some of the line."""
        return self.shares[self.numbers[0]] < FULL

    def interval(self, value: Callable[[Sequence[Block]], float | None]) -> Interval:
        """Something of the blocks, with an interval by drawing them again."""
        own, n = value(self.blocks), len(self.blocks)
        if own is None or n < 3:  # of two blocks there are three draws
            return Interval(own, None, None, n)
        draw = random.Random(1)  # noqa: S311
        found = sorted(other for _ in range(DRAWS) if (other := value(draw.choices(self.blocks, k=n))) is not None)
        tail = max(0, round(0.025 * len(found)) - 1)
        return Interval(own, found[tail], found[-1 - tail], n) if found else Interval(own, None, None, n)


def curve(blocks: Sequence[Block]) -> Curve:
    """Mean goodput of these blocks."""
    numbers = sorted({count for block in blocks for count in block})
    return {count: statistics.fmean(block[count] for block in blocks if count in block) for count in numbers}


def shares(blocks: Sequence[Block]) -> Curve:
    """The same over the mean of the best number."""
    found = curve(blocks)
    return {count: value / max(found.values()) for count, value in found.items()}


def of_most(blocks: Sequence[Block]) -> Curve:
    """The same over the most that was seen in any test, the paper's capacity."""
    most = max(value for block in blocks for value in block.values())
    return {count: value / most for count, value in curve(blocks).items()}


def goodput(run: Run) -> float:
    """Payload of all connections between warm-up and end, bit/s."""
    return sum(float(flow["goodput_bps"] or 0.0) for flow in run.flows)


def lines(results: Results) -> list[Line]:
    """What was measured, line by line."""
    entries = {entry["run"]: entry for entry in results.results[MEASURED].manifest["runs"]}
    blocks: dict[str, dict[int, dict[int, float]]] = {}
    labels: dict[str, Mapping[str, object]] = {}
    for run in results[MEASURED]:
        own = {key: value for key, value in run.params.items() if key not in ("connections", "count")}
        name = ", ".join(map(str, own.values())) or "the line"
        blocks.setdefault(name, {}).setdefault(run.replication, {})[len(run.flows)] = goodput(run)
        said = (entries[run.number].get("context") or {}).get("labels") or {}
        labels.setdefault(name, {**own, **said})
    return [Line(name, labels[name], tuple(found.values())) for name, found in blocks.items()]


@claim(
    "C3",
    "On lines with room for more the goodput grows with the number of connections. Value: least rank correlation of "
    "the two.",
    short="On lines with room goodput grows with the connections.",
    unit="rank correlation",
    paper="grows",
    tolerance="rank correlation above 0.7, mean over blocks, and the most connections above the fewest",
)
def c3(results: Results) -> Verdict:
    found = []
    for line in lines(results):
        if line.room:
            order = [spearman(list(map(float, block)), list(block.values())) for block in line.blocks]
            verdict = at_least(clipped(mean_interval(order), -1.0, 1.0), 0.7)
            found.append(
                valued(every(labelled(line.name, verdict), labelled("most over fewest", _gain(line, low=1.0))), verdict)
            )
    return _least(found, "no line has room for more than the fewest connections")


@claim(
    "C4",
    "On lines that one connection fills, more of them gain next to nothing. Value: goodput of most connections over "
    "that of the fewest.",
    short="On lines that one fills, more connections gain nothing.",
    unit="times",
    paper="flat",
    tolerance="where the fewest have 0.85 of the best mean: the most have at most 1.15 of that",
)
def c4(results: Results) -> Verdict:
    found = [labelled(line.name, _gain(line, high=1.15)) for line in lines(results) if not line.room]
    return _most(found, "no line is filled by the fewest connections")


def _gain(line: Line, low: float | None = None, high: float | None = None) -> Verdict:
    """The goodput of the most connections over that of the fewest."""
    first, last = line.numbers[0], line.numbers[-1]

    def ratio(blocks: Sequence[Block]) -> float | None:
        found = curve(blocks)
        return found[last] / found[first] if first in found and last in found else None

    interval = line.interval(ratio)
    return at_least(interval, low) if low is not None else at_most(interval, high or 0.0)


@claim(
    "C5",
    "Moving and standing, a line has the same trend. Value: rank correlation of the two curves.",
    unit="rank correlation",
    paper="same trend",
    tolerance="above 0.7; besides, shares that differ by less than 0.1 (TOST, p < 0.05)",
    soft=True,
)
def c5(results: Results) -> Verdict:
    found = []
    for standing, moving in pairs(lines(results)):
        verdict = at_least(together(standing, moving), 0.7)
        p = equal(standing, moving)
        same = f"shares within {MARGIN:g}: " + (
            "not known" if p is None else f"{'shown' if p < 0.05 else 'not shown'}, p = {p:.2g}"
        )
        found.append(
            valued(
                every(labelled(f"{standing.name} and {moving.name}", verdict), Verdict("pass", detail=same)), verdict
            )
        )
    return _least(found, "no line was measured both ways: give two of them labels that differ in moving alone")


def pairs(found: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    """Lines whose labels differ in `moving` alone; the one that stands first."""
    for one in found:
        for other in found:
            if (
                one.labels.get("moving") is False
                and other.labels.get("moving") is True
                and _others(one) == _others(other)
            ):
                yield one, other


def _others(line: Line) -> dict[str, object]:
    return {key: value for key, value in line.labels.items() if key not in ("moving", "line")}


def together(one: Line, other: Line) -> Interval:
    """Spearman's correlation of two curves over the same numbers of connections; blocks of each are drawn again."""
    numbers = [count for count in one.numbers if count in other.numbers]

    def order(of_one: Sequence[Block], of_other: Sequence[Block]) -> float | None:
        a, b = curve(of_one), curve(of_other)
        return spearman([a.get(count) for count in numbers], [b.get(count) for count in numbers])

    own = order(one.blocks, other.blocks)
    if own is None or min(len(one.blocks), len(other.blocks)) < 3:
        return Interval(own, None, None, len(numbers))
    draw = random.Random(1)  # noqa: S311
    found = sorted(
        value
        for _ in range(DRAWS)
        if (value := order(*(draw.choices(line.blocks, k=len(line.blocks)) for line in (one, other)))) is not None
    )
    tail = max(0, round(0.025 * len(found)) - 1)
    return Interval(own, found[tail], found[-1 - tail], len(numbers))


def equal(one: Line, other: Line) -> float | None:
    """The p-value of the test that their shares, number by number, are equal but for the margin."""
    numbers = [count for count in one.numbers if count in other.numbers]
    return tost([one.shares[count] for count in numbers], [other.shares[count] for count in numbers], -MARGIN, MARGIN)


@claim(
    "C6",
    "On lines that one connection fills it is above the formula already. Value: its share of the best mean.",
    unit="of the line",
    tolerance="at least 0.95 (sanity), the formula being 0.85",
    soft=True,
)
def c6(results: Results) -> Verdict:
    found = []
    for line in lines(results):
        if not line.room and line.numbers[0] == 1:
            interval = line.interval(lambda blocks: shares(blocks).get(1))
            found.append(labelled(line.name, at_least(clipped(interval, 0.0, 1.0), 0.95)))
    return _least(found, "no line is filled by one connection")


def _least(found: Sequence[Verdict], nothing: str) -> Verdict:
    """All of them, with the least value."""
    if not found:
        return Verdict("inconclusive", detail=nothing)
    return valued(every(*found), min(found, key=lambda item: item.value if item.value is not None else float("inf")))


def _most(found: Sequence[Verdict], nothing: str) -> Verdict:
    if not found:
        return Verdict("inconclusive", detail=nothing)
    return valued(every(*found), max(found, key=lambda item: item.value if item.value is not None else float("-inf")))


@table("curve", "Share of the line, %, beside the formula and simulated lines (CUBIC)")
def curves(results: Results) -> list[list[str]]:
    """A row for each line and number of connections."""
    beside = {name: simulated(results, name) for name in SIMULATED if name in results}
    rows = [["line", "N", "Mbit/s", "of the most seen", "of the best mean", "formula, 0.7", "formula, 0.5", *beside]]
    for line in lines(results):
        most = of_most(line.blocks)
        for count in line.numbers:
            own = line.interval(lambda blocks, count=count: shares(blocks).get(count))  # type: ignore[misc]
            cells = [f"{100 * parallel_utilisation(count, keep):.1f}" for keep in (CUBIC, RENO)]
            others = [_percent(of.get(count)) for of in beside.values()]
            mean = f"{line.curve[count] / 1e6:.2f}"
            rows.append([line.name, str(count), mean, _percent(most[count]), _with_ends(own, 100, 1), *cells, *others])
    return rows


@figure("shares", "Share of each line", x="connections", y="share of the best mean (%)")
def drawn(results: Results) -> list[Plotted]:
    """A panel for each line: what was measured, the formula, and simulated lines."""
    found = []
    beside = {name: simulated(results, name) for name in SIMULATED if name in results}
    for line in lines(results):
        own = [line.interval(lambda blocks, count=count: shares(blocks).get(count)) for count in line.numbers]  # type: ignore[misc]
        ends = [interval.ends or (float("nan"), float("nan")) for interval in own]
        mean = [100 * line.shares[count] for count in line.numbers]
        low, high = ([100 * each[place] for each in ends] for place in (0, 1))
        found.append(Plotted(line.name, "measured", line.numbers, mean, low, high))
        for keep in (CUBIC, RENO):
            formula = [100 * parallel_utilisation(count, keep) for count in line.numbers]
            found.append(Plotted(line.name, f"formula, {keep:g}", line.numbers, formula))
        for name, curve_of in beside.items():
            numbers = sorted(curve_of)
            found.append(Plotted(line.name, name, numbers, [100 * curve_of[count] for count in numbers]))
    return found


def simulated(results: Results, name: str) -> Curve:
    """The share of CUBIC on a simulated line by the number of connections."""
    found: dict[int, list[float]] = {}
    for run in results[name].where(cc="cubic"):
        if (value := share(run)) is not None:
            found.setdefault(len(run.flows), []).append(value)
    return {count: statistics.fmean(values) for count, values in found.items()}


@table("fit", "The formula fitted: what a connection keeps at a cut, and whether its shape is that of the curve")
def fit(results: Results) -> list[list[str]]:
    """A row for each line."""
    rows = [["line", "blocks", "fewest have", "keeps", "F", "p", "shape of the formula"]]
    for line in lines(results):
        keep = line.interval(kept)
        few = line.shares[line.numbers[0]]
        rows.append(
            [line.name, str(len(line.blocks)), _percent(few), _with_ends(keep, 1, 3), *_shape(line, keep.value)]
        )
    return rows


def kept(blocks: Sequence[Block]) -> float | None:
    """What the formula that is nearest to these blocks lets connections keep."""
    found = shares(blocks)
    return fitted_keep(list(found), list(found.values()))


def _shape(line: Line, keep: float | None) -> list[str]:
    """The lack of fit against what tests with as many connections differ by."""
    best = max(line.curve.values())
    groups = [[block[count] / best for block in line.blocks if count in block] for count in line.numbers]
    if keep is None or len(groups) < 3 or all(len(group) < 2 for group in groups):
        return ["-", "-", "not known"]
    found = lack_of_fit(groups, [parallel_utilisation(count, keep) for count in line.numbers], 1)
    return [f"{found.f:.3g}", f"{found.p:.2g}", "rejected" if found.p < 0.05 else "not rejected"]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _with_ends(found: Interval, scale: float, digits: int) -> str:
    if found.value is None:
        return "-"
    own = f"{scale * found.value:.{digits}f}"
    if found.low is None or found.high is None:
        return own
    return f"{own} ({scale * found.low:.{digits}f} to {scale * found.high:.{digits}f})"
