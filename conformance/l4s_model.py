"""A second model of Prague beside classic flows over DualPI2: a fluid in steps of time, from the documents alone.

It shares no code with the simulator and has no packets and no endpoints, and nothing in it was fitted. Its sources:
RFC 9332 §A.2 (the controller, the coupling, the ramp, counting up to one, the time-shifted FIFO), the Prague draft
§2.4 (average of the marks, reduction, growth, virtual round trip, pacing), RFC 5681 and RFC 8312 (Reno; CUBIC, whose
Reno-friendly region Linux still has as there) and RFC 6937 (what is sent while a loss is repaired). Left out: bursts,
the waiting of a packet for the one in transmission, slow start and timeouts.

What the queue serves is acknowledged a base round trip later, with its marks, and a loss is noticed then too. Whose a
mark or a loss is, is drawn by what each flow has in the queue.
"""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass, field

TARGET, UPDATE, ALPHA, BETA, COUPLING = 0.015, 0.016, 0.16, 3.2, 2.0
"""RFC 9332 §A.1: target and Tupdate in s, gains in Hz, k."""
RAMP = (0.0008, 0.0012)
"""Delays between which marking by the low-latency queue's own delay goes from never to always, s (RFC 9332 §A.1)."""
SHIFT = 0.030
"""Head start of the low-latency queue in the time-shifted FIFO, s: what `dualpi2` has unless told otherwise."""
GAIN, VIRTUAL = 1 / 16, 0.025
"""Prague: weight of a round in the average of marks, and the round trip that shorter ones behave as, s."""


def update(base: float, delay: float, former: float) -> float:
    """The base probability p' after an update that finds `delay` where the one before found `former`, s."""
    return min(max(base + ALPHA * (delay - TARGET) + BETA * (delay - former), 0.0), 1.0)


@dataclass
class Span:
    """A round trip: until what was outstanding at first is acknowledged, and no shorter than the virtual one."""

    until: float = 0.0
    began: float = -1.0

    def over(self, now: float, heard: float) -> bool:
        """Whether it is, when so much has been acknowledged; the real round trip is in that."""
        return heard > self.until and now - self.began >= VIRTUAL

    def begin(self, now: float, sent: float) -> None:
        """Another one, when so much has been sent."""
        self.until, self.began = sent, now


@dataclass
class Prague:
    """Window, what is outstanding and what has been acknowledged, segments; the average of the shares of marks."""

    window: float
    average: float
    outstanding: float = 0.0
    heard: float = 0.0
    acked: float = 0.0
    marked: float = 0.0
    round: Span = field(default_factory=Span)
    reduced: Span = field(default_factory=Span)

    def hear(self, now: float, rtt: float, delivered: float, marks: int) -> None:
        """Acknowledgments of `delivered` segments, of which `marks` are marked."""
        self.outstanding -= delivered
        self.heard += delivered
        self.acked += delivered
        self.marked += marks
        if self.round.over(now, self.heard) and self.acked > 0:
            self.average += GAIN * (min(self.marked / self.acked, 1.0) - self.average)
            self.acked, self.marked = 0.0, 0.0
            self.round.begin(now, self.heard + self.outstanding)
        if marks and self.reduced.over(now, self.heard):
            self.reduced.begin(now, self.heard + self.outstanding)
            self.window *= 1 - self.average / 2
        self.window += max(delivered - marks, 0.0) * min(rtt / VIRTUAL, 1.0) ** 2 / self.window

    def sends(self, rtt: float, seconds: float) -> float:
        """Segments that leave in so much time: at the pace of the window, while it, rounded up, has room."""
        room = max(math.ceil(self.window) - self.outstanding, 0.0)
        amount = min(self.window / rtt * seconds, room)
        self.outstanding += amount
        return amount


@dataclass
class Reno:
    """Window and what is outstanding, segments; the present repair of losses and its beginning and end."""

    window: float
    outstanding: float = 0.0
    noticed: float = -1.0
    repaired: float = -1.0
    share: float = 1.0
    credit: float = 0.0
    keeps: float = 0.5

    def hear(self, now: float, rtt: float, delivered: float) -> None:
        """Acknowledgments of `delivered` segments."""
        self.outstanding -= delivered
        if now < self.repaired:
            self.credit += delivered * self.share
        else:
            self.grow(now, rtt, delivered)

    def grow(self, now: float, rtt: float, delivered: float) -> None:  # noqa: ARG002 - CUBIC asks for the time
        """RFC 5681 §3.1: a segment per window."""
        self.window += delivered / self.window

    def lose(self, now: float, rtt: float) -> None:
        """A loss is noticed; its repair takes a round trip."""
        self.noticed, self.repaired = now, now + rtt
        self.share, self.credit = self.keeps, 0.0
        self.window *= self.keeps

    def sends(self, now: float) -> float:
        """Segments that leave now: what the window has room for, during repair in proportion to deliveries."""
        room = max(self.window - self.outstanding, 0.0)
        if now < self.repaired:
            room, self.credit = max(room, self.credit), 0.0
        self.outstanding += room
        return room


@dataclass
class Cubic(Reno):
    """RFC 8312 §4, with C = 0.4 and windows that fall to 0.7."""

    keeps: float = 0.7
    peak: float = 0.0
    origin: float = 0.0
    began: float = 0.0
    friendly: float = 0.0

    def grow(self, now: float, rtt: float, delivered: float) -> None:
        """The cubic curve from `origin` over `peak`, a round trip ahead, or what Reno would have if that is more."""
        self.friendly += 3 * (1 - self.keeps) / (1 + self.keeps) * delivered / self.window
        rise = math.cbrt(max(self.peak - self.origin, 0.0) / 0.4)
        target = 0.4 * (now + rtt - self.began - rise) ** 3 + self.peak
        target = min(max(target, self.window), 1.5 * self.window)
        self.window = max(self.window + (target - self.window) * delivered / self.window, self.friendly)

    def lose(self, now: float, rtt: float) -> None:
        """The peak, lower if the one before was not reached (fast convergence), and a new epoch."""
        reached = self.window >= self.peak
        self.peak = self.window * (1.0 if reached else (1 + self.keeps) / 2)
        super().lose(now, rtt)
        self.origin = self.friendly = self.window
        self.began = self.repaired


@dataclass
class Lane:
    """A queue: what arrived in each step and how much of it is left, and how much of the backlog is whose."""

    step: float
    whose: list[float]
    waiting: deque[list[float]] = field(default_factory=deque)
    backlog: float = 0.0

    def put(self, now: float, amounts: list[float]) -> None:
        """Arrivals of the step that begins now, spread over it."""
        amount = sum(amounts)
        if amount > 0:
            self.waiting.append([now, amount, amount])
            self.backlog += amount
            self.whose = [had + more for had, more in zip(self.whose, amounts, strict=True)]

    def take(self, most: float) -> float:
        """Serves up to `most`."""
        if self.backlog <= most:
            amount, self.backlog = self.backlog, 0.0
            self.waiting.clear()
            return amount
        self.backlog -= most
        left = most
        while self.waiting and left > 0:
            head = self.waiting[0]
            if head[2] > left:
                head[2] -= left
                break
            left -= head[2]
            self.waiting.popleft()
        return most

    def split(self, amount: float) -> list[float]:
        """What was served is whose: in proportion to what waited."""
        total = sum(self.whose)
        if total <= 0:
            return [0.0] * len(self.whose)
        served = [amount * part / total for part in self.whose]
        self.whose = [max(part - less, 0.0) for part, less in zip(self.whose, served, strict=True)]
        return served

    def delay(self, now: float) -> float:
        """How long its head has waited at the beginning of a step, s."""
        if not self.waiting:
            return 0.0
        since, whole, left = self.waiting[0]
        return now - since - self.step * (1 - left / whole)


@dataclass
class Count:
    """A probability that acts by counting up to one (`recur` of RFC 9332)."""

    sum: float = 0.0

    def events(self, expected: float) -> int:
        """How often it acts on so many expected events."""
        self.sum += expected
        whole = int(self.sum)
        self.sum -= whole
        return whole


@dataclass(frozen=True)
class Shares:
    """What a link of `capacity` packets per second carried of each kind, packets per second for all flows of it."""

    prague: float
    classic: float
    capacity: float

    @property
    def ratio(self) -> float:
        """Rate of a Prague flow by that of a classic one."""
        return self.prague / self.classic

    @property
    def utilisation(self) -> float:
        """Share of the link that is used."""
        return (self.prague + self.classic) / self.capacity


def play(classic: str, rate: float, rtt: float, flows: int = 1, seed: int = 1) -> Shares:
    """Plays `flows` of each kind from their fair shares on, for some of the classic flow's sawteeth.

    Args:
        classic: ``reno`` or ``cubic``.
        rate: packets per second for each flow; the link has that for all of them.
        rtt: round-trip time without queues, s.
        flows: of each kind.
        seed: of the draws of whose packet is lost or marked; for one flow of each kind there is nothing to draw.
    """
    tooth = rate * (rtt + TARGET) ** 2 / 2
    measured_from, end = 4 + tooth, 12 + 4 * tooth
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    step = UPDATE / round(UPDATE / max(rtt / 50, 0.0005))
    every = round(UPDATE / step)
    link = 2 * rate * flows
    kind = {"reno": Reno, "cubic": Cubic}[classic]
    low = [Prague(rate * rtt, min(2 / (rate * rtt), 1.0)) for _ in range(flows)]
    old = [kind(rate * (rtt + TARGET)) for _ in range(flows)]
    quick, slow = Lane(step, [0.0] * flows), Lane(step, [0.0] * flows)
    marking, dropping = Count(), Count()
    nothing = [0.0] * flows
    under_way = deque([(nothing, [0] * flows, nothing, [False] * flows)] * round(rtt / step))
    base = former = got_low = got_old = 0.0
    for n in range(round(end / step)):
        now = n * step
        wait, late = quick.backlog / link, slow.delay(now)
        if n % every == 0:
            delay = max(wait, late)
            base, former = update(base, delay, former), delay
        heard_low, marks, heard_old, losses = under_way.popleft()
        for prague, delivered, marked in zip(low, heard_low, marks, strict=True):
            prague.hear(now, rtt + wait, delivered, marked)
        for flow, delivered, lost in zip(old, heard_old, losses, strict=True):
            flow.hear(now, rtt + late, delivered)
            if lost:
                flow.lose(now, rtt + late)
        quick.put(now, [prague.sends(rtt + wait, step) for prague in low])
        slow.put(now, [flow.sends(now) for flow in old])
        if wait + SHIFT >= late:
            served_low = quick.take(link * step)
            served_old = slow.take(link * step - served_low)
        else:
            served_old = slow.take(link * step)
            served_low = quick.take(link * step - served_old)
        parts_low, parts_old = quick.split(served_low), slow.split(served_old)
        ramp = min(max((wait - RAMP[0]) / (RAMP[1] - RAMP[0]), 0.0), 1.0)
        marks, losses = [0] * flows, [False] * flows
        for _ in range(marking.events(served_low * max(ramp, min(COUPLING * base, 1.0)))):
            marks[rng.choices(range(flows), parts_low)[0]] += 1
        for _ in range(dropping.events(served_old * base**2)):
            (i,) = rng.choices(range(flows), parts_old)
            # What was sent before a loss was noticed, or is yet to be, belongs to the same repair.
            known = now - late - rtt / 2 < old[i].noticed or any(entry[3][i] for entry in under_way)
            losses[i] = losses[i] or not known
        under_way.append((parts_low, marks, parts_old, losses))
        if now >= measured_from:
            got_low += served_low
            got_old += served_old
    return Shares(got_low / (end - measured_from), got_old / (end - measured_from), link)
