"""A summary without tables says, to the letter, what one from tables says."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import pcaps
from ackclock.cli.app import main
from ackclock.pcaps import digest
from ackclock.pcaps.inputs import collected
from ackclock.pcaps.reading import Options
from shared import ROOT

KERNEL = ROOT / "conformance" / "captures" / "kernel"
TIMES = (0.0, 0.040, 0.041, 0.042, 0.090)


def connection(number: int, *, data: int = 1000, answered: bool = True) -> list[tuple[float, bytes]]:
    """A connection that begins at second `number` / 1000 from a port of its own."""
    plain = [pcaps.tcp(100, 0, pcaps.SYN, options=pcaps.MSS)]
    if answered:
        plain += [
            pcaps.tcp(500, 101, pcaps.SYN | pcaps.ACK, back=True, options=pcaps.MSS),
            pcaps.tcp(101, 501, pcaps.ACK),
            pcaps.tcp(101, 501, pcaps.ACK, payload=data),
            pcaps.tcp(501, 101 + data, pcaps.ACK, back=True),
        ]
    port = struct.pack(">H", 1024 + number)
    sides = [20 if packet[12:16] == b"\xc0\x00\x02\x01" else 22 for packet in plain]
    own = [packet[:at] + port + packet[at + 2 :] for packet, at in zip(plain, sides, strict=True)]
    return [(1 + number / 1000 + at, packet) for at, packet in zip(TIMES, own, strict=False)]


def interfaces(path: Path, packets: list[tuple[float, int, bytes]], count: int) -> Path:
    """A file of pcapng whose packets passed several interfaces."""
    data = pcaps.block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    for number in range(count):
        name = pcaps.option(2, b"eth%d" % number)
        data += pcaps.block(1, struct.pack("<HHI", 101, 0, 0) + name + pcaps.option(0, b""))
    blocks = []
    for at, interface, packet in sorted(packets):
        micros = 10**15 + round(at * 1e6)
        length = int.from_bytes(packet[2:4])
        head = struct.pack("<IIIII", interface, micros >> 32, micros & 0xFFFFFFFF, len(packet), length)
        blocks.append(pcaps.block(6, head + packet + bytes(-len(packet) % 4)))
    path.write_bytes(data + b"".join(blocks))
    return path


def many(count: int) -> list[tuple[float, bytes]]:
    """So many connections, of sizes that repeat, and some whose SYN nobody answers."""
    every = [connection(number, data=1 + number * 7919 % 1400, answered=number % 10 > 0) for number in range(count)]
    return sorted(packet for each in every for packet in each)


def twice(packets: list[tuple[float, bytes]]) -> list[tuple[float, int, bytes]]:
    """Packets as they pass an interface near the sender and, 10 ms later, one behind it."""
    late = [(at + (0.01 if packet[12:16] == b"\xc0\x00\x02\x01" else -0.01), 1, packet) for at, packet in packets]
    return [(at, 0, packet) for at, packet in packets] + late


CAPTURES: dict[str, Callable[[Path], list[Path]]] = {
    "downloads": lambda folder: [pcaps.download(folder / "a.pcapng")],
    "two files": lambda folder: [pcaps.download(folder / f"{seed}.pcapng", run__seed=seed) for seed in (1, 2)],
    "named twice": lambda folder: [pcaps.pcap(folder / "a.pcap", pcaps.HELLO)] * 2,
    "nothing": lambda folder: [pcaps.pcap(folder / "a.pcap", [])],
    "damaged": lambda folder: [_cut(pcaps.download(folder / "a.pcapng", run__duration="2 s"))],
    "drops": lambda folder: [pcaps.pcapng(folder / "a.pcapng", [*pcaps.HELLO, (2.0, b"\x45\x00")], drops=3)],
    "many": lambda folder: [pcaps.pcap(folder / "a.pcap", many(3000))],
    "few at two places": lambda folder: [interfaces(folder / "a.pcapng", twice(many(60)), 2)],
    "many at two places": lambda folder: [interfaces(folder / "a.pcapng", twice(many(3000)), 2)],
    "another place late": lambda folder: [
        interfaces(folder / "a.pcapng", [*((at, 0, each) for at, each in many(2500)), *twice(connection(60000))], 2)
    ],
    **{name: lambda _, name=name: [KERNEL / f"{name}.sender.pcap.gz"]  # type: ignore[misc]
       for name in ("spike", "slow_reader", "acks10", "short")},
    "both ends": lambda _: [KERNEL / f"blackout.{place}.pcap.gz" for place in ("sender", "middle", "receiver")],
}  # fmt: skip


def _cut(file: Path) -> Path:
    file.write_bytes(file.read_bytes()[:-1001])
    return file


@pytest.mark.parametrize("options", [(), ("--most", "2"), ("--most", "2500", "--anonymise"), ("--sort", "100")])
@pytest.mark.parametrize("name", CAPTURES)
def test_a_digest_says_what_tables_say(
    name: str,
    options: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [str(file) for file in CAPTURES[name](tmp_path)]
    assert main(["pcap", *files, *options]) == 0
    said = capsys.readouterr()
    assert said.out
    monkeypatch.setattr(digest, "digest", lambda *_, **__: None)
    assert main(["pcap", *files, *options]) == 0
    assert capsys.readouterr() == said


def test_only_many_connections_at_several_places_take_tables(tmp_path: Path) -> None:
    def found(file: Path, most: int = 8) -> bool:
        return digest.digest(collected(file), Options(), most) is not None

    one, few, several = tmp_path / "one.pcap", tmp_path / "few.pcapng", tmp_path / "several.pcapng"
    assert found(pcaps.pcap(one, many(3000)))
    assert found(interfaces(few, twice(many(900)), 2))
    assert not found(interfaces(several, twice(many(3000)), 2))
    assert not found(one, digest.MOST + 1)
    os.mkfifo(tmp_path / "pipe")  # which can be read once
    assert not found(tmp_path / "pipe")
