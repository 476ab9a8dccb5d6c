"""Logs of links: those of mahimahi (``mm-link --uplink-log``, ``--downlink-log``) and of Pantheon's tunnels.

The latter have a flow with each packet. Times are milliseconds, sizes bytes of IP packets, so that goodput is of these,
headers included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.errors import InputError
from ackclock.measure.imports.measured import Sample, Test, text_of

_RUN = re.compile(r"(?P<cc>.+)_(?P<link>datalink|acklink)_run(?P<run>\d+)\.log(\.gz)?")
"""What Pantheon calls its logs."""

_MS = 1e-3
_BIN = 0.1
"""Seconds between samples of what has come through."""


@dataclass(slots=True)
class _Way:
    """The packets of a flow, or of the link: when they left, their bytes and delays, how many came."""

    arrived: int = 0
    left: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)


def read(path: Path) -> list[Test]:
    """The test of a log. Raises :class:`InputError`, with the line that is wrong."""
    text = text_of(path)
    flows: dict[int, _Way] = {}
    capacity, drops = 0, 0
    first, last = float("inf"), float("-inf")
    lines = text.splitlines()
    for number, line in enumerate(lines[(begin := _begin(lines)) :], begin + 1):
        if not line or line.startswith("#"):
            continue
        words = line.split()
        try:
            time, kind, size = float(words[0]) * _MS, words[1], int(words[2])
            first, last = min(first, time), max(last, time)
            if kind == "#":
                capacity += size
            elif kind == "+":
                flows.setdefault(int(words[3]) if len(words) > 3 else 0, _Way()).arrived += 1
            elif kind == "-":
                way = flows.setdefault(int(words[4]) if len(words) > 4 else 0, _Way())
                way.left.append(time)
                way.sizes.append(size)
                way.delays.append(float(words[3]) * _MS)
            elif kind == "d":
                drops += size  # packets; their bytes come next
            else:
                raise ValueError(f"'{kind}' is no event")
        except (IndexError, ValueError) as error:
            problem = f"no line of a log of mahimahi or Pantheon ({error})"
            raise InputError(problem, "give such a log", source=str(path), line=number) from None
    if not any(way.left for way in flows.values()):
        return [Test(path.name, "mahimahi", problem="nothing came through the link")]
    return [_test(path.name, flows, (first, last), capacity, drops, text)]


def _begin(lines: list[str]) -> int:
    """Where events may begin: a program's arguments are in the header as they are, and may have many lines."""
    if any(line.startswith("# command line:") for line in lines[:2]):
        return next((number for number, line in enumerate(lines) if line.startswith("# queue:")), 0)
    return 0


def _test(source: str, flows: dict[int, _Way], span: tuple[float, float], capacity: int, drops: int, text: str) -> Test:
    first, last = span
    seconds = max(last - first, 1e-9)
    name = _RUN.fullmatch(source)
    cc = name["cc"] if name else "unknown"
    rows = [_flow(str(place), flows[flow], cc, first, seconds) for place, flow in enumerate(sorted(flows))]
    every = _Way(sum(way.arrived for way in flows.values()))
    for way in flows.values():
        every.left += way.left
        every.sizes += way.sizes
        every.delays += way.delays
    sent = sum(every.sizes)
    link: dict[str, Any] = {
        "id": name["link"] if name else "link",
        "rate_bps": round(8 * capacity / seconds) if capacity else None,
        "utilisation": sent / capacity if capacity else None,
        "arrived_packets": every.arrived,
        "sent_packets": len(every.left),
        "sent_bytes": sent,
        "drops": drops or None,
        **{f"{key}_queue_delay_s": value for key, value in _delays(every).items()},
    }
    settings: dict[str, str | int | float] = {"connections": len(rows)}
    if name:
        settings |= {"cc": cc, "link": name["link"]}
    return Test(
        source,
        "pantheon" if name else "mahimahi",
        settings,
        seconds,
        0.0,
        _base(text),
        rows,
        [link],
        [sample for place, flow in enumerate(sorted(flows)) for sample in _samples(str(place), flows[flow], first)],
        ["goodput is of whole packets, headers included: that is what these logs have"],
    )


def _flow(place: str, way: _Way, cc: str, first: float, seconds: float) -> dict[str, Any]:
    lost = way.arrived - len(way.left)
    return {
        "id": place,
        "app": "unknown",
        "cc": cc,
        "start_s": (min(way.left) - min(way.delays) if way.left else first) - first,
        "goodput_bps": 8 * sum(way.sizes) / seconds,
        "goodput_bytes": sum(way.sizes),
        "received_packets": len(way.left),
        "lost_packets": max(lost, 0),
        "completed": False,
        **{f"{key}_delay_s": value for key, value in _delays(way).items()},
    }


def _delays(way: _Way) -> dict[str, float | None]:
    """Mean and percentiles (nearest rank) of the delays."""
    if not way.delays:
        return dict.fromkeys(("mean", "p50", "p95", "p99"))
    values = np.sort(np.array(way.delays))
    ranks = {f"p{share}": float(values[max(0, -(-len(values) * share // 100) - 1)]) for share in (50, 95, 99)}
    return {"mean": float(values.mean()), **ranks}


def _samples(place: str, way: _Way, first: float) -> Iterator[Sample]:
    """The bytes that have come through, at every tenth of a second with news."""
    so_far, until = 0, 0
    for time, size in sorted(zip(way.left, way.sizes, strict=True)):
        bin_ = int((time - first) / _BIN)
        if bin_ > until:
            yield (until + 1) * _BIN, place, "delivered", float(so_far)
            until = bin_
        so_far += size
    yield (until + 1) * _BIN, place, "delivered", float(so_far)


def _base(text: str) -> float | None:
    """When it began, where the log says so: the clock of the computer, ms."""
    found = re.search(r"^# (?:init|base) timestamp: (\d{12,})", text, re.MULTILINE)
    return float(found[1]) * _MS if found else None
