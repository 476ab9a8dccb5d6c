"""The rate of a link, from the spacing of arrivals in a capture, with an interval and the conditions that weaken it."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.results.result import Result

TRAIN, SHORT_TRAIN = 32, 4
"""Segments in a train: half of the largest window, between these limits."""
WIDTH = 1.1
"""Trains whose rates are within this factor form a cluster."""
MARGIN = 0.02
"""The interval is wider than the cluster by this share on either side: headers of the line are not in a capture."""
LEAST_TRAINS = 10
"""A cluster with fewer trains is not certain."""
LEAST_SHARE, MOST_FASTER = 0.3, 0.1
"""A cluster with a smaller share of the trains, or with more faster trains beside it, is not certain."""
SUSTAINED = 4
"""Round trips over which the sustained rate is taken."""
FAST = 0.9
"""Quantile of the rates of trains that stands for the link where it is not certain: a lower bound."""
FACTOR = 1.5
"""A full link cannot be faster than the sustained rate of what it delivered, times this."""
STANDING = 1.25
"""Where round trips grow to this many times the least, a queue stands, so the link is full."""
MOSTLY = 1.1
"""Where the mean round trip is so many times the least, the queue stood most of the time, not in bursts alone."""
_LEAST_RTT = 0.01
_HEADERS = 52
_APART = 10.0
"""Seconds between the starts of a connection at both interfaces, at most: ports are used again later."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Rate of the link, bit/s on the line.

    `low` and `high` are its interval, `trains` and `share` the size of the cluster, `place` where arrivals were seen.
    `doubts` are the reasons why the rate is not certain. `sustained` is the largest rate of delivered data over
    several round trips, bit/s on the line.
    """

    value: float
    low: float
    high: float
    trains: int
    share: float
    place: str
    doubts: tuple[str, ...]
    sustained: float

    @property
    def certain(self) -> bool:
        """Whether nothing weakens it."""
        return not self.doubts

    def to_json(self) -> dict[str, Any]:
        """The field ``link`` of ``ackclock advise split --json``."""
        return {
            "rate_bps": self.value,
            "low_bps": self.low,
            "high_bps": self.high if self.high < math.inf else None,
            "trains": self.trains,
            "share": self.share,
            "seen_at": self.place,
            "certain": self.certain,
            "doubts": list(self.doubts),
            "sustained_bps": self.sustained,
        }


def estimate(result: Result, row: Mapping[str, Any]) -> Rate:
    """Estimate the rate of the link of a connection; `result` needs its series and events.

    The receiver's interface is used if the file has it: arrivals there have the link's spacing. Elsewhere it is the
    spacing of acknowledgments outside of recoveries.
    """
    rows = _receiving(result, row)
    mss = float(row["mss"] or 1448)
    line = (mss + _HEADERS) / mss
    if rows:
        place, samples, holes = "receiver", _together(result, rows, "sent"), []
    else:
        place = str(row["vantage"] or "unknown")
        rows = _beside(result, row)
        samples = _together(result, rows, "delivered")
        holes = _holes(result, rows)
    half = float(row["max_in_flight_bytes"] or 0) / mss / 2
    rtt = max(float(row["p95_rtt_s"] or row["handshake_rtt_s"] or 0.0) + float(row["up_rtt_s"] or 0.0), _LEAST_RTT)
    trains = _trains(samples, holes, rtt, mss * min(TRAIN, max(SHORT_TRAIN, half)))
    sustained = line * _sustained(samples, holes, SUSTAINED * rtt, rtt)
    if not trains:
        least = max(float(row["goodput_bps"] or 0.0) * line, 1e4)
        return Rate(least, least, math.inf, 0, 0.0, place, ("too little data for a train of segments",), sustained)
    first, last = _cluster(trains)
    own = trains[first:last]
    faster, share = (len(trains) - last) / len(trains), len(own) / len(trains)
    doubts = []
    if len(own) < LEAST_TRAINS:
        doubts.append(f"only {len(own)} trains of segments have this rate")
    if share < LEAST_SHARE:
        doubts.append(f"only {100 * share:.0f} % of the trains have this rate")
    if faster > MOST_FASTER:
        doubts.append(f"{100 * faster:.0f} % of the trains are faster")
    if row["limited_by"] in ("rwnd", "app"):
        who = "the receiver's window" if row["limited_by"] == "rwnd" else "the sender's application"
        doubts.append(f"{who} was the limit, so the link may be faster")
    if place != "receiver" and not _grown(row):
        doubts.append("no queue stood, so acknowledgments may have the spacing of the sender's pacing")
    if line * own[-1] * (1 + MARGIN) < sustained:
        doubts.append(f"the link delivered more over {SUSTAINED} round trips: {sustained / 1e6:.3g} Mbit/s")
    value, low, high = (line * own[round(at * (len(own) - 1))] for at in (0.5, 0.05, 0.95))
    if doubts:
        fast = line * trains[min(len(trains) - 1, math.floor(FAST * len(trains)))]
        stood = place != "receiver" and _grown(row)  # then faster acknowledgments are late ones that came together
        value = max(value if stood else fast, sustained)
        low, high = min(value, max(low, sustained)), math.inf
    return Rate(value, low * (1 - MARGIN), high * (1 + MARGIN), len(own), share, place, tuple(doubts), sustained)


def contradiction(rate: float, found: Rate, row: Mapping[str, Any]) -> str | None:
    """Why a rate of the link, bit/s, cannot be true of what the same file delivered; None if it can."""
    delivered = f"{found.sustained / 1e6:.3g} Mbit/s over {SUSTAINED} round trips"
    if rate * (1 + 2 * MARGIN) < found.sustained:
        return f"a link of {rate / 1e6:.3g} Mbit/s cannot have delivered {delivered}, as the same file shows"
    mostly = bool(row["mean_rtt_s"] and row["min_rtt_s"] and row["mean_rtt_s"] >= MOSTLY * row["min_rtt_s"])
    if row["limited_by"] == "network" and _grown(row) and mostly and rate > FACTOR * found.sustained:
        return (f"a link of {rate / 1e6:.3g} Mbit/s contradicts the same file: a queue stood, and it delivered at "
                f"most {delivered}")  # fmt: skip
    return None


def _grown(row: Mapping[str, Any]) -> bool:
    least = row["min_rtt_s"]
    if row["vantage"] == "receiver":  # its round trips are the other way
        return False
    return bool(least and row["p95_rtt_s"] and row["p95_rtt_s"] >= STANDING * least)


def _receiving(result: Result, row: Mapping[str, Any]) -> list[str]:
    """The connections that a receiver's interface saw to the same host, if the file has this one there, too."""
    frame = result.flows.filter((pl.col("vantage") == "receiver") & (pl.col("goodput_bytes") > 0))
    near = pl.col("start_s").is_between(row["start_s"] - _APART, row["start_s"] + _APART)
    if frame.filter(_same(frame, row, "run", "src", "sport", "dst", "dport") & near).is_empty():
        return []
    return frame.filter(_same(frame, row, "run", "dst"))["id"].to_list()


def _beside(result: Result, row: Mapping[str, Any]) -> list[str]:
    """The connections between the same hosts, seen from the same place."""
    frame = result.flows.filter(pl.col("goodput_bytes") > 0)
    own = frame.filter(_same(frame, row, "run", "src", "dst", "vantage"))["id"].to_list()
    return own or [row["id"]]


def _same(frame: pl.DataFrame, row: Mapping[str, Any], *names: str) -> pl.Expr:
    return pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name], frame.schema[name])) for name in names)


def _together(result: Result, ids: Sequence[str], metric: str) -> list[tuple[float, float]]:
    """Times and bytes so far of several connections as if they were one: they share the link."""
    own = result.series.filter(pl.col("id").is_in(ids) & (pl.col("metric") == metric))
    steps = own.sort("time_s", maintain_order=True).with_columns(
        pl.col("value").diff().over("id").fill_null(pl.col("value")).alias("step")
    )
    return steps.select("time_s", pl.col("step").cum_sum()).rows()


def _holes(result: Result, ids: Sequence[str]) -> list[float]:
    """Times at which acknowledgments had a hole below what arrived: those after one cover data that came earlier."""
    marks = ("sack", "dup_ack", "retransmission")
    own = result.events.filter(pl.col("id").is_in(ids) & pl.col("kind").cast(pl.String).is_in(marks))
    times: list[float] = own["time_s"].sort().to_list()
    return times


def _trains(samples: Iterable[tuple[float, float]], holes: Sequence[float], rtt: float, size: float) -> list[float]:
    """Rates of trains of `size` bytes, sorted, bit/s of payload; none has a hole in it or in the round trip before."""
    rates = []
    begin: tuple[float, float] | None = None
    for time, value in samples:
        if begin is None or bisect.bisect_left(holes, begin[0] - rtt) != bisect.bisect_right(holes, time):
            begin = (time, value)
        elif value - begin[1] >= size:
            if time > begin[0]:
                rates.append(8 * (value - begin[1]) / (time - begin[0]))
            begin = (time, value)
    return sorted(rates)


def _cluster(rates: Sequence[float]) -> tuple[int, int]:
    """Where most of the sorted rates are within a factor of WIDTH: first and behind the last. Of equals the fastest."""
    best, first = (0, 0), 0
    for last, rate in enumerate(rates, 1):
        while rates[first] * WIDTH < rate:
            first += 1
        if last - first >= best[1] - best[0]:
            best = (first, last)
    return best


def _sustained(samples: Sequence[tuple[float, float]], holes: Sequence[float], span: float, rtt: float) -> float:
    """The largest rate over at least `span` seconds, bit/s of payload; of all if they are shorter.

    No span begins within a round trip behind a hole: the acknowledgment that closes it covers data that came before.
    """
    best, first = 0.0, 0
    for time, value in samples:
        while first + 1 < len(samples) and samples[first + 1][0] <= time - span:
            first += 1
        begin = samples[first][0]
        if time - begin >= span and bisect.bisect_left(holes, begin - rtt) == bisect.bisect_right(holes, begin):
            best = max(best, 8 * (value - samples[first][1]) / (time - begin))
    if not best and len(samples) > 1 and samples[-1][0] > samples[0][0]:
        return 8 * (samples[-1][1] - samples[0][1]) / (samples[-1][0] - samples[0][0])
    return best
