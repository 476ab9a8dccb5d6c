"""A reader of pcapng files in a few lines, independent of the package's own."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Packet:
    """A block of a packet."""

    interface: str
    at_ns: int
    captured: bytes
    original: int
    comment: dict[str, Any]


@dataclass
class File:
    """A capture."""

    comment: dict[str, Any]
    interfaces: list[str]
    packets: list[Packet]

    def at(self, interface: str) -> list[Packet]:
        return [packet for packet in self.packets if packet.interface == interface]


def options(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


def read(path: Path) -> File:
    data, at = path.read_bytes(), 0
    file = File({}, [], [])
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + length - 4]
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        if kind == 0x0A0D0D0A:
            file.comment = json.loads(options(body[16:])[1])
        elif kind == 1:
            file.interfaces.append(options(body[8:])[2].decode())
        else:
            number, high, low, captured, original = struct.unpack_from("<IIIII", body)
            end = 20 + (captured + 3) // 4 * 4
            comment = json.loads(options(body[end:]).get(1, b"{}"))
            name, at_ns = file.interfaces[number], high << 32 | low
            file.packets.append(Packet(name, at_ns, body[20 : 20 + captured], original, comment))
        at += length
    return file
