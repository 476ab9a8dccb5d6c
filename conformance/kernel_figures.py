"""Ours beside the recorded kernel, figure by figure, and when they count as agreeing.

A record without anything random is one number against another. Where something is drawn (losses; which of two flows
loses a packet; BBR's phases) both sides are played with several seeds, the means are compared, and three standard
errors of their difference count as agreement as well: no closer agreement could be told from chance.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import deviations
from ackclock.stats import estimate
from agreement import Figure, figure
from kernel_records import built, controller_of, is_random, names, record, round_trip, scenario_of, seeds
from kernel_runs import Flow, Measured, kernel, ours
from ns3_runs import ns3

GOODPUT, RTT, QUEUE, RETRANSMISSIONS, EPOCHS, WINDOW = 0.05, 0.10, 0.10, 0.20, 0.20, 0.10
"""Largest relative differences that count as agreement: of goodput and RTT the project's promise, of the others what
follows from it (a window is goodput times RTT) or one loss more or less per congestion epoch."""

LARGE = 0.20
"""A difference beyond it needs a known mechanism."""

COUNT_SLACK = 3
"""Retransmissions or epochs more or less that agree whatever the ratio: one overflow of a queue by a packet or two."""
QUEUE_SLACK = 0.3
"""Packets. The kernel's queue is sampled every 10 ms, and a mean of half a packet is a few transmissions."""
DRAWS_OF_LOSS, DRAWS_OF_START = 20, 16
START_SPREAD_NS = 20_000_000
"""How far the start of the second flow is spread, as in the kernel's runs: half a round trip, many packets."""
ENOUGH = 4
"""With fewer different runs of the kernel's its own spread is no estimate, and it is taken to vary at least as ours."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A figure over several seeds."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Of the values."""
        return statistics.fmean(self.values)

    @property
    def half_width(self) -> float | None:
        """Of the 95 % confidence interval of the mean; None for a single value, and where all are the same."""
        return estimate(self.values).ci95 or None

    @property
    def spread(self) -> float | None:
        """Their standard deviation; None for a single one."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


def draws(name: str) -> int:
    """How often ours is played."""
    if is_random(name):
        return DRAWS_OF_LOSS
    several = len(record(name)["flows"]) > 1
    return DRAWS_OF_START if several or controller_of(name) == "bbr1" else 1


def our_runs(name: str) -> list[Measured]:
    """Ours with all seeds."""
    spread = 0 if is_random(name) or len(record(name)["flows"]) == 1 else START_SPREAD_NS
    return once([ours(name, seed, spread) for seed in range(1, draws(name) + 1)]) if draws(name) > 1 else [ours(name)]


def once(runs: list[Measured]) -> list[Measured]:
    """Each course of events once: starts that differ by less than decides anything lead to the same losses, and would
    pass for independent draws if they counted as several.
    """
    courses = {tuple((flow.retransmissions, len(flow.epochs)) for flow in run.flows): run for run in reversed(runs)}
    return list(reversed(courses.values()))


def kernel_runs(name: str) -> list[Measured]:
    """The record, and the kernel with other seeds or starts where they were recorded; each result once."""
    others: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for row in seeds().get(name, []):
        others.setdefault((row["seed"], row["shift_ms"]), []).append(row)
    return once([kernel(name), *(_of_rows(name, rows) for rows in others.values())])


def _of_rows(name: str, rows: list[Mapping[str, str]]) -> Measured:
    flows = tuple(
        Flow(
            goodput_bps=float(row["goodput_bps"]),
            share=kernel(name).flows[int(row["flow"])].share,
            retransmissions=float(row["retransmissions"]),
            mean_rtt_s=float(row["mean_rtt_ms"]) / 1e3,
            mean_cwnd=float(row["mean_cwnd"]),
            epochs=(0.0,) * int(row["epochs"]),
        )
        for row in sorted(rows, key=lambda row: int(row["flow"]))
    )
    return Measured(flows, float(rows[0]["mean_queue"]))


Metric = Callable[[Measured], float]


def pair(name: str, metric: Metric) -> tuple[Sample, Sample]:
    """A metric of all runs of ours and of the kernel's."""
    mine = Sample(tuple(metric(run) for run in our_runs(name)))
    return mine, Sample(tuple(metric(run) for run in kernel_runs(name)))


def noise(mine: Sample, theirs: Sample) -> float:
    """Three standard errors of the difference of the means, relative to the kernel's; 0 if nothing is random."""
    ours_spread, kernel_spread = mine.spread or 0.0, theirs.spread or 0.0
    if len(theirs.values) < ENOUGH:
        kernel_spread = max(kernel_spread, ours_spread)
    error = math.sqrt(ours_spread**2 / len(mine.values) + kernel_spread**2 / len(theirs.values))
    return 3 * error / theirs.mean if theirs.mean else 0.0


def metrics(name: str) -> Iterator[tuple[str, Metric, float, float]]:
    """Name, how it is measured, relative tolerance and absolute slack of everything compared in a record."""
    yield "goodput", lambda run: run.goodput_bps, GOODPUT, 0
    yield "mean RTT", lambda run: run.mean_rtt_s, RTT, 0
    yield "mean queue", lambda run: run.mean_queue, QUEUE, QUEUE_SLACK
    yield "retransmissions", lambda run: run.retransmissions, RETRANSMISSIONS, COUNT_SLACK
    yield "epochs", lambda run: run.epochs, EPOCHS, COUNT_SLACK
    yield "mean window", lambda run: run.mean_cwnd, WINDOW, 0.5
    flows = len(record(name)["flows"])
    if flows == 1:
        return

    def of(number: int, value: Callable[[Flow], float]) -> Metric:
        return lambda run: value(run.flows[number])

    for number in range(flows):
        yield f"goodput, flow {number}", of(number, lambda flow: flow.goodput_bps), GOODPUT, 0
        yield f"mean RTT, flow {number}", of(number, lambda flow: flow.mean_rtt_s), RTT, 0
        slack = COUNT_SLACK
        yield f"retransmissions, flow {number}", of(number, lambda flow: flow.retransmissions), RETRANSMISSIONS, slack
        yield f"epochs, flow {number}", of(number, lambda flow: float(len(flow.epochs))), EPOCHS, slack
        yield f"mean window, flow {number}", of(number, lambda flow: flow.mean_cwnd), WINDOW, 0.5


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure with what a table shows besides."""

    figure: Figure
    intervals: tuple[float | None, float | None]
    """Half widths of the 95 % confidence intervals of ours and the kernel's; None where nothing is random."""
    ns3: float | None
    """What ns-3 has on the same path; None where it was not recorded."""


@functools.cache
def compared(name: str) -> tuple[Compared, ...]:
    """Every comparison of a record."""
    scenario, controller = scenario_of(name), controller_of(name)
    peer = ns3(name)
    found = []
    for metric, measure, relative, slack in metrics(name):
        mine, theirs = pair(name, measure)
        known = deviations.known(scenario, controller, metric)
        tolerance = max(relative, noise(mine, theirs), slack / theirs.mean if theirs.mean else 0.0)
        plain = figure(scenario, controller, metric, (mine.mean, theirs.mean), tolerance, known)
        if not theirs.mean:  # nothing to be relative to but the slack
            plain = replace(plain, difference=mine.mean / slack, tolerance=1.0)
        item = replace(plain, large=LARGE)
        widths = (mine.half_width, theirs.half_width)
        found.append(Compared(item, widths, None if peer is None else measure(peer)))
    return tuple(found)


def of(name: str) -> tuple[Figure, ...]:
    """The figures of a record."""
    return tuple(item.figure for item in compared(name))


def figures() -> Iterator[Figure]:
    """Every comparison of every record whose controllers are built."""
    for name in names():
        if built(name):
            yield from of(name)


def acceptable(item: Figure) -> bool:
    """Whether a figure may stand: it agrees, is not far off, or its mechanism is known."""
    return item.explained or (item.large is not None and abs(item.difference) <= item.large)


@dataclass(frozen=True, slots=True)
class Cell:
    """The verdict on a controller in a scenario."""

    off: tuple[Figure, ...]
    """Goodputs and RTTs that do not agree."""
    besides: tuple[Figure, ...]
    """Other figures that do not."""

    @property
    def agrees(self) -> bool:
        """Whether goodput and mean RTT of every flow do."""
        return not self.off

    def __str__(self) -> str:
        """In a few words."""
        off = ", ".join(f"{f.metric} {f.difference:+.0%}" for f in self.off)
        besides = ", ".join(f"{f.metric} {f.difference:+.0%}" for f in self.besides)
        text = f"OFF: {off}" if off else "ok"
        return f"{text} (besides: {besides})" if besides else text


def cell(name: str) -> Cell:
    """The verdict on a record."""
    wrong = [item for item in of(name) if not item.agrees]
    judged = [item for item in wrong if item.metric.startswith(("goodput", "mean RTT"))]
    return Cell(tuple(judged), tuple(item for item in wrong if item not in judged))


def _mean(runs: list[Measured], name: str) -> Measured:
    """A run of the means, for a table."""

    def flow(number: int) -> Flow:
        of_all = [run.flows[number] for run in runs]
        epochs = round(statistics.fmean(len(item.epochs) for item in of_all))
        return Flow(
            goodput_bps=statistics.fmean(item.goodput_bps for item in of_all),
            share=of_all[0].share,
            retransmissions=statistics.fmean(item.retransmissions for item in of_all),
            mean_rtt_s=statistics.fmean(item.mean_rtt_s for item in of_all),
            mean_cwnd=statistics.fmean(item.mean_cwnd for item in of_all),
            epochs=(round_trip(name),) * epochs,
        )

    flows = tuple(flow(number) for number in range(len(runs[0].flows)))
    return Measured(flows, statistics.fmean(run.mean_queue for run in runs))


def typical(name: str) -> Measured:
    """Means of ours over all seeds."""
    return _mean(our_runs(name), name)


def kernel_typical(name: str) -> Measured:
    """Means of the kernel's over all seeds."""
    return _mean(kernel_runs(name), name)
