"""The verdict on a line: the mechanism that keeps few connections from having all of it, with its evidence."""

from __future__ import annotations

import os
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ackclock.errors import InputError
from ackclock.measure import amounts
from ackclock.measure.causes import courses, shares
from ackclock.measure.causes import line as lines
from ackclock.measure.causes.courses import Course, Line
from ackclock.measure.causes.shares import FILLED, Spent, State
from ackclock.results.live import LIVE
from ackclock.results.result import Result

Mechanism = Literal[
    "receive window", "send buffer", "application", "random loss", "congestion loss", "slow-start ramp", "policer",
    "per-flow fair share", "changing capacity", "host CPU", "none", "cannot be told",
]  # fmt: skip

CPU = 0.9
"""The share of a processor above which it is what limits."""

_ENDS: tuple[State, ...] = ("receive window", "send buffer", "application")
_MOST = 0.5
"""The share of a time that has to be a mechanism's where nothing else says that the line has room."""

_SIGNS: Mapping[str, str] = {
    "receive window": "the receiver's window held the sender back (rwnd_limited, snd_wnd)",
    "send buffer": "the sender's buffer was too small for what was under way (sndbuf_limited)",
    "application": "the sender had nothing to send (busy_time, delivery_rate_app_limited)",
    "slow-start ramp": "nothing was lost, no queue stood, and the window was still growing",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One mechanism: the share of the time of the tests that are judged, and of the line that was free meanwhile."""

    mechanism: str
    time: float
    free: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What limits the tests with the fewest connections of a line.

    params: which line. connections: in each test that is judged; tests: how many those are. share: of what the line
    carries, `capacity_bps`; None where nobody knows that. missing: what is not in the tables, and what it would tell.
    caution: why the verdict has little to go by, if it has.
    """

    params: Mapping[str, Any]
    mechanism: Mechanism
    evidence: str
    connections: int
    tests: int
    share: float | None
    capacity_bps: float | None
    candidates: tuple[Candidate, ...]
    missing: Mapping[str, str]
    caution: str | None = None

    def row(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def explain(result: Result | str | os.PathLike[str]) -> list[Verdict]:
    """Why few connections do not get all of a line: a verdict for each line of a result.

    A line is what is common to all swept keys but the number of connections. Raises :class:`InputError` where nothing
    is known of how tests went.
    """
    found = result if isinstance(result, Result) else Result.load(result)
    known = courses.lines(found)
    if not known:
        problem = "the series 'delivered' of its flows is not there, and nothing tells how tests went"
        remedy = 'record it: [probes] interval = "100 ms"'
        if found.manifest["engine"]["name"] == LIVE:
            remedy = "the end that receives records it: of iperf3, import its file, or have both: iperf3 -s -J"
            remedy += " and --get-server-output"
        raise InputError(problem, remedy, source=None if found is result else str(result))
    return [judge(line) for line in known]


def judge(line: Line) -> Verdict:
    """The same for one line."""
    capacity = lines.capacity(line)
    few = next(iter(lines.by_count(line).values()))
    spent = _together([shares.spent(test, capacity) for test in few])
    share = None if capacity is None else min(1.0, statistics.fmean(test.mean for test in few) / capacity)
    mechanism, evidence = _found(line, few, spent, share)
    missing = _missing(line, few)
    if mechanism == "cannot be told":
        evidence = _unknown(missing)
    return Verdict(
        params=line.params,
        mechanism=mechanism,
        evidence=evidence,
        connections=few[0].count,
        tests=len(few),
        share=share,
        capacity_bps=capacity,
        candidates=tuple(
            Candidate(name, round(spent.time[name], 4), round(spent.free[name], 4))
            for name in sorted(spent.time, key=lambda name: -spent.time[name])
            if spent.time[name] >= _SMALL
        ),
        missing=missing,
        caution=_caution(line, few, mechanism),
    )


_SMALL = 0.005


def _together(found: Sequence[Spent]) -> Spent:
    """The mean of tests."""
    time, free = defaultdict[State, float](float), defaultdict[State, float](float)
    for spent in found:
        for whole, part in ((time, spent.time), (free, spent.free)):
            for name, share in part.items():
                whole[name] += share / len(found)
    return Spent(time, free)


def _found(line: Line, few: Sequence[Course], spent: Spent, share: float | None) -> tuple[Mechanism, str]:
    """The mechanism, and what speaks for it: what is seen of the whole line first."""
    cpu = lines.busy_host(few)
    if cpu is not None and cpu >= CPU:
        return "host CPU", f"the busier end took {cpu:.0%} of a processor"
    # A line that is full is so whatever its senders were told.
    if (share is None or share < FILLED) and (paced := lines.paced(few)) is not None:
        told = amounts.rate(paced)
        return "application", f"each connection sends the {told} that it was told not to exceed (pacing)"
    if (policed := lines.policed(line)) is not None:
        rate = policed.rate
        after = (
            "rates had not come to rest"
            if rate is None
            else f"later nothing passes {amounts.rate(rate)}, to {lines.EQUAL:.0%}"
        )
        lost = f"{policed.burst:.0%} of a window were lost at once without a queue"
        return "policer", f"in {policed.tests} of {len(line.tests)} tests {lost}; {after}"
    if (changed := lines.changed(line)) is not None:
        what = "means of blocks" if changed.between_blocks else "rates while a queue stood"
        return "changing capacity", f"{what} are {changed.spread:.0%} apart, in {changed.tests} tests"
    if share is None or share >= FILLED:
        return _full(line, few, share)
    return _limited(line, few, spent, share)


def _full(line: Line, few: Sequence[Course], share: float | None) -> tuple[Mechanism, str]:
    """Where the fewest connections have what there is, or nobody knows whether there is more."""
    spent = _together([shares.spent(test, None) for test in few])
    for name in _ENDS:
        if spent.time.get(name, 0.0) >= _MOST:
            return _end(name, spent)
    if share is not None:
        return "none", f"{_connections(few)} {_have(few)} {share:.0%} of all that is ever had: the line is full"
    queued = spent.time.get("queued", 0.0)
    if queued >= _MOST:
        return (
            "none",
            f"a queue stood for {queued:.0%} of the time: the line is full, as far as {_connections(few)} can tell",
        )
    return _limited(line, few, spent, None)


def _limited(line: Line, few: Sequence[Course], spent: Spent, share: float | None) -> tuple[Mechanism, str]:
    """Where the line has room: what most of it was left free by."""
    own: dict[State, float] = {name: free for name, free in spent.free.items() if name != "filled"}
    if not own:
        return "cannot be told", ""
    name = max(own, key=lambda name: own[name])
    queues = name in ("queued", "unexplained") or (name == "loss" and _queues(line, few))
    if queues and (common := lines.shared(line)) is not None:
        return "per-flow fair share", (
            f"each connection gets {amounts.rate(common.rate)}, whether there are {few[0].count} or {common.up_to}"
        )
    if name == "slow-start ramp" and not _seen(few):
        return "cannot be told", ""
    if name in _ENDS or name == "slow-start ramp":
        return _end(name, spent)
    if name == "loss":
        return _lost(line, few, spent)
    if name == "queued" and share is not None:
        return "changing capacity", (
            f"for {spent.time[name]:.0%} of the time a queue stood, and less passed than passes at other times"
        )
    return "cannot be told", ""


def _seen(few: Sequence[Course]) -> bool:
    """Whether losses, queues and windows are known, without all of which a ramp is only a rate that was lower."""
    steps = [step for test in few for way in test.connections for step in way]
    return all(any(getattr(step, name) is not None for step in steps) for name in ("lost", "inflation", "window"))


def _end(name: State, spent: Spent) -> tuple[Mechanism, str]:
    where = f"for {spent.time[name]:.0%} of the time"
    return name, f"{where} {_SIGNS[name]}"  # type: ignore[return-value]


def _queues(line: Line, few: Sequence[Course]) -> bool:
    """Whether losses come with a full queue."""
    found = lines.random_losses(line, few)
    return found is not None and 2 * found[0] < found[1]


def _lost(line: Line, few: Sequence[Course], spent: Spent) -> tuple[Mechanism, str]:
    """Losses, by whether they came with a queue."""
    found = lines.random_losses(line, few)
    if found is None:
        return "cannot be told", ""
    alone, of = found
    time = f"for {spent.time['loss']:.0%} of the time the window was what losses had left"
    if 2 * alone >= of:
        return "random loss", f"{time}, {alone} of {of} of which came without a full queue"
    return "congestion loss", f"{time}, {of - alone} of {of} of which came with a queue"


_SHORT_S, _SHORT_RTTS = 2.0, 20
"""A test has at least so many seconds, and round trips, for its parts to tell more than its beginning does."""
_FEW_LOSSES, _FEW_STEPS = 5, 10


def _caution(line: Line, few: Sequence[Course], mechanism: Mechanism) -> str | None:
    """Why a verdict may be another one when there is more to go by."""
    test = max(few, key=lambda test: test.duration)
    needed = max(_SHORT_S, _SHORT_RTTS * (test.base_rtt or 0.0))
    found = []
    if test.duration < needed:
        found.append(f"tests of {amounts.duration(test.duration * 1e9)} are short, measure {needed:.3g} s or more")
    elif (steps := len(test.connections[0])) < _FEW_STEPS:
        found.append(f"{steps} samples of a test are few, sample more often")
    if mechanism in ("random loss", "congestion loss"):
        losses = lines.random_losses(line, few)
        if losses is not None and losses[1] < _FEW_LOSSES:
            what = "one loss is" if losses[1] == 1 else f"{losses[1]} losses are"
            found.append(f"{what} few, measure longer or more often")
    return "; ".join(found) or None


def _missing(line: Line, few: Sequence[Course]) -> dict[str, str]:
    """What is not in the tables, and which mechanisms cannot be seen without."""
    steps = [step for test in few for way in test.connections for step in way]
    found = {name: tells for name, field, tells in _TELLS if all(getattr(step, field) is None for step in steps)}
    if any(test.coarse for test in few) and not {"retransmitted", "srtt"} & found.keys():
        found[f"a sample every {amounts.duration(courses.COARSE_S * 1e9)}"] = "random loss, congestion loss, policer"
    if len(lines.by_count(line)) == 1:
        found["tests with other numbers of connections"] = "per-flow fair share, and what the line carries"
    if all(test.cpu is None for test in few):
        found["client_cpu_s"] = "host CPU"
    return found


_TELLS = (
    ("rwnd_limited", "receive", "receive window"),
    ("sndbuf_limited", "buffer", "send buffer"),
    ("busy_time", "idle", "application"),
    ("retransmitted", "lost", "random loss, congestion loss, policer"),
    ("srtt", "inflation", "random loss, congestion loss, policer, changing capacity"),
    ("cwnd", "window", "policer, slow-start ramp"),
)


def _unknown(missing: Mapping[str, str]) -> str:
    if not missing:
        return "none of the mechanisms explains most of what was left free"
    return "what would tell is not in the tables: " + ", ".join(missing)


def _connections(few: Sequence[Course]) -> str:
    return "one connection" if few[0].count == 1 else f"{few[0].count} connections"


def _have(few: Sequence[Course]) -> str:
    return "has" if few[0].count == 1 else "have"
