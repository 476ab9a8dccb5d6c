"""Lines that were measured: their curves, and shares of each by three forms of what the line carries.

The paper's form is the most that was seen in any test. It is the largest of many noisy figures, and grows with how many
there are. So each share comes besides of the best mean, that of the number of connections that had most, and of the
probe at the begin of the same block. Intervals are of blocks, drawn again with replacement: in each draw the capacity
is looked for anew, in all of its forms.
"""

from __future__ import annotations

import functools
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ackclock.stats import Interval
from ackclock.study import Results
from ackclock.study.measured import MEASURED

FULL = 0.85
"""The share of a line with which one connection counts as filling it (claim C4)."""

DRAWS = 999

Curve = Mapping[int, float]


@dataclass(frozen=True)
class Block:
    """One repetition: goodput by the number of connections, and of the probe before each of them, bit/s.

    That is one probe for all of them, unless the line became another one meanwhile.
    """

    goodput: Mapping[int, float]
    probes: Mapping[int, float] = field(default_factory=dict)


Form = Callable[[Sequence[Block]], Curve]


@dataclass(frozen=True)
class Line:
    """What was measured on one line, and the words and numbers that its campaign says of it."""

    name: str
    labels: Mapping[str, object]
    blocks: tuple[Block, ...]
    _intervals: dict[Form, dict[int, Interval]] = field(default_factory=dict, compare=False, repr=False)

    @functools.cached_property
    def numbers(self) -> list[int]:
        """Of connections."""
        return sorted({count for block in self.blocks for count in block.goodput})

    @functools.cached_property
    def curve(self) -> Curve:
        """Mean goodput by the number of connections."""
        return curve(self.blocks)

    @functools.cached_property
    def shares(self) -> Curve:
        """The same over the mean of the best number."""
        return of_best(self.blocks)

    @property
    def room(self) -> bool:
        """Whether the fewest connections leave some of the line."""
        return self.shares[self.numbers[0]] < FULL

    @functools.cached_property
    def draws(self) -> list[list[Block]]:
        """Its blocks, drawn again with replacement; none of two, of which there are three draws."""
        if (n := len(self.blocks)) < 3:
            return []
        draw = random.Random(1)  # noqa: S311
        return [draw.choices(self.blocks, k=n) for _ in range(DRAWS)]

    def interval(self, value: Callable[[Sequence[Block]], float | None]) -> Interval:
        """Something of the blocks, with an interval by drawing them again."""
        return between(value(self.blocks), (value(drawn) for drawn in self.draws), len(self.blocks))

    def intervals(self, form: Form) -> Mapping[int, Interval]:
        """The same of the shares by one form of the capacity, for each number of connections that has one."""
        if form not in self._intervals:
            alone, drawn = [form([block]) for block in self.blocks], [form(blocks) for blocks in self.draws]
            self._intervals[form] = {
                count: between(own, (found.get(count) for found in drawn), sum(count in found for found in alone))
                for count, own in form(self.blocks).items()
            }
        return self._intervals[form]


def between(own: float | None, drawn: Iterable[float | None], n: int) -> Interval:
    """A value of `n` blocks with the middle 95 % of what was found in draws of them; of two blocks there are none."""
    found = [] if own is None or n < 3 else sorted(value for value in drawn if value is not None)
    if not found:
        return Interval(own, None, None, n)
    tail = max(0, round(0.025 * len(found)) - 1)
    return Interval(own, found[tail], found[-1 - tail], n)


def curve(blocks: Sequence[Block]) -> Curve:
    """Mean goodput of these blocks."""
    numbers = sorted({count for block in blocks for count in block.goodput})
    return {
        count: statistics.fmean(block.goodput[count] for block in blocks if count in block.goodput) for count in numbers
    }


def of_best(blocks: Sequence[Block]) -> Curve:
    """The same over the mean of the best number."""
    found, best = curve(blocks), best_mean(blocks)
    return {count: value / best for count, value in found.items()}


def of_most(blocks: Sequence[Block]) -> Curve:
    """The same over the most that was seen in any test, the paper's capacity."""
    found, most = curve(blocks), most_seen(blocks)
    return {count: value / most for count, value in found.items()}


def of_probe(blocks: Sequence[Block]) -> Curve:
    """Means of goodput over what the probe of the same block has found; blocks without one are left out."""
    return curve(
        [Block({count: block.goodput[count] / block.probes[count] for count in block.probes}) for block in blocks]
    )


FORMS: Mapping[str, Form] = {
    "of the most seen": of_most,
    "of the best mean": of_best,
    "of the block's probe": of_probe,
}
"""Forms of the capacity by what a share of it is called."""


def most_seen(blocks: Sequence[Block]) -> float:
    """The most goodput of any test."""
    return max(value for block in blocks for value in block.goodput.values())


def best_mean(blocks: Sequence[Block]) -> float:
    """The mean of the number of connections that had most."""
    return max(curve(blocks).values())


def probed(blocks: Sequence[Block]) -> float | None:
    """The mean of the probes; none if there are none."""
    found = [statistics.fmean(set(block.probes.values())) for block in blocks if block.probes]
    return statistics.fmean(found) if found else None


def lines(results: Results) -> list[Line]:
    """What was measured, line by line."""
    result = results.results[MEASURED]
    entries = {entry["run"]: entry for entry in result.manifest["runs"]}
    probes = dict(result.runs.select("run", "probe_bps").iter_rows()) if "probe_bps" in result.runs.columns else {}
    blocks: dict[str, dict[int, Block]] = {}
    labels: dict[str, Mapping[str, object]] = {}
    for run in results[MEASURED]:
        own = {key: value for key, value in run.params.items() if key not in ("connections", "count")}
        said = (entries[run.number].get("context") or {}).get("labels") or {}
        for way, flows in run.ways.items():
            # A line for each direction; a probe in both is of the two together.
            of_way = {**own, **({"way": way} if way else {})}
            rates = [float(flow["goodput_bps"] or 0.0) for flow in flows]
            name, count = ", ".join(map(str, of_way.values())) or "the line", len(rates)
            probe = None if way else probes.get(run.number)
            block = blocks.setdefault(name, {}).get(run.replication, Block({}))
            more = {count: probe} if probe else {}
            blocks[name][run.replication] = Block({**block.goodput, count: sum(rates)}, {**block.probes, **more})
            labels.setdefault(name, {**of_way, **said})
    return [Line(name, labels[name], tuple(found.values())) for name, found in blocks.items()]
