"""Where in time two engines begin to differ, and what each did around that time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ackclock.results.result import Result
from ackclock.series import LINK

SHARE = 0.1
"""Two values differ if they are further apart than this share of the larger one, and than :data:`LEAST`."""

LEAST = {"cwnd": 2.0, "queue": 2.0}
"""Segments of the window, packets of the queue."""

_STEPS = 3
"""A difference counts if it lasts an RTT, and so many samples."""

_FALL = 0.05
"""A window that becomes smaller by this share from one sample to the next has fallen."""

_FEW = 3

Numbers = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Track:
    """A series of a run: what was recorded, and when, s."""

    times: Numbers
    values: Numbers

    def at(self, times: Numbers) -> Numbers:
        """The values that were in force then."""
        found = np.searchsorted(self.times, times, side="right") - 1
        kept: Numbers = self.values[np.maximum(found, 0)]
        return kept

    def opened(self) -> Track:
        """From the first value above 0: engines do not say the same of a connection before it is there."""
        first = int(np.argmax(self.values > 0))
        return Track(self.times[first:], self.values[first:])


@dataclass(frozen=True, slots=True)
class Divergence:
    """A series of two engines from where it differs.

    a, b: the values there, in segments or packets. `did_a` and `did_b` say what happened around it.
    """

    what: str
    metric: str
    time_s: float
    a: float
    b: float
    did_a: str
    did_b: str


def tracks(result: Result, run: int) -> dict[tuple[str, str], Track]:
    """What was recorded of a run, by metric and name of flow or link."""
    rows = result.series.filter(pl.col("run") == run).cast({"metric": pl.String})
    found = {}
    for (metric, name), part in rows.partition_by("metric", "id", as_dict=True, maintain_order=True).items():
        known = part.filter(pl.col("value").is_finite())
        if known.height:
            found[str(metric), str(name)] = Track(known["time_s"].to_numpy(), known["value"].to_numpy())
    return found


def between(a: tuple[Result, int], b: tuple[Result, int]) -> list[Divergence]:
    """Where windows and queues of two runs begin to differ, the first in front; what never does is not there."""
    ours, theirs = tracks(*a), tracks(*b)
    document = a[0].resolved(_point(*a))
    sizes = {flow["id"]: float(flow["mss"]) for flow in document["flows"]}
    rtts = dict(a[0].flows.filter(pl.col("run") == a[1]).select("id", "path_rtt_s").iter_rows())
    shortest = min((rtt for rtt in rtts.values() if rtt), default=0.0)
    found = []
    for key in ours:
        metric, name = key
        if metric not in LEAST or key not in theirs:
            continue
        unit = sizes.get(name, 1.0) if metric == "cwnd" else 1.0
        rtt = rtts.get(name) or shortest
        sides = (ours[key], theirs[key])
        if metric == "cwnd":
            sides = (sides[0].opened(), sides[1].opened())
        at = _first(*sides, LEAST[metric] * unit, rtt)
        if at is None:
            continue
        time, step = at
        flows = list(sizes) if metric in LINK else [name]
        around = (time - max(rtt, 2 * step), time + max(rtt, 2 * step))
        did = [_did(side, flows, sizes, around) for side in (ours, theirs)]
        x, y = (float(side[key].at(np.array([time]))[0]) / unit for side in (ours, theirs))
        found.append(Divergence(name, metric, time, x, y, did[0], did[1]))
    return sorted(found, key=lambda item: item.time_s)


def _point(result: Result, run: int) -> int:
    return next(at for at, entry in enumerate(result.manifest["points"]) if entry["point"] == _of(result, run))


def _of(result: Result, run: int) -> int:
    return int(result.runs.filter(pl.col("run") == run)["point"][0])


def _first(a: Track, b: Track, least: float, rtt: float) -> tuple[float, float] | None:
    """The time from which they differ for an RTT, and how far samples are apart, s."""
    begin, end = max(a.times[0], b.times[0]), min(a.times[-1], b.times[-1])
    step = max(_apart(a), _apart(b))
    if step <= 0 or end <= begin:
        return None
    times = np.arange(begin, end, step)
    x, y = a.at(times), b.at(times)
    apart = np.abs(x - y) > np.maximum(SHARE * np.maximum(np.abs(x), np.abs(y)), least)
    long = max(_STEPS, int(np.ceil(rtt / step)))
    if len(times) < long:
        return None
    lasting = np.convolve(apart, np.ones(long), mode="valid") >= long
    return (float(times[int(np.argmax(lasting))]), step) if lasting.any() else None


def _apart(track: Track) -> float:
    """How far samples are apart: what follows events is looked at a thousand times."""
    return float(track.times[-1] - track.times[0]) / max(1, min(len(track.times) - 1, 1000))


def _did(
    side: Mapping[tuple[str, str], Track], flows: Sequence[str], sizes: Mapping[str, float], around: tuple[float, float]
) -> str:
    """What flows did in a stretch of time, in words."""
    single = len(flows) == 1
    told = [
        ("" if single else f"flow {name} ") + ", ".join(happened)
        for name in flows
        if (happened := list(_happened(side, name, sizes[name], around)))
    ]
    more = f"; and {len(told) - _FEW} more flows" if len(told) > _FEW else ""
    return "; ".join(told[:_FEW]) + more if told else "did nothing"


def _happened(
    side: Mapping[tuple[str, str], Track], name: str, segment: float, around: tuple[float, float]
) -> Iterator[str]:
    for metric, unit, one, many in (
        ("timeouts", 1.0, "had a timeout", "had {} timeouts"),
        ("retransmitted", segment, "sent a segment again", "sent {} segments again"),
    ):
        if (metric, name) in side and (grown := _grown(side[metric, name], around)):
            count = max(1, round(grown[1] / unit))
            yield f"{one if count == 1 else many.format(count)} at {grown[0]:.3f} s"
    if ("cwnd", name) not in side:
        return
    if fell := _fell(side["cwnd", name], around):
        at, high, low = fell
        yield f"closed its window from {high / segment:.1f} to {low / segment:.1f} segments at {at:.3f} s"
    elif change := _grown(side["cwnd", name], around):
        yield f"opened its window by {change[1] / segment:.1f} segments from {change[0]:.3f} s"


def _within(track: Track, around: tuple[float, float]) -> tuple[Numbers, Numbers]:
    """The samples of a stretch, and the one before it."""
    low, high = np.searchsorted(track.times, around)
    low = max(0, int(low) - 1)
    return track.times[low : int(high)], track.values[low : int(high)]


def _grown(track: Track, around: tuple[float, float]) -> tuple[float, float] | None:
    """When a counter began to grow, and by how much it did."""
    times, values = _within(track, around)
    if len(values) < 2 or values[-1] <= values[0]:
        return None
    return float(times[int(np.argmax(values > values[0]))]), float(values[-1] - values[0])


def _fell(track: Track, around: tuple[float, float]) -> tuple[float, float, float] | None:
    """When the window fell most, from where and to where."""
    times, values = _within(track, around)
    if len(values) < 2:
        return None
    falls = values[:-1] - values[1:]
    at = int(np.argmax(falls))
    if falls[at] <= _FALL * values[at]:
        return None
    return float(times[at + 1]), float(values[at]), float(values[at + 1])
