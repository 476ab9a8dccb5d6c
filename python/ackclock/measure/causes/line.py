"""What is seen of a line in all of its tests: what it carries, whether that changes, is policed or is shared out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ackclock.measure.causes.courses import Course, Line
from ackclock.measure.causes.shares import RISEN, STANDING, Episode, episodes
from ackclock.stats.hypotheses.variance import one_way

BURST = 0.2
"""The share of a window that is lost at once where a policer's tokens run out (Flach et al., An Internet-wide analysis
of traffic policing, SIGCOMM 2016)."""

EQUAL = 0.05
"""Rates of a policed line differ by no more than this share."""

SHORTEST_RTTS = 4
"""Round trips over which a rate counts as one of the long term."""

SAME = 0.1
"""Rates per connection that differ by no more than this share are the same."""

CHANGED = 0.2
"""A line changes whose rates, while a queue stands, have 10th and 90th percentiles this share of the median apart."""

BLOCKS = 0.2
"""The same for the means of blocks, largest to smallest; and how sure that has to be:"""

SURE = 0.01

_WINDOW_S = 0.5
_FEWEST = 6
"""Stretches with a queue from which on their spread says something."""


@dataclass(frozen=True, slots=True)
class Policed:
    """A policer: its rate, bit/s, if connections have come to it, and the tests that show it.

    burst: the largest share of a window that was lost at once.
    """

    rate: float | None
    burst: float
    tests: int


@dataclass(frozen=True, slots=True)
class Changed:
    """How far rates of the line are apart, as a share of their median: within tests, or between blocks."""

    spread: float
    between_blocks: bool
    tests: int


@dataclass(frozen=True, slots=True)
class Shared:
    """What each connection gets, bit/s, and the largest number of connections that still get it."""

    rate: float
    up_to: int


def by_count(line: Line) -> dict[int, list[Course]]:
    """Tests by the number of their connections, from the smallest on."""
    found: dict[int, list[Course]] = {}
    for test in sorted(line.tests, key=lambda test: test.count):
        found.setdefault(test.count, []).append(test)
    return found


def capacity(line: Line) -> float | None:
    """What the line carries: the best mean of tests with as many connections, of their second halves.

    None where all have as many: then nobody knows whether more would get more.
    """
    counts = by_count(line)
    if len(counts) == 1:
        return None
    return max(statistics.fmean(test.settled for test in tests) for tests in counts.values())


def paced(tests: Sequence[Course]) -> float | None:
    """The rate that each connection was told not to exceed, bit/s, where all of them come to it; None: they do not."""
    rates = {test.paced for test in tests}
    rate = rates.pop()
    if rates or not rate or any(max(test.settled, test.late) < _REACHED * rate * test.count for test in tests):
        return None
    return rate


_REACHED = 0.9
"""Of a pacing rate: headers count in it, and are up to a twentieth of what goes out."""


def random_losses(line: Line, tests: Sequence[Course]) -> tuple[int, int] | None:
    """Of the losses in these tests, how many came without a queue, and how many there were; None: nobody knows.

    A queue that overflows is as long as it gets on this line.
    """
    most = max((step.inflation or 0.0 for test in line.tests for way in test.connections for step in way), default=0.0)
    found = [episode for test in tests for way in test.connections for episode in episodes(way)]
    if any(test.coarse for test in tests) or any(episode.inflation is None for episode in found):
        return None
    full = max(STANDING, 1 + _OVERFLOWS * (most - 1))
    return sum((episode.inflation or 0.0) < full for episode in found), len(found)


_OVERFLOWS = 0.6


def policed(line: Line) -> Policed | None:
    """Whether what is above a rate is dropped: most tests lose a burst without a queue.

    And there is a rate that some keep later and none exceeds; where none has come to rest, all have lost a burst.
    """
    if any(test.coarse for test in line.tests):
        return None
    bursts = [(first, test) for test in line.tests if (first := _burst(test)) is not None]
    if 2 * len(bursts) <= len(line.tests):
        return None
    rates = [parts for first, test in bursts if (parts := _parts(test, first.end + 1)) is not None]
    most = max((max(parts) for parts in rates), default=0.0)
    settled = any(min(parts) >= (1 - EQUAL) * most for parts in rates)
    if not settled and len(bursts) < max(2, len(line.tests)):
        return None
    burst = min(1.0, max(first.share or 0.0 for first, _ in bursts))
    return Policed(most if settled else None, burst, len(bursts))


def _burst(test: Course) -> Episode | None:
    """The first loss of a large part of a window, where losses come without a queue."""
    found = [episode for way in test.connections for episode in episodes(way)]
    known = [episode.inflation for episode in found if episode.inflation is not None]
    if not known or len(known) < len(found) or statistics.median(known) >= STANDING:
        return None
    large = [
        episode
        for episode in found
        if (episode.share or 0.0) >= BURST and episode.inflation is not None and episode.inflation < STANDING
    ]
    return min(large, key=lambda episode: episode.begin, default=None)


def _parts(test: Course, begin: int) -> tuple[float, float] | None:
    """The rates of the two last quarters of a test, if each is long enough and comes after its burst."""
    rates = test.rates
    late = rates[max(begin, len(rates) // 2) :]
    middle = len(late) // 2
    if not middle or middle * test.connections[0][0].seconds < SHORTEST_RTTS * (test.base_rtt or 0.0):
        return None
    return statistics.fmean(late[:middle]), statistics.fmean(late[middle:])


def changed(line: Line) -> Changed | None:
    """Whether the rate of the line is another one at other times: while a queue stands it is what passes."""
    found = [list(_full(test)) for test in line.tests]
    # Each in its test's median: where connections have queues of their own, more of them pass more.
    rates = [
        rate / middle for of_test in found if of_test and (middle := statistics.median(of_test)) for rate in of_test
    ]
    if len(rates) >= _FEWEST:
        tenths = statistics.quantiles(rates, n=10, method="inclusive")
        spread = tenths[-1] - tenths[0]
        if spread >= CHANGED:
            return Changed(spread, between_blocks=False, tests=sum(map(bool, found)))
    return _blocks(line)


def _full(test: Course) -> Iterator[float]:
    """What passes in stretches in which a queue stands all the time, after the rate has risen.

    Around losses nothing is counted where rates are of what arrives in order: what waits for them comes all at once.
    """
    length = test.connections[0][0].seconds
    width = max(1, math.ceil(max(_WINDOW_S, SHORTEST_RTTS * (test.base_rtt or 0.0)) / length))
    rates = test.rates
    begin = next((at for at, rate in enumerate(rates) if rate >= RISEN * test.settled), len(rates))
    stands = [
        all(step.inflation is not None and step.inflation >= STANDING for step in steps)
        for steps in zip(*test.connections, strict=True)
    ]
    for way in test.connections if test.in_order else ():
        for episode in episodes(way):
            for at in range(max(0, episode.begin - _AROUND), min(len(stands), episode.end + _AROUND + 1)):
                stands[at] = False
    at = begin
    while at + width <= len(rates):
        if all(stands[at : at + width]):
            yield statistics.fmean(rates[at : at + width])
            at += width
        else:
            at += 1


_AROUND = 2


def _blocks(line: Line) -> Changed | None:
    """Whether blocks differ by more than their tests do, for their numbers of connections."""
    counts = by_count(line)
    blocks: dict[int, list[float]] = {}
    for tests in counts.values():
        mean = statistics.fmean(test.mean for test in tests)
        for test in tests:
            if test.block is not None and mean:
                blocks.setdefault(test.block, []).append(test.mean / mean)
    groups = [rates for rates in blocks.values() if len(rates) > 1]
    if len(groups) < 3:
        return None
    means = [statistics.fmean(rates) for rates in groups]
    spread = max(means) - min(means)
    if spread < BLOCKS or one_way(groups).p >= SURE:
        return None
    return Changed(spread, between_blocks=True, tests=sum(map(len, groups)))


def shared(line: Line) -> Shared | None:
    """Whether each connection gets the same, however many there are, until the line is full."""
    rate: float | None = None
    up_to = 0
    for number, (count, tests) in enumerate(by_count(line).items()):
        each = statistics.fmean(test.settled for test in tests) / count
        if rate is None:
            rate = each
        if not math.isclose(each, rate, rel_tol=SAME) or not all(map(_alike, tests)):
            break
        up_to = count if number else 0
    return Shared(rate, up_to) if rate and up_to else None


def _alike(test: Course) -> bool:
    """Whether its connections get about the same."""
    late = [[step.rate for step in steps[len(steps) // 2 :]] for steps in test.connections]
    rates = [statistics.fmean(rates) for rates in late]
    return max(rates) - min(rates) <= 2 * SAME * statistics.fmean(rates)


def busy_host(tests: Sequence[Course]) -> float | None:
    """Of the tests' median: the share of a processor's time that the busier end took."""
    known = [test.cpu for test in tests if test.cpu is not None]
    return statistics.median(known) if known else None
