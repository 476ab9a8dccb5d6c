#!/usr/bin/env python3
"""The rate of a link that `ackclock advise split --from-capture` estimates, beside the link's own, on random paths.

    .venv/bin/python conformance/capture_rates.py              # the table of docs/split-tcp.md
    .venv/bin/python conformance/capture_rates.py --first 0 --points 12     # other paths

A path is a download over a chain of two hops. Random are its controller, pacing, round trip, rate, loss, queue, window
and size. Each is seen from its sender, its receiver, between its hops, with both ends in one file, and at both ends
with segments that a network card has merged. Seeds from HELD_OUT on were not looked at while the estimator was written.
"""

from __future__ import annotations

import argparse
import random
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ackclock
from ackclock.advice.rate import Rate, contradiction, estimate
from ackclock.errors import InputError
from ackclock.results.captured import carrying

HELD_OUT = 2000
"""Paths from this number on are for the test and the table."""
VIEWS = ("sender", "receiver", "middle", "both ends", "merged at the sender", "merged at the receiver")
PLACES = {
    "sender": ("flows.0.source",),
    "receiver": ("flows.0.sink",),
    "middle": ("links.hop1.in", "links.hop1-reverse.out"),
}
"""The interfaces of a view: in the middle data before the second hop, and acknowledgments behind it."""
_MERGED, _APART_NS = 16, 2_000_000
"""Segments of a merged packet, at most, and the longest time between the first and the last."""

_Packet = tuple[int, str, int, bytes]
"""Time, ns; interface; length on the line; the bytes that were kept."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was estimated: of which path and view; rates in bit/s. `wrong` is what contradicts the true rate."""

    point: int
    cc: str
    view: str
    true: float
    rate: Rate
    wrong: str | None

    @property
    def covered(self) -> bool:
        """Whether the interval has the true rate in it."""
        return self.rate.low <= self.true <= self.rate.high


def draw(point: int) -> dict[str, Any]:
    """The scenario of a path."""
    rng = random.Random(f"capture rates {point}")  # noqa: S311 - paths, not secrets
    rate = 2 ** rng.uniform(1, 6.6)
    rtt = 2 ** rng.uniform(3.5, 7.3)
    queue = max(30, round(rate * rtt / 12 * rng.choice((0.5, 1, 2))))
    size = max(1, min(16, rate * rng.uniform(0.5, 4) / 8))
    far: dict[str, Any] = {"rate": f"{rate:.3f} Mbit/s", "delay": f"{0.3 * rtt:.3f} ms",
                           "queue": {"kind": "droptail", "limit": f"{queue} packets"}}  # fmt: skip
    if loss := rng.choice(("0", "0", "0.1 %", "0.5 %")):
        far["loss"] = loss
    near = {"rate": "1 Gbit/s", "delay": f"{0.2 * rtt:.3f} ms", "queue": {"kind": "droptail", "limit": "9000 packets"}}
    tcp: dict[str, Any] = {"receive_buffer": rng.choice(("6 MB", "6 MB", "100 kB"))}
    cc = rng.choice(("reno", "cubic", "bbr1", "bbr3"))
    if cc in ("reno", "cubic"):
        tcp["pacing"] = rng.choice(("window", "off"))
    app = {"kind": "files", "arrivals": {"every": "1000 s"}, "size": f"{size:.2f} MB", "request": "200 B", "most": 1}
    return {
        "topology": {"kind": "chain", "hops": [near, far]},
        "flows": [{"cc": cc, "profile": "linux", "tcp": tcp, "app": app}],
        "run": {"duration": "120 s", "seed": point},
    }


def estimates(point: int, folder: Path) -> Iterator[Seen]:
    """What each view of a path gives."""
    document = draw(point)
    true = float(document["topology"]["hops"][1]["rate"].split()[0]) * 1e6
    every, ends = folder / f"{point}.pcapng", folder / f"{point}-ends.pcapng"
    ackclock.capture(document | {"run": document["run"] | {"capture": ["flows", "links"]}}, every)
    ackclock.capture(document, ends)
    for view in VIEWS:
        file = ends
        if view != "both ends":
            file = folder / f"{point}-{view.replace(' ', '-')}.pcap"
            file.write_bytes(seen(every.read_bytes(), view))
        try:
            result = ackclock.pcap(file, series=True, events=True)
        except InputError:
            continue
        rows = carrying(result.flows.lazy()).sort("goodput_bytes", descending=True).collect()
        if rows.height:
            row = rows.row(0, named=True)
            found = estimate(result, row)
            yield Seen(point, document["flows"][0]["cc"], view, true, found, contradiction(true, found, row))


def seen(capture: bytes, view: str) -> bytes:
    """A pcap file of what one view has of a capture of all places. Reads pcapng as ackclock writes it."""
    names: list[str] = []
    packets: list[_Packet] = []
    at = 0
    while at + 12 <= len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        body = capture[at + 8 : at + length - 4]
        if kind == 1:
            size = struct.unpack_from("<H", body, 10)[0]
            names.append(body[12 : 12 + size].decode())
        elif kind == 6:
            interface, high, low, kept, whole = struct.unpack_from("<5I", body)
            packets.append((high << 32 | low, names[interface], whole, body[20 : 20 + kept]))
        at += length
    own = PLACES[view.removeprefix("merged at the ")]
    packets = [one for one in packets if one[1] in own]
    if view.startswith("merged"):
        packets = _merged(packets)
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 101)
    records = (struct.pack("<IIII", time // 10**9, time % 10**9, len(data), whole) + data
               for time, _, whole, data in packets)  # fmt: skip
    return head + b"".join(records)


def _merged(packets: list[_Packet]) -> list[_Packet]:
    """The same with segments that follow each other as one packet at the time of the last, as network cards do."""
    found: list[_Packet] = []
    held: tuple[int, int, int, _Packet] | None = None  # begin, next sequence number, segments, packet
    for packet in packets:
        time, name, whole, data = packet
        ip, tcp = 20, 4 * (data[32] >> 4)
        sequence, payload = struct.unpack_from("!I", data, 24)[0], whole - ip - tcp
        follows = held is not None and data[12:24] == held[3][3][12:24] and sequence == held[1]
        if held is not None and follows and payload > 0 and held[2] < _MERGED and time - held[0] <= _APART_NS:
            size = held[3][2] + payload
            first = held[3][3]
            held = (held[0], sequence + payload, held[2] + 1,
                    (time, name, size, first[:2] + struct.pack("!H", size) + first[4:]))  # fmt: skip
            continue
        if payload > 0 and not data[33] & 7:
            if held is not None:
                found.append(held[3])
            held = (time, sequence + payload, 1, packet)
        else:
            if held is not None and payload > 0:
                found.append(held[3])
                held = None
            found.append(packet)
    if held is not None:
        found.append(held[3])
    return sorted(found, key=lambda one: one[0])


def table(seen_all: list[Seen]) -> list[str]:
    """Lines of Markdown: coverage by view."""
    lines = ["| seen at | paths | certain | true rate in interval | 95 % are within | not certain | "
             "true rate in interval | contradicted |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for view in (*VIEWS, "all"):
        own = [one for one in seen_all if view in (one.view, "all")]
        sure = [one for one in own if one.rate.certain]
        rest = [one for one in own if not one.rate.certain]
        off = sorted(abs(one.rate.value / one.true - 1) for one in sure)
        near = f"{100 * off[int(0.95 * (len(off) - 1))]:.1f} %" if off else ""
        cells = (view, len(own), len(sure), sum(one.covered for one in sure), near, len(rest),
                 sum(one.covered for one in rest), sum(one.wrong is not None for one in own))  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def main() -> None:
    """Print the table, and each certain rate that is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=HELD_OUT, help="number of the first path")
    parser.add_argument("--points", type=int, default=40, help="how many paths")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        points = range(given.first, given.first + given.points)
        found = [one for point in points for one in estimates(point, Path(folder))]
    print("\n".join(table(found)))
    for one in found:
        if one.wrong or (one.rate.certain and not one.covered):
            print(f"path {one.point} {one.cc} {one.view}: true {one.true / 1e6:.3g}, {one.rate}, {one.wrong}")


if __name__ == "__main__":
    main()
