"""What was measured on lines: the paper's claims on it, and its curves beside formula and simulation.

Lines, shares by three forms of the capacity, and their intervals are in `measured_lines.py`.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ackclock.models import fitted_keep, parallel_utilisation
from ackclock.stats import Interval, spearman, tost
from ackclock.stats.hypotheses.variance import lack_of_fit
from ackclock.study import (
    Results,
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
from ackclock.study.measured import Plotted, figure, table

from .measured_lines import (
    DRAWS,
    FORMS,
    Block,
    Curve,
    Line,
    best_mean,
    between,
    curve,
    lines,
    most_seen,
    of_best,
    probed,
)
from .measures import CUBIC, RENO, share

MARGIN = 0.1
"""Shares that differ by less count as equal."""

SIMULATED = ("mobile-window", "mobile-loss", "fibre-loss", "saturated")
"""Scenarios of the study that stand beside what was measured."""


@claim(
    "C3",
    "On lines with room for more the goodput grows with the number of connections. Value: least rank correlation of "
    "the two.",
    short="On lines with room goodput grows with the connections.",
    unit="rank correlation",
    paper="grows",
    origin="text of section 3, of figure 2",
    tolerance="rank correlation above 0.7, mean over blocks, and the most connections above the fewest",
)
def c3(results: Results) -> Verdict:
    found = []
    for line in lines(results):
        if line.room:
            order = [spearman(list(map(float, block.goodput)), list(block.goodput.values())) for block in line.blocks]
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
    origin="text of section 3, of figure 2",
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
    origin="text of section 3, of figure 2",
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
    least = min(len(one.blocks), len(other.blocks))
    draw = random.Random(1)  # noqa: S311
    pairs_of = (order(*(draw.choices(line.blocks, k=len(line.blocks)) for line in (one, other))) for _ in range(DRAWS))
    return replace(between(own, pairs_of, least), n=len(numbers))


def equal(one: Line, other: Line) -> float | None:
    """The p-value of the test that their shares, number by number, are equal but for the margin."""
    numbers = [count for count in one.numbers if count in other.numbers]
    return tost([one.shares[count] for count in numbers], [other.shares[count] for count in numbers], -MARGIN, MARGIN)


@claim(
    "C6",
    "On lines that one connection fills it is above the formula already. Value: its share of the best mean.",
    unit="of the line",
    origin="text of section 4",
    tolerance="at least 0.95 (sanity), the formula being 0.85",
    soft=True,
)
def c6(results: Results) -> Verdict:
    found = []
    for line in lines(results):
        if not line.room and line.numbers[0] == 1:
            verdict = at_least(clipped(line.intervals(of_best)[1], 0.0, 1.0), 0.95)
            others = [f"{name} {_with_ends(each, 1, 3)}" for name, each in _others_of(line, 1)]
            found.append(
                valued(every(labelled(line.name, verdict), Verdict("pass", detail=", ".join(others))), verdict)
            )
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
    rows = [["line", "N", "Mbit/s", *FORMS, "formula, 0.7", "formula, 0.5", *beside]]
    for line in lines(results):
        for count in line.numbers:
            own = [_with_ends(line.intervals(form).get(count), 100, 1) for form in FORMS.values()]
            cells = [f"{100 * parallel_utilisation(count, keep):.1f}" for keep in (CUBIC, RENO)]
            others = [_percent(of.get(count)) for of in beside.values()]
            rows.append([line.name, str(count), f"{line.curve[count] / 1e6:.2f}", *own, *cells, *others])
    return rows


@table(
    "capacity",
    "What each line carries, Mbit/s: the most of any test, the mean of the best number, and the mean of probes",
)
def capacities(results: Results) -> list[list[str]]:
    """A row for each line."""
    rows = [["line", "blocks", "probes", "most seen", "best mean", "of N", "probe"]]
    for line in lines(results):
        found = [_with_ends(line.interval(value), 1e-6, 2) for value in (most_seen, best_mean, probed)]
        best = max(line.curve, key=lambda count: line.curve[count])
        probes = sum(bool(block.probes) for block in line.blocks)
        rows.append([line.name, str(len(line.blocks)), str(probes), *found[:2], str(best), found[2]])
    return rows


@figure("shares", "Share of each line", x="connections", y="share of the best mean (%)")
def drawn(results: Results) -> list[Plotted]:
    """A panel for each line: what was measured, the formula, and simulated lines."""
    found = []
    beside = {name: simulated(results, name) for name in SIMULATED if name in results}
    for line in lines(results):
        own = [line.intervals(of_best)[count] for count in line.numbers]
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
    found = of_best(blocks)
    return fitted_keep(list(found), list(found.values()))


def _shape(line: Line, keep: float | None) -> list[str]:
    """The lack of fit against what tests with as many connections differ by."""
    best = max(line.curve.values())
    groups = [
        [block.goodput[count] / best for block in line.blocks if count in block.goodput] for count in line.numbers
    ]
    if keep is None or len(groups) < 3 or all(len(group) < 2 for group in groups):
        return ["-", "-", "not known"]
    found = lack_of_fit(groups, [parallel_utilisation(count, keep) for count in line.numbers], 1)
    return [f"{found.f:.3g}", f"{found.p:.2g}", "rejected" if found.p < 0.05 else "not rejected"]


def _others_of(line: Line, count: int) -> Iterator[tuple[str, Interval]]:
    """The share of so many connections by the forms of the capacity beside the best mean."""
    for name, form in FORMS.items():
        if form is not of_best and count in line.intervals(form):
            yield name, line.intervals(form)[count]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _with_ends(found: Interval | None, scale: float, digits: int) -> str:
    if found is None or found.value is None:
        return "-"
    own = f"{scale * found.value:.{digits}f}"
    if found.low is None or found.high is None:
        return own
    return f"{own} ({scale * found.low:.{digits}f} to {scale * found.high:.{digits}f})"
