"""Pictures of the examples in docs/pcap-rules.md: each is analysed as a capture, and drawn as every other one.

An example is a block whose lines are packets, ``60.2 > 1001..2001  TS 62`` of who sends data and ``110 < ack 1001  sack
2001..3001`` of who answers, times in ms; several may stand in a line, and what else is written says nothing to this.
The picture below it has its name. A handshake of 50 ms comes before, of segments of 1000 bytes, with SACK.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import ackclock
from ackclock.drawing import plot
from ackclock.drawing.picture import METADATA
from ackclock.drawing.request import Request
from ackclock.drawing.style import RC

_EXAMPLE = re.compile(r"^```\n(.*?)^```\n\n!\[[^]]*\]\((pictures/rule-[\w-]+\.svg)\)", re.MULTILINE | re.DOTALL)
_PACKET = re.compile(r"(?:^|(?<= ))(\d+(?:\.\d+)?) +([<>]) (.*?)(?= {2,}\d+(?:\.\d+)? +[<>]|$)", re.MULTILINE)
_SYN, _ACK = 2, 16
_WINDOW = 60_000
_BEFORE = 0.05  # of the time that an example takes, on both sides


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet of an example; `ms` since the SYN, bytes as in the page."""

    ms: float
    sent: bool
    begin: int = 1
    length: int = 0
    ack: int = 1
    flags: int = _ACK
    window: int = _WINDOW
    identification: int = 0
    options: bytes = b""

    def frame(self) -> bytes:
        """Header of IP, header of TCP, and no payload."""
        length = 40 + len(self.options) + self.length
        hosts = [b"\xc0\x00\x02\x01", b"\xc0\x00\x02\x02"]
        ports = [40_000, 80]
        if not self.sent:
            hosts, ports = hosts[::-1], ports[::-1]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, length, self.identification, 0x4000, 64, 6, 0) + b"".join(hosts)
        head = struct.pack(">HHIIBB", *ports, self.begin, self.ack, (5 + len(self.options) // 4) << 4, self.flags)
        return ip + head + struct.pack(">HHH", self.window, 0, 0) + self.options


def examples(page: str) -> dict[str, str]:
    """The examples of the page by the picture that each has."""
    return {name: text for text, name in _EXAMPLE.findall(page)}


def packets(example: str) -> list[Packet]:
    """The packets of an example. Raises ``SystemExit`` for one without any."""
    found = list(_read(example))
    if not found:
        raise SystemExit(f"generate: no packet in the example\n{example}")
    return found


def _read(example: str) -> Iterator[Packet]:
    for ms, way, text in _PACKET.findall(example):
        sent = way == ">"
        data = re.match(r"(\d+)(?:\.\.(\d+))?", text)
        begin = int(data[1]) if data else 1
        length = int(data[2]) - begin if data and data[2] else 0
        said = {name: int(found[1]) for name in ("ack", "window", "id", "TS", "echo") if (found := _number(name, text))}
        blocks = [int(edge) for pair in re.findall(r"sack (\d+)\.\.(\d+)", text) for edge in pair]
        options = b"\x01\x01\x08\x0a" + struct.pack(">II", said["TS"], said.get("echo", 0)) if "TS" in said else b""
        if blocks:
            options += b"\x01\x01\x05" + struct.pack(f">B{len(blocks)}I", 2 + 4 * len(blocks), *blocks)
        yield Packet(
            float(ms), sent, begin, length, said.get("ack", 1), _ACK, said.get("window", _WINDOW), said.get("id", 0),
            options,
        )  # fmt: skip


def _number(name: str, text: str) -> re.Match[str] | None:
    return re.search(rf"(?<![\w(]){name} (\d+)", text)


def capture(example: str, file: Path) -> Path:
    """The example as a file of the format pcap, times in nanoseconds."""
    offer = b"\x02\x04" + struct.pack(">H", 1000) + b"\x01\x01\x04\x02"
    before = [
        Packet(0.0, sent=True, begin=0, ack=0, flags=_SYN, options=offer),
        Packet(50.0, sent=False, begin=0, flags=_SYN | _ACK, options=offer),
        Packet(50.1, sent=True),
    ]
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 101)]
    for packet in [*before, *packets(example)]:
        frame = packet.frame()
        at = round(packet.ms * 1e6)
        parts += [struct.pack("<IIII", 0, at, len(frame), len(frame) + packet.length), frame]
    file.write_bytes(b"".join(parts))
    return file


def picture(example: str) -> str:
    """The SVG of an example: its sequence graph, from its first packet to its last."""
    times = [packet.ms / 1e3 for packet in packets(example)]
    aside = _BEFORE * (max(times) - min(times))
    with tempfile.TemporaryDirectory() as folder:
        result = ackclock.pcap(capture(example, Path(folder) / "example.pcap"), series=True, events=True)
        asked = Request("sequence", start=min(times) - aside, end=max(times) + aside)
        file = Path(folder) / "picture.svg"
        figure = plot.figure(plot.specify(result, asked).chart)
        # Text stays text, which a page can be searched for; that of figures for papers is drawn.
        with mpl.rc_context({**RC, "svg.fonttype": "none"}):
            Figure.savefig(figure, file, metadata=METADATA[".svg"])
        return file.read_text(encoding="utf-8")
