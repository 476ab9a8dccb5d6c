"""What stands around IP: link types, tunnels and overlays, beside what tshark reads; and what is not read."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import ackclock
from ackclock.cli.app import main
from pcaps import ACK, MSS, SYN, pcap, tcp

PACKETS = [
    (1.000, tcp(100, 0, SYN, options=MSS)),
    (1.040, tcp(500, 101, SYN | ACK, back=True, options=MSS)),
    (1.041, tcp(101, 501, ACK)),
    *((1.042 + i * 1e-4, tcp(101 + 500 * i, 501, ACK, payload=500)) for i in range(20)),
    (1.090, tcp(501, 10_101, ACK, back=True)),
]
BYTES = 10_000
SNAP = b"\xaa\xaa\x03\x00\x00\x00\x08\x00"
ETHERNET = bytes(12) + b"\x08\x00"


def payload(packet: bytes) -> bytes:
    """The packet with the payload that it was captured without."""
    return packet + bytes(struct.unpack(">H", packet[2:4])[0] - len(packet))


def ip(protocol: int, content: bytes, back: bool) -> bytes:
    hosts = (b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02")
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(content), 1, 0, 64, protocol, 0, *hosts[:: -1 if back else 1])
    return head + content


def udp(port: int, content: bytes, back: bool) -> bytes:
    return ip(17, struct.pack(">HHHH", 50_000, port, 8 + len(content), 0) + content, back)


def wireless(packet: bytes, _: bool, *, qos: bool = True) -> bytes:
    control = b"\x88\x01" if qos else b"\x08\x02"
    return control + bytes(22) + (b"\x00\x00" if qos else b"") + SNAP + packet


def radiotap(packet: bytes, back: bool) -> bytes:
    """With the time and flags that say the header of the frame is padded: 26 bytes to 28."""
    frame = wireless(packet, back)
    return struct.pack("<BBHIQB", 0, 0, 17, 3, 7, 0x20) + frame[:26] + b"\x00\x00" + frame[26:]


def nflog(packet: bytes, _: bool) -> bytes:
    attribute = struct.pack("<HH", 9, 1) + b"input" + bytes(3)
    return b"\x02\x00\x00\x05" + attribute + struct.pack("<HH", 4 + len(packet), 9) + packet + bytes(-len(packet) % 4)


def pktap(packet: bytes, _: bool) -> bytes:
    return struct.pack("<III", 108, 1, 1) + bytes(96) + ETHERNET + packet


LINKS: dict[str, tuple[int, Callable[[bytes, bool], bytes]]] = {
    "Cisco HDLC": (104, lambda packet, _: b"\x0f\x00\x08\x00" + packet),
    "802.11 with QoS": (105, wireless),
    "802.11": (105, lambda packet, back: wireless(packet, back, qos=False)),
    "radiotap": (127, radiotap),
    "ENC": (109, lambda packet, _: struct.pack("<III", 2, 0, 0) + packet),
    "PFLOG": (117, lambda packet, _: struct.pack(">BBBB", 61, 2, 0, 0) + bytes(60) + packet),
    "NFLOG": (239, nflog),
    "IPoIB": (242, lambda packet, _: bytes(40) + b"\x08\x00\x00\x00" + packet),
    "PKTAP": (258, pktap),
}
TUNNELS: dict[str, Callable[[bytes, bool], bytes]] = {
    "VXLAN": lambda packet, back: udp(4789, b"\x08\x00\x00\x00\x00\x00\x2a\x00" + ETHERNET + packet, back),
    "Geneve": lambda packet, back: udp(
        6081, b"\x01\x00\x65\x58\x00\x00\x2a\x00" + b"\x01\x02\x80\x00" + ETHERNET + packet, back
    ),
    "Geneve without Ethernet": lambda packet, back: udp(6081, b"\x00\x00\x08\x00\x00\x00\x2a\x00" + packet, back),
    "GTP-U": lambda packet, back: udp(
        2152, struct.pack(">BBHI", 0x30, 255, len(packet), 9 if back else 7) + packet, back
    ),
    "GTP-U with an extension": lambda packet, back: udp(
        2152, struct.pack(">BBHI", 0x34, 255, 8 + len(packet), 9) + b"\x00\x01\x00\x85\x01\x00\x05\x00" + packet, back
    ),
    "ERSPAN I": lambda packet, back: ip(47, b"\x00\x00\x88\xbe" + ETHERNET + packet, back),
    "ERSPAN II": lambda packet, back: ip(
        47, b"\x10\x00\x88\xbe\x00\x00\x00\x01\x10\x00\x00\x07" + bytes(4) + ETHERNET + packet, back
    ),
    "ERSPAN III": lambda packet, back: ip(
        47, b"\x10\x00\x22\xeb\x00\x00\x00\x01\x20\x00\x00\x07" + bytes(8) + ETHERNET + packet, back
    ),
}


def shark(path: Path) -> int:
    """Bytes of TCP that tshark finds; the innermost."""
    command = ["tshark", "-r", str(path), "-T", "fields", "-e", "tcp.len"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return sum(int(line.split(",")[-1]) for line in done.stdout.splitlines() if line)


def written(path: Path, link: int, wrap: Callable[[bytes, bool], bytes]) -> Path:
    """The transfer, each packet wrapped; the second host sends the answer."""
    return pcap(
        path, [(at, wrap(payload(packet), packet[12:16] == b"\xc0\x00\x02\x02")) for at, packet in PACKETS], link
    )


def held(path: Path) -> None:
    """Both directions are one connection with all bytes, and its round trip."""
    found = ackclock.pcap(path).flows
    assert found["connection"].n_unique() == 1
    assert found["sent_bytes"].sum() == BYTES
    assert found["handshake_rtt_s"].to_list()[0] == pytest.approx(0.041)
    if shutil.which("tshark"):
        assert shark(path) == BYTES


@pytest.mark.parametrize("name", LINKS)
def test_a_link_type_is_read(name: str, tmp_path: Path) -> None:
    link, wrap = LINKS[name]
    held(written(tmp_path / "a.pcap", link, wrap))


@pytest.mark.parametrize("name", TUNNELS)
def test_a_tunnel_is_opened(name: str, tmp_path: Path) -> None:
    wrap = TUNNELS[name]
    held(written(tmp_path / "a.pcap", 1, lambda packet, back: ETHERNET + wrap(packet, back)))


@pytest.mark.parametrize("order", "<>")
def test_a_logged_packet_of_any_length_is_read(order: str, tmp_path: Path) -> None:
    """A length such as 1284 is smaller, and a possible one, in the other byte order."""
    packets = []
    for number, length in enumerate(range(1, 1461)):
        packet = payload(tcp(101 + 2000 * number, 501, ACK, payload=length))
        attribute = struct.pack(f"{order}HH", 9, 1) + b"input" + bytes(3)
        head = struct.pack(f"{order}HH", 4 + len(packet), 9)
        packets.append((1 + number * 1e-3, b"\x02\x00\x00\x05" + attribute + head + packet + bytes(-len(packet) % 4)))
    found = ackclock.pcap(pcap(tmp_path / "a.pcap", packets, 239))
    assert found.captures["segments"].to_list() == [1460]
    assert found.flows["sent_bytes"].sum() == sum(range(1, 1461))


@pytest.mark.parametrize("most", range(1, 60, 7))
def test_a_header_that_is_cut_is_no_packet(most: int, tmp_path: Path) -> None:
    for link, wrap in LINKS.values():
        path = written(tmp_path / "a.pcap", link, lambda packet, back, wrap=wrap: wrap(packet, back)[:most])
        assert ackclock.pcap(path).flows.height in (0, 2)
    for tunnel in TUNNELS.values():
        path = written(tmp_path / "a.pcap", 1, lambda packet, back, wrap=tunnel: (ETHERNET + wrap(packet, back))[:most])
        assert ackclock.pcap(path).flows.height in (0, 2)


def test_a_datagram_to_the_port_of_a_tunnel_is_a_datagram(tmp_path: Path) -> None:
    for port in (4789, 6081, 2152):
        for content in (b"", b"\xff" * 40, bytes(40)):
            path = written(tmp_path / "a.pcap", 101, lambda _, back, p=port, c=content: udp(p, c, back))
            found = ackclock.pcap(path)
            assert found.flows.is_empty()
            assert found.captures["malformed"].sum() == 0


def encrypted(packet: bytes, back: bool) -> bytes:
    frame = bytearray(wireless(packet, back))
    frame[1] |= 0x40
    return bytes(frame)


@pytest.mark.parametrize(
    ("link", "wrap", "said"),
    [
        (57_845, lambda packet, _: packet, "24 of 24 packets were not read: link type 57845 is not known"),
        (105, encrypted, "in 24 of 24 packets no IP was found: encrypted frames"),
        (1, lambda packet, _: bytes(12) + b"\x81\x00\x00\x01" * 5 + b"\x08\x00" + packet, "more than four VLAN tags"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_not_read_is_said(
    link: int,
    wrap: Callable[[bytes, bool], bytes],
    said: str,
    as_json: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = written(tmp_path / "a.pcap", link, wrap)
    assert main(["pcap", str(path), *(["--json"] if as_json else [])]) == 1
    printed = capsys.readouterr()
    assert said in printed.err
    if as_json:
        assert any(said in warning for warning in json.loads(printed.out)["warnings"])


def test_a_capture_of_something_else_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a.pcap", 101, lambda _, back: udp(53, bytes(30), back))
    assert main(["pcap", str(path)]) == 0
    assert "no connection of TCP" in capsys.readouterr().out
