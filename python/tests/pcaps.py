"""Captures for the tests: of simulated transfers, and packets written by hand."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import ackclock

LOSSY: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": "20 Mbit/s",
        "rtt": "40 ms",
        "queue": {"kind": "droptail", "limit": "30 packets"},
        "loss": "0.3 %",
    },
    "flows": [{"cc": "cubic", "count": 2, "bytes": "3 MB"}],
    "run": {"duration": "20 s", "seed": 5},
}
"""Two downloads over a link that loses packets."""


def download(path: Path, *places: str, **changes: Any) -> Path:
    """The capture of a scenario like :data:`LOSSY`, as it passes some places; `changes` are by key, __ for a dot."""
    own = {key.replace("__", "."): value for key, value in changes.items()}
    if places:
        own["run.capture"] = list(places)
    ackclock.capture(LOSSY, path, set=own)
    return path


def tcp(seq: int, ack: int, flags: int, *, payload: int = 0, back: bool = False, options: bytes = b"") -> bytes:
    """A packet of IP and TCP between 192.0.2.1:40000 and 192.0.2.2:80, without checksums and without its payload."""
    ports, hosts = (40000, 80), (b"\xc0\x00\x02\x01", b"\xc0\x00\x02\x02")
    if back:
        ports, hosts = ports[::-1], hosts[::-1]
    length = 40 + len(options) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0x4000, 64, 6, 0, *hosts)
    return ip + struct.pack(">HHIIBBHHH", *ports, seq, ack, (5 + len(options) // 4) << 4, flags, 60000, 0, 0) + options


SYN, ACK = 2, 16
MSS = b"\x02\x04\x05\xb4"
HELLO = [
    (1.000, tcp(100, 0, SYN, options=MSS)),
    (1.040, tcp(500, 101, SYN | ACK, back=True, options=MSS)),
    (1.041, tcp(101, 501, ACK)),
    (1.042, tcp(101, 501, ACK, payload=1000)),
    (1.090, tcp(501, 1101, ACK, back=True)),
]
"""A handshake, a segment and its acknowledgment; seconds after 2001-09-09."""


def pcap(path: Path, packets: list[tuple[float, bytes]], link: int = 101) -> Path:
    """A file of the classic format."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link)]
    for at, packet in packets:
        seconds, part = divmod(round(at * 1e6), 10**6)
        parts += (struct.pack("<IIII", 10**9 + seconds, part, len(packet), _original(packet)), packet)
    path.write_bytes(b"".join(parts))
    return path


def block(kind: int, body: bytes) -> bytes:
    """A block of pcapng."""
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def option(code: int, value: bytes) -> bytes:
    """An option of a block."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def pcapng(path: Path, packets: list[tuple[float, bytes]], name: bytes = b"eth0", drops: int | None = None) -> Path:
    """A file of pcapng with one interface of that name."""
    data = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(1, struct.pack("<HHI", 101, 0, 0) + option(2, name) + option(0, b""))
    for at, packet in packets:
        micros = 10**15 + round(at * 1e6)
        head = struct.pack("<IIIII", 0, micros >> 32, micros & 0xFFFFFFFF, len(packet), _original(packet))
        data += block(6, head + packet + bytes(-len(packet) % 4))
    if drops is not None:
        data += block(5, struct.pack("<III", 0, 0, 0) + option(5, struct.pack("<Q", drops)) + option(0, b""))
    path.write_bytes(data)
    return path


def _original(packet: bytes) -> int:
    return int(struct.unpack_from(">H", packet, 2)[0]) if len(packet) >= 4 else len(packet)
