"""Floods the path from within ``ackclock shell`` with frames that no honest host sends, then asks for echoes.

    python hostile_frames.py SEED FRAMES [--offload]

Needs the right to open raw sockets. Prints what became of the frames and echoes as JSON.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import socket
import struct
import sys
from collections import Counter
from pathlib import Path

DEVICE = "path0"
PORT = 7000
MTU = 9000
SIOCSIFMTU = 0x8922
SOL_PACKET, PACKET_VNET_HDR = 263, 15
ETH_P_IP, ETH_P_IPV6 = 0x0800, 0x86DD
LENGTHS = (0, 1, 19, 20, 39, 40, 60, 200, 1400, 1500, MTU - 100)
WITH_OFFLOAD = (*LENGTHS, 20_000, 40_000)
ECHOES = 3
TRIES = 40


def checksum(header: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header[: len(header) // 2 * 2]))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


class Frames:
    """Frames of a seed, most of them with the addresses of the two ends so that they are taken for a flow's."""

    def __init__(self, seed: int, *, offload: bool) -> None:
        self.draws = random.Random(seed)
        self.offload = offload
        four, six = ("ACKCLOCK_CLIENT", "ACKCLOCK_SERVER"), ("ACKCLOCK_CLIENT6", "ACKCLOCK_SERVER6")
        self.ends4 = b"".join(socket.inet_aton(os.environ[name]) for name in four)
        self.ends6 = b"".join(socket.inet_pton(socket.AF_INET6, os.environ[name]) for name in six)

    def any_of(self, *values: int) -> int:
        """One of these, or sometimes a byte of any value."""
        return self.draws.choice((*values, self.draws.randrange(256)))

    def next(self) -> tuple[bytes, int]:
        """The next frame, behind what is said of its segments if there is offload, and the protocol it is sent as."""
        packet = bytearray(self.draws.randbytes(self.draws.choice(WITH_OFFLOAD if self.offload else LENGTHS)))
        six = self.draws.random() < 0.3
        if self.draws.random() < 0.9:
            (self.version_6 if six else self.version_4)(packet)
        said = self.segments(packet) if self.offload else b""
        right = self.draws.random() < 0.9
        return said + bytes(packet), ETH_P_IPV6 if six == right else ETH_P_IP

    def version_4(self, packet: bytearray) -> None:
        """Header lengths from none to all options, lengths that are wrong, fragments, any transport."""
        if len(packet) < 20:
            return
        length = self.draws.choice((len(packet), len(packet), len(packet) + 1, self.draws.randrange(65_536)))
        packet[0] = 0x40 | self.draws.choice((5, 5, 5, 6, 15, 0, 4))
        packet[2:4] = struct.pack(">H", length & 0xFFFF)
        packet[6:8] = struct.pack(">H", self.draws.choice((0, 0, 0x2000, 0x1FFF, self.draws.randrange(65_536))))
        packet[9] = self.any_of(6, 6, 17, 1, 132)
        packet[12:20] = self.ends4
        self.transport(packet, packet[0] % 16 * 4)
        if self.draws.random() < 0.5:
            packet[10:12] = bytes(2)
            packet[10:12] = struct.pack(">H", checksum(packet[: packet[0] % 16 * 4]))

    def version_6(self, packet: bytearray) -> None:
        """Extension headers, fragments and payload lengths of any value."""
        if len(packet) < 40:
            return
        packet[0] = 0x60
        length = self.draws.choice((len(packet) - 40, len(packet) - 40, 0, self.draws.randrange(65_536)))
        packet[4:6] = struct.pack(">H", length & 0xFFFF)
        packet[6] = self.any_of(6, 6, 17, 58, 0, 43, 44, 60, 59)
        packet[8:40] = self.ends6
        self.transport(packet, 40)

    def transport(self, packet: bytearray, at: int) -> None:
        """Sometimes the length of a header of TCP that stands there: right, too long, none."""
        if len(packet) >= at + 20 and self.draws.random() < 0.7:
            packet[at + 12] = self.any_of(0x50, 0x50, 0x80, 0xF0, 0)

    def segments(self, packet: bytearray) -> bytes:
        """A ``struct virtio_net_hdr``: what a kernel takes for one, or any numbers."""
        if self.draws.random() < 0.3:
            return bytes((self.any_of(0, 1), self.any_of(0, 1, 4))) + self.draws.randbytes(8)
        four = packet[:1] < b"\x50"
        at, kind = (20, self.draws.choice((0, 1, 0x81, 3, 5))) if four else (40, self.draws.choice((0, 4, 0x84, 3, 5)))
        segment = self.draws.choice((1448, 536, 100, 65_535)) if kind else 0
        checked = 16 if kind & 0x7F in (1, 4) else self.draws.choice((6, 16))
        return struct.pack("=BB4H", 1, kind, at + self.draws.choice((20, 32, 8)), segment, at, checked)


def dropped() -> int:
    """How many frames the device had no room for: it was told of more at once than the path could read."""
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()
    [counters] = [line.split(":")[1] for line in lines if line.strip().startswith(f"{DEVICE}:")]
    return int(counters.split()[11])


def flood(frames: Frames, count: int) -> dict[str, object]:
    """Sends so many; how many the kernel took, and why it did not take others."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    request = struct.pack("16si12x", DEVICE.encode(), MTU)
    fcntl.ioctl(raw, SIOCSIFMTU, request)
    if frames.offload:
        raw.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    sent, refused = 0, Counter[str]()
    for _ in range(count):
        frame, protocol = frames.next()
        try:
            raw.sendto(frame, (DEVICE, protocol))
            sent += 1
        except OSError as error:
            refused[errno.errorcode.get(error.errno or 0, "?")] += 1
    return {"sent": sent, "refused": refused, "dropped": dropped()}


def echoes() -> int:
    """How many of :data:`ECHOES` datagrams come back over the path."""
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.settimeout(0.5)
    came, mark = set[bytes](), b"echo "
    for number in range(TRIES):
        asking.sendto(mark + b"%d" % number, (os.environ["ACKCLOCK_SERVER"], PORT))
        try:
            answer = asking.recv(2000)
        except TimeoutError:  # it met a queue that the flood has filled
            continue
        if answer.startswith(mark):
            came.add(answer)
        if len(came) == ECHOES:
            break
    return len(came)


def main() -> None:
    frames = Frames(int(sys.argv[1]), offload="--offload" in sys.argv)
    said = flood(frames, int(sys.argv[2]))
    print(json.dumps(said | {"echoes": echoes()}))


if __name__ == "__main__":
    main()
