"""Goodput above what the line carries: data in order only after the warm-up, that had arrived before it was over."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.metrics.capacity import rate_of
from ackclock.results.legs import wholes

if TYPE_CHECKING:
    from ackclock.results.result import Result

METRICS = ("goodput_bps", "total_goodput_bps")
"""What can be too large by it."""

_BEGIN = "goodput is above what the line carries"
_PACKETS = 2.0  # at the ends of the window, that count as a whole though a part of them crossed within it


def over_line(result: Result) -> dict[int, float]:
    """By which share the goodput of the connections over a link is above its rate, by run; only where it is above.

    Of the links of a run the one with the largest share. A link counts whose rate does not vary: then no more payload
    can arrive behind it than its rate carries in the time. Bytes are compared, over the same time for all flows.
    """
    window = {run: until - begin for run, until, begin in
              result.runs.select("run", "duration_s", "warmup_s").iter_rows()}  # fmt: skip
    point_of = dict(result.runs.select("run", "point").iter_rows())
    lines = {entry["point"]: _lines(entry["resolved"]) for entry in result.manifest["points"]}
    found: dict[int, float] = {}
    table = result.flows.filter(pl.col("lost_packets").is_null()).group_by("run").agg("id", "goodput_bytes")
    for run, flows, own in table.iter_rows():
        got = dict(zip(flows, own, strict=True))
        for crossing, rate, packet in lines[point_of[run]]:
            most = rate / 8 * window[run] + _PACKETS * packet
            share = sum(got.get(flow, 0) for flow in crossing) / most - 1
            if share > 0:
                found[run] = max(share, found.get(run, 0.0))
    return found


def _lines(resolved: Mapping[str, Any]) -> list[tuple[frozenset[str], float, float]]:
    """The links whose rate does not vary: the connections over each, its rate in payload, bit/s, a packet's payload."""
    found = []
    for link in resolved["links"]:
        packet = (link["queue"] or {}).get("packet_bytes")
        rate = rate_of(link, resolved["duration_ns"])
        # A shaper passes more for a while; of a duplicate only one counts.
        if rate is None or packet is None or any(link.get(name) for name in ("trace", "schedule", "shaper", "events")):
            continue
        crossing = {
            flow["id"]: flow["mss"]
            for flow in wholes(resolved)
            if flow["app"].get("transport") != "udp" and any(hop.get("link") == link["id"] for hop in flow["forward"])
        }
        if crossing:
            payload = max(crossing.values())
            found.append((frozenset(crossing), rate * min(1.0, payload / packet), float(payload)))
    return found


def is_note(text: str) -> bool:
    """Whether a line is one of :func:`note`."""
    return _BEGIN in text


def note(result: Result, runs: Collection[int]) -> str | None:
    """What to say, once, where some of these runs have more goodput than the line carries."""
    found = [share for run, share in over_line(result).items() if run in runs]
    if not found:
        return None
    percent = 100 * max(found)
    most = f"{percent:.2g} %" if percent >= 0.01 else "less than 0.01 %"
    return (
        f"{_BEGIN} in {len(found)} of {len(runs)} runs, by up to {most}: data behind a "
        "hole at the end of the warm-up counts when the hole is filled; to tell smaller differences, run longer "
        "(docs/results.md, Goodput above the rate)"
    )
