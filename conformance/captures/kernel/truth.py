"""What really happened on a recorded path: the kernel's counters, its log of retransmissions, and what arrived."""

from __future__ import annotations

import json
import struct
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import guest

US = 1_000_000
ETHERNET = 14
SYN = 2
NUMBERS = 1 << 32
SOON = 1000
"""A packet passes the device of its sender within so many us."""
KEPT = [
    "total_retrans",
    "bytes_retrans",
    "dsack_dups",
    "reord_seen",
    "bytes_sent",
    "bytes_acked",
    "data_segs_out",
    "delivered",
    "segs_out",
    "busy_time",
    "rwnd_limited",
    "sndbuf_limited",
    "min_rtt",
    "rtt",
]
"""What is kept of TCP_INFO."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet of a capture, `number` from 1. `seq` counts from the SYN."""

    number: int
    time_us: int
    source: str
    sport: int
    dport: int
    ip_id: int
    seq: int
    length: int
    flags: int
    tsval: int | None

    @property
    def identity(self) -> tuple[int, int, int, int, int | None]:
        """What no two packets of a sender have in common."""
        return self.sport, self.ip_id, self.seq, self.length, self.tsval


def _tsval(options: bytes) -> int | None:
    at = 0
    while at < len(options) and options[at]:
        if options[at] == 1:
            at += 1
            continue
        if options[at] == 8:
            return int(struct.unpack_from(">I", options, at + 2)[0])
        at += options[at + 1]
    return None


def packets(path: Path, *, absolute: bool = False) -> Iterator[Packet]:
    """The packets of a capture of IPv4 on Ethernet, as tcpdump writes them on this machine."""
    data = path.read_bytes()
    at, number = 24, 0
    first: dict[tuple[str, int, int], int] = {}
    while at + 16 <= len(data):
        seconds, micros, kept, _ = struct.unpack_from("<4I", data, at)
        frame, at, number = data[at + 16 : at + 16 + kept], at + 16 + kept, number + 1
        head = (frame[ETHERNET] & 15) * 4
        total, ip_id = struct.unpack_from(">HH", frame, ETHERNET + 2)
        source = ".".join(map(str, frame[ETHERNET + 12 : ETHERNET + 16]))
        tcp = ETHERNET + head
        sport, dport, seq, _, offset, flags = struct.unpack_from(">HHIIBB", frame, tcp)
        size = (offset >> 4) * 4
        if flags & SYN and not absolute:
            first[source, sport, dport] = seq
        seq = (seq - first.get((source, sport, dport), 0)) % NUMBERS
        yield Packet(
            number,
            seconds * US + micros,
            source,
            sport,
            dport,
            ip_id,
            seq,
            total - head - size,
            flags,
            _tsval(frame[tcp + 20 : tcp + size]),
        )


def counters(text: str) -> dict[str, int]:
    """/proc/net/netstat and /proc/net/snmp: those of TCP that are not zero."""
    found: dict[str, int] = {}
    lines = text.splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        if names.startswith(("Tcp:", "TcpExt:")):
            pairs = zip(names.split()[1:], map(int, values.split()[1:]), strict=True)
            found |= {name: value for name, value in pairs if value}
    return found


def data_ports(path: Mapping[str, Any]) -> list[int]:
    """The port from which s sends the data of each connection."""
    return [(guest.PORT if "request" in what else 40000) + number for number, what in enumerate(path["connections"])]


MOMENTS = ("timeout", "recovery", "undo")
"""What the kernel says besides retransmissions."""
Line = tuple[int, str, int, int, int]
"""When (us), what, from which port, first byte, behind the last."""


def _log(text: str) -> Iterator[Line]:
    """What the kernel said."""
    for line in text.splitlines():
        if "AKT " in line:
            time, what, sport, _, seq, end, _ = line.split("AKT ")[1].split()
            yield int(time) // 1000, what, int(sport), int(seq), int(end)


def _isns(path: Path) -> dict[int, int]:
    """Initial sequence numbers, by the port of s."""
    raw = packets(path, absolute=True)
    return {packet.sport: packet.seq for packet in raw if packet.flags & SYN and packet.source == guest.ADDRESS["s"]}


def _covered(pieces: list[tuple[int, int]], start: int, end: int) -> bool:
    for low, high in sorted(pieces):
        if low <= start < high:
            start = high
    return start >= end


def _needless(sent: list[Packet], arrived: set[tuple[int, int, int, int, int | None]]) -> set[int]:
    """Packets all of whose bytes had been sent before in packets that arrived."""
    found: set[int] = set()
    came: dict[int, list[tuple[int, int]]] = defaultdict(list)
    seen: dict[int, int] = {}
    for packet in sent:
        start, end = packet.seq, packet.seq + packet.length
        if not packet.length:
            continue
        near = [piece for piece in came[packet.sport] if piece[0] < end and piece[1] > start]
        if start < seen.get(packet.sport, 0) and _covered(near, start, end):
            found.add(packet.number)
        seen[packet.sport] = max(seen.get(packet.sport, 0), end)
        if packet.identity in arrived:
            came[packet.sport].append((start, end))
    return found


def _told(lines: list[Line], sent: list[Packet], isns: Mapping[int, int]) -> tuple[dict[int, str], int, list[Line]]:
    """Why packets of the capture are retransmissions, by number; how many had no data; lines without a packet."""
    by_port: dict[int, list[Packet]] = defaultdict(list)
    for packet in sent:
        if packet.length:
            by_port[packet.sport].append(packet)
    times = {port: [packet.time_us for packet in own] for port, own in by_port.items()}
    why: dict[int, str] = {}
    empty, lost = 0, []
    for line in lines:
        time, what, port, seq, end = line
        span, own = (end - seq) % NUMBERS, by_port[port]
        if not span:
            empty += 1
            continue
        at = bisect_left(times[port], time - SOON)
        place, size = (seq - isns[port]) % NUMBERS, 0
        while size < span and at < len(own) and own[at].time_us <= time + SOON:
            packet = own[at]
            if packet.seq == place + size and packet.number not in why:
                why[packet.number] = what
                size += packet.length
            at += 1
        if size < span:
            lost.append(line)
    return why, empty, lost


def collected(path: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Everything that is kept of a recording as truth."""
    ports = data_ports(path)
    places = {place: list(packets(folder / f"{place}.pcap")) for place in ("sender", "receiver")}
    sent = [p for p in places["sender"] if p.source == guest.ADDRESS["s"] and p.sport in ports]
    arrived = {p.identity for p in places["receiver"] if p.source == guest.ADDRESS["s"]}
    lines = [line for line in _log((folder / "kernel.log").read_text()) if line[2] in ports]
    again = [line for line in lines if line[1] not in MOMENTS]
    isns = _isns(folder / "sender.pcap")
    why, empty, lost = _told(again, sent, isns)
    needless = _needless(sent, arrived)
    ends = {entry["connection"]: entry for entry in json.loads((folder / "s.json").read_text())}
    connections = []
    for number, port in enumerate(ports):
        entry = ends.get(number, {"error": "not over in time"})
        own = [line for line in lines if line[2] == port]
        row: dict[str, Any] = {"port": port, **{k: v for k, v in entry.items() if k == "error"}}
        row["recoveries"] = sum(line[1] == "recovery" for line in own)
        # Timers that resend data; those of SYN and FIN are no timeouts of the analysis.
        row["timeouts"] = sum(line[1] == "rto" and line[3] != line[4] for line in own)
        row["tcp_info"] = {key: entry["tcp_info"][key] for key in KEPT} if "tcp_info" in entry else None
        connections.append(row)
    return {
        "path": dict(path),
        "release": (folder / "release").read_text().strip(),
        "packets": len(places["sender"]),
        "lengths": {place: len(own) for place, own in places.items()},
        "sender": counters((folder / "s.counters").read_text()),
        "receiver": counters((folder / "r.counters").read_text()),
        "connections": connections,
        "empty": empty,
        "empty_timeouts": sum(line[1] == "timeout" for line in lines) - sum(row["timeouts"] for row in connections),
        "moments": [
            [line[0] - places["sender"][0].time_us, line[1], line[2], (line[3] - isns[line[2]]) % NUMBERS]
            for line in lines
            if line[1] in MOMENTS
        ],
        "unmatched": lost,
        "retransmissions": {
            cause: sorted(n for n, found in why.items() if found == cause) for cause in sorted(set(why.values()))
        },
        "needless": sorted(needless & set(why)),
    }
