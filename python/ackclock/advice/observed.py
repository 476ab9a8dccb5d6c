"""A capture as a path: what it tells of the connection with most data, or of one asked for, and what it cannot tell.

Losses and round trips scatter between connections: they are those of all between the same two ends.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.advice.calibration import Transfer, measure
from ackclock.advice.path import Path, Piece, Proxy
from ackclock.advice.rate import Rate, contradiction, estimate
from ackclock.errors import InputError
from ackclock.pcaps.analyse import pcap
from ackclock.results.captured import carrying

HERE = "where the capture was taken"
_STANDING = 1.25
"""Where round trips grow to so many times the least, a queue stands."""
_NEAR = (1.1, 1.6)
"""Growths between these tell little: a short queue overflows with less, and one may stand where a medium loses."""
_SHORT = 150_000
"""Bytes: what a sender with an initial window of 10 segments has sent after three round trips, in slow start still."""
_AS_MUCH = 0.9
"""A connection with this share of the data of the one that has most could as well be the one."""
_ENDS = ("src", "dst", "interface", "vantage")
"""What connections have in common that go the same way and are seen from the same place. Ports may differ."""
_ABOUT_ONE = (0.9, 1.1)
"""Lengths of a queue, in BDP, that are taken for one."""
_COUNTED = ("sent_segments", "retransmitted_segments", "spurious_segments")
_SHOWN = 8
"""As many connections are named where one is asked for that there is not."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A path, the place where the capture was taken if that is between its ends, and what is not known.

    `otherwise` is what the path would be as well, where the capture does not tell whose losses are. `link` is the
    estimated rate of the link, `transfer` the transfer in the file, `rated` whether the rate was estimated, not given.
    """

    path: Path
    place: str | None
    notes: tuple[str, ...]
    otherwise: Path | None
    link: Rate
    transfer: Transfer
    rated: bool
    at_receiver: bool


def path(
    file: str | os.PathLike[str],
    *,
    rate: float | None,
    window: int | None,
    proxy: Proxy,
    queue: float | None,
    connection: str | None = None,
) -> Observed:
    """What it tells of a path.

    `rate`, bit/s of the line, and `window` are in place of those that are seen. `connection` is one by its id or its
    number: then others are not looked at. `queue` is in the product of rate and round trip, None for what round trips
    grew to. Raises :class:`InputError`, also for a rate that contradicts what the file delivered.
    """
    result = pcap(os.fspath(file), series=True, events=True)
    rows = carrying(result.flows.lazy()).sort("goodput_bytes", descending=True, maintain_order=True).collect()
    if rows.is_empty():
        raise InputError("no connection in it carries data", "give a capture of a download", source=str(file))
    notes: list[str] = []
    same = _of_one(rows, connection, file, notes) if connection is not None else _of_most(rows, file, notes)
    row, all_of_them = same[0], _together(same)
    beyond, before = all_of_them["min_rtt_s"], all_of_them["up_rtt_s"]
    if beyond is None or (not beyond and not before):  # at the receiver it is 0, and the way up is the whole
        beyond = row["handshake_rtt_s"]
    if beyond is None:
        raise InputError("it tells of no round trip", "capture both directions from the SYN on", source=str(file))
    notes += result.warnings
    loss, other = _loss(all_of_them, notes)
    link = estimate(result, row)
    rated = rate is None
    if rate is None:
        rate = link.value
        short = row["goodput_bytes"] < _SHORT
        what = "about this much" if link.certain and not short else "at least this much"
        if short:
            notes.append("so little data is under way in slow start alone, which tells little of the link: give --rate")
        notes.append(_of_link(link, what))
    if why := contradiction(rate, link, row):
        remedy = (
            "give --rate, or a longer capture, best at the receiver" if rated else "correct --rate, or leave it out"
        )
        raise InputError(why, remedy, source=str(file), key=None if rated else "--rate")
    if queue is None:
        queue = _queue(all_of_them)
        notes.append(f"the queue is taken to hold {queue:.2g} BDP, by how far round trips grew; --queue gives another")
    if window is None:
        window = int(row["max_rwnd_bytes"] or 0) or 6_000_000
        notes.append(f"the client offered up to {window / 1e3:.4g} kB; the server's own buffer may be less")
    at_receiver = row["vantage"] == "receiver"  # which acknowledges while the first window arrives
    initial = 10 if at_receiver else int(row["initial_window_segments"] or 10)
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

    transfer = measure(result, row, rtt=beyond + (before or 0.0))
    return Observed(made(loss), place, tuple(notes), None if other is None else made(other), link, transfer, rated,
                    at_receiver)  # fmt: skip


def _of_link(link: Rate, what: str) -> str:
    where = "arrivals at the receiver" if link.place == "receiver" else f"acknowledgments at the {link.place}"
    said = f"the link carries {what}: {link.value / 1e6:.3g} Mbit/s"
    if link.certain:
        said += (f" ({link.low / 1e6:.3g} to {link.high / 1e6:.3g}), by the spacing of {where}, in {link.trains} "
                 f"trains of segments, {100 * link.share:.0f} % of all; --rate gives another")  # fmt: skip
        return said
    return (f"{said}, by the spacing of {where}; not certain: {'; '.join(link.doubts)}; a capture at the receiver of "
            "a longer download that fills the link would make it certain, or --rate")  # fmt: skip


def _queue(row: Mapping[str, Any]) -> float:
    """Length of the queue in BDP: where segments were lost, what round trips grew by; at least 1 where none were."""
    grown = max(0.1, float(row["p99_rtt_s"] or 0) / float(row["min_rtt_s"] or 1) - 1)
    if row["vantage"] == "receiver" or not _share(row) or grown < _NEAR[0] - 1:
        return max(1.0, grown)
    return 1.0 if _ABOUT_ONE[0] < grown < _ABOUT_ONE[1] else grown


def _of_one(
    rows: pl.DataFrame, connection: str, file: str | os.PathLike[str], notes: list[str]
) -> Sequence[dict[str, Any]]:
    """The one that is asked for."""
    own = rows.filter((pl.col("id") == connection) | (pl.col("connection").cast(pl.String) == connection))
    if own.is_empty():
        ids = rows["id"].to_list()
        known = f"{', '.join(ids[:_SHOWN])}{', ...' if len(ids) > _SHOWN else ''}"
        problem = f"no connection {connection!r} of {file} carries data"
        raise InputError(problem, f"give one of {known}; ackclock pcap shows them", key="--connection")
    row = own.row(0, named=True)
    notes.append(f"connection {row['id']} of {file}, {_mega(row)} MB, alone, as was asked for")
    return [row]


def _of_most(rows: pl.DataFrame, file: str | os.PathLike[str], notes: list[str]) -> Sequence[dict[str, Any]]:
    """The one with most data, and behind it the others between the same ends."""
    row = rows.row(0, named=True)
    alike = pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name], rows.schema[name])) for name in _ENDS)
    much = pl.col("goodput_bytes") >= _AS_MUCH * row["goodput_bytes"]
    same = rows.filter(alike).to_dicts()
    said = f"connection {row['id']} of {file}, {_mega(row)} MB, is the one with most data"
    if (equal := rows.filter(much).height) > 1:
        said = f"connection {row['id']} of {file}, {_mega(row)} MB, is one of {equal} with most data, or nearly as much"
    notes.append(f"{said}; --connection takes another" if rows.height > 1 else said)
    if len(same) > 1:
        ends, data = f"from {row['src']} to {row['dst']}", _mega(_together(same))
        notes.append(
            f"losses and round trips are those of all {len(same)} connections {ends}, {data} MB: {_again(same)}"
        )
    if others := rows.filter(much & ~alike).to_dicts():
        has, are = ("connection", "has") if len(others) == 1 else ("connections", "have")
        notes.append(f"{len(others)} {has} between other ends, or seen from another place, {are} as much data, or "
                     f"nearly, and do not count: {_again(others)}")  # fmt: skip
    return same


def _together(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first, with the losses and round trips of all: sums, the least, and a mean weighted by what was sent."""
    found = dict(rows[0])
    for name in ("goodput_bytes", *_COUNTED):
        found[name] = sum(row[name] or 0 for row in rows)
    for name in ("min_rtt_s", "up_rtt_s"):
        found[name] = min((row[name] for row in rows if row[name] is not None), default=None)
    high = [(row["p95_rtt_s"], row["sent_segments"]) for row in rows if row["p95_rtt_s"] and row["sent_segments"]]
    if high:
        found["p95_rtt_s"] = math.fsum(rtt * sent for rtt, sent in high) / sum(sent for _, sent in high)
    return found


def _again(rows: Sequence[Mapping[str, Any]]) -> str:
    """What of the segments of each was sent again."""
    shares = sorted(rows, key=_share)
    low, high = _percent(shares[0]), _percent(shares[-1])
    return f"{low if low == high else f'{low} to {high}'} % of the segments of each were sent again"


def _share(row: Mapping[str, Any]) -> float:
    """Of the segments that were sent those that were lost: sent again, and not for nothing."""
    sent, again, needless = (float(row[name] or 0) for name in _COUNTED)
    return max(0.0, again - needless) / sent if sent else 0.0


def _percent(row: Mapping[str, Any]) -> str:
    return f"{100 * _share(row):.2g}"


def _mega(row: Mapping[str, Any]) -> str:
    return f"{row['goodput_bytes'] / 1e6:.3g}"


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
    share = _share(row)
    if row["vantage"] == "receiver":
        notes.append("taken at the receiver: losses are incomplete")
    if not share:
        return 0.0, None
    if row["vantage"] == "receiver":
        notes.append(f"{100 * share:.2g} % of the segments were sent again; at the receiver nothing shows whose the "
                     "losses are: they count as a full queue's, and it was played as the medium's, too")  # fmt: skip
        return 0.0, share
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
