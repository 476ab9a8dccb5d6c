"""A capture as a path: what it tells of the connection with most data, and what it cannot tell."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import polars as pl

from ackclock.advice.path import Path, Piece, Proxy
from ackclock.errors import InputError
from ackclock.pcaps.analyse import pcap
from ackclock.results.captured import carrying
from ackclock.results.result import Result

HERE = "where the capture was taken"
_STANDING = 1.25
"""Where round trips grow to so many times the least, a queue stands."""
_NEAR = (1.1, 1.6)
"""Growths between these tell little: a short queue overflows with less, and one may stand where a medium loses."""
_STRETCH, _LEAST = 32, 4
"""Segments over which rates are taken, half a window at most: they leave one behind the other at the link's rate."""
_SHORT = 150_000
"""Bytes: what a sender with an initial window of 10 segments has sent after three round trips, in slow start still."""
_HIGH = 0.9
"""Of the rates of stretches this quantile: in some the window was the limit."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A path, the place where the capture was taken if that is between its ends, and what is not known.

    `otherwise` is what the path would be as well, where the capture does not tell whose losses are.
    """

    path: Path
    place: str | None
    notes: tuple[str, ...]
    otherwise: Path | None


def path(
    file: str | os.PathLike[str], *, rate: float | None, window: int | None, proxy: Proxy, queue: float
) -> Observed:
    """What it tells of a path.

    `rate`, bit/s of the line, and `window` are in place of those that are seen. Raises :class:`InputError`.
    """
    result = pcap(os.fspath(file), series=True)
    rows = carrying(result.flows.lazy()).sort("goodput_bytes", descending=True).collect()
    if rows.is_empty():
        raise InputError("no connection in it carries data", "give a capture of a download", source=str(file))
    row = rows.row(0, named=True)
    beyond, before = row["min_rtt_s"] or row["handshake_rtt_s"], row["up_rtt_s"]
    if beyond is None:
        raise InputError("it tells of no round trip", "capture both directions from the SYN on", source=str(file))
    notes = [f"connection {row['id']} of {file}, {row['goodput_bytes'] / 1e6:.3g} MB, is the one with most data"]
    notes += result.warnings
    loss, other = _loss(row, notes)
    seen = _rate(result, row)
    if rate is None:
        rate = seen
        short = row["goodput_bytes"] < _SHORT
        what = "at least this much" if short or row["limited_by"] == "rwnd" else "about this much"
        if short:
            notes.append("so little data is under way in slow start alone, which tells little of the link: give --rate")
        notes.append(f"the link carries {what}, by how segments followed each other: {seen / 1e6:.3g} Mbit/s; "
                     "--rate gives another")  # fmt: skip
    if window is None:
        window = int(row["max_rwnd_bytes"] or 0) or 6_000_000
        notes.append(f"the client offered up to {window / 1e3:.4g} kB; the server's own buffer may be less")
    initial = int(row["initial_window_segments"] or 10)
    place: str | None = None
    if row["vantage"] == "middle" and before:
        notes.append("on which side of the capture the link and the losses are is taken to be the client's")
        parts, rtt = tuple(Piece(before).parts()), beyond
        count, name, place = len(parts), HERE, HERE
    else:
        notes.append(f"taken at the {row['vantage']}: only the whole round trip is known, and nothing of where on the "
                     "way the link and the losses are; they are taken to be in the last part")  # fmt: skip
        *first, last = Piece(beyond + (before or 0.0)).parts()
        parts, rtt = tuple(first), last.rtt
        count, name = len(parts), "3/4 of the way"

    def made(share: float) -> Path:
        return _made((*parts, Piece(rtt, rate, share)), count, name, window, initial, queue, proxy)

    return Observed(made(loss), place, tuple(notes), None if other is None else made(other))


def _made(
    pieces: tuple[Piece, ...], last: int, name: str, window: int, initial: int, queue: float, proxy: Proxy
) -> Path:
    inner = {f"{number}/{4} of the way {'there' if name == HERE else ''}".strip(): number for number in range(1, last)}
    places = {**inner, name: last}
    return Path(pieces, places, max(window, 4 * 1448), initial, queue, "cubic", proxy)


def _loss(row: dict[str, object], notes: list[str]) -> tuple[float, float | None]:
    """The share of segments that the medium loses, as far as it can be told from what a full queue does.

    And what it is otherwise, where it can hardly be told.
    """
    sent, again = (float(str(row[f"{name}_segments"] or 0)) for name in ("sent", "retransmitted"))
    needless = float(str(row["spurious_segments"] or 0))
    share = max(0.0, again - needless) / sent if sent else 0.0
    if row["vantage"] == "receiver":
        notes.append("taken at the receiver: losses are incomplete")
    if not share:
        return 0.0, None
    said = f"{100 * share:.2g} % of the segments were sent again"
    high, least = float(str(row["p95_rtt_s"] or 0)), float(str(row["min_rtt_s"] or 1))
    grown = high / least
    if _NEAR[0] < grown < _NEAR[1]:
        of_queue = grown > _STANDING
        whose = "a full queue's" if of_queue else "the medium's"
        notes.append(f"{said}; round trips grow to {grown:.3g} times the least, by which it cannot be told whose the "
                     f"losses are: they count as {whose}, and it was played the other way, too")  # fmt: skip
        return (0.0, share) if of_queue else (share, 0.0)
    if grown > _STANDING:
        notes.append(f"{said}; round trips grow to {grown:.3g} times the least, so that a queue stands there, "
                     "and the losses count as its own, which a proxy does not change")  # fmt: skip
        return 0.0, None
    notes.append(f"{said}; round trips stay near the least, so that the losses count as the medium's")
    return share, None


def _rate(result: Result, row: dict[str, object]) -> float:
    """Bit/s on the line at which segments follow each other where they are close: a high quantile over stretches."""
    own = result.series.filter((pl.col("id") == row["id"]) & (pl.col("metric") == "delivered")).sort("time_s")
    times, values = own["time_s"].to_list(), own["value"].to_list()
    mss = float(str(row["mss"] or 1448))
    stretch = min(_STRETCH, max(_LEAST, float(str(row["max_in_flight_bytes"] or 0)) / mss / 2))
    rates, begin = [], 0
    for at, value in enumerate(values):
        amount = value - values[begin]
        if amount >= stretch * mss:
            if times[at] > times[begin]:
                rates.append(8 * amount / (times[at] - times[begin]))
            begin = at
    if not rates:
        return max(float(str(row["goodput_bps"] or 0.0)), 1e4) * (mss + 52) / mss
    rates.sort()
    high: float = rates[min(len(rates) - 1, math.floor(_HIGH * len(rates)))]
    return high * (mss + 52) / mss
