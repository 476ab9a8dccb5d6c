"""Captures that are broken or mean harm: one line, or what there is; and never a character that a terminal obeys."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ackclock
import pcaps
from ackclock.cli.app import main
from ackclock.pcaps.escaped import escaped, in_csv

EVIL = b"\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\xe2\x80\xae=cmd"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b"hello, world\n" * 4, "is no capture"),
        (bytes.fromhex("d4c3b2a1") + b"\x02\0\x04\0", "ends within the header"),
        (bytes.fromhex("0a0d0d0a"), "ends within the header"),
        (b"\x1f\x8b\x08\0broken", ""),
    ],
)
def test_what_is_no_capture_is_one_line(
    data: bytes, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.pcap"
    file.write_bytes(data)
    assert main(["pcap", str(file)]) == 2
    err = capsys.readouterr().err
    assert problem in err
    assert err.count("\n") == 1
    assert "a.pcap" in err
    assert main(["pcap", str(file), "--out", str(tmp_path / "kept")]) == 2
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.pcap"]


def test_a_capture_that_is_cut_has_what_came_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO)
    file.write_bytes(file.read_bytes()[:-10])
    assert main(["pcap", str(file)]) == 0
    out, err = capsys.readouterr()
    assert "TRUNCATED" in out
    assert "4 packets" in out
    assert "the file ends within the next one" in err
    found = ackclock.pcap(file)
    assert found.captures["truncated"][0] is not None
    assert len(found.warnings) == 1


def test_a_length_of_4_gib_is_not_believed(tmp_path: Path) -> None:
    file = pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO)
    file.write_bytes(file.read_bytes() + struct.pack("<IIII", 10**9 + 2, 0, 0xFFFF_FFF0, 0xFFFF_FFF0) + bytes(64))
    found = ackclock.pcap(file)
    assert found.captures["packets"].to_list() == [5]
    assert "4294967280" in found.captures["truncated"][0]


def test_garbage_between_packets_counts_and_changes_nothing(tmp_path: Path) -> None:
    clean = ackclock.pcap(pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO))
    garbage = [(at + 0.0001, bytes([0x45]) + bytes(range(40))) for at, _ in pcaps.HELLO]
    dirty = ackclock.pcap(pcaps.pcap(tmp_path / "b.pcap", sorted([*pcaps.HELLO, *garbage])))
    assert dirty.flows.drop("file").equals(clean.flows.drop("file"))
    row = dirty.captures.row(0, named=True)
    lost = row["malformed"] + sum(row[name] for name in row if name.startswith("skipped_"))
    assert (row["packets"], row["segments"], lost) == (10, 5, 5)


def test_text_of_a_file_moves_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a\x1b[31mb"
    folder.mkdir()
    file = pcaps.pcapng(folder / "=x\x07.pcapng", pcaps.HELLO, name=EVIL, drops=3)
    other = pcaps.pcapng(tmp_path / "b.pcapng", pcaps.HELLO, name=EVIL)
    for options in ([], ["--json"], ["--flows"], ["--events"], ["--flows", "--json"]):
        assert main(["pcap", str(file), str(other), *options]) == 0
        out, err = capsys.readouterr()
        shown = out + err
        assert not [each for each in shown if not each.isprintable() and each != "\n"], options
        assert "\u202e" not in shown
    assert main(["pcap", str(folder / "missing\x1b.pcap")]) == 2
    assert "\x1b" not in capsys.readouterr().err
    found = ackclock.pcap(file)
    assert found.captures["name"][0].startswith("\\x1b]0;owned\\x07")
    assert "\x1b" not in json.dumps(found.manifest, ensure_ascii=False)
    assert "3 packets" in found.warnings[0]
    assert "<script>" not in found._repr_html_()


def test_a_spreadsheet_takes_no_text_for_a_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = pcaps.pcap(tmp_path / "=1+2.pcap", pcaps.HELLO)
    assert main(["pcap", str(file), "--flows"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ",'=1+2.pcap," in lines[1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("eth0", "eth0"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u202e", "\\u202e"),
        ("\\x1b", "\\\\x1b"),
        ("a" * 300, "a" * 200 + "..."),
    ],
)
def test_escaping(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_cells_of_csv() -> None:
    assert [in_csv(text) for text in ("=a", "+1", "-1", "@x", "eth0", "")] == ["'=a", "'+1", "'-1", "'@x", "eth0", ""]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--sort", "-1"], "cannot be sorted"),
        (["--max-bytes", "0"], "are no file"),
        (["--most", "0"], "cannot be shown"),
        (["--check"], "has no truth in its comments"),
    ],
)
def test_options_that_make_no_sense_are_one_line(
    options: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pcap", str(pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO)), *options]) == 2
    err = capsys.readouterr().err
    assert problem in err
    assert err.count("\n") == 1


def test_max_bytes_ends_a_file_early(tmp_path: Path) -> None:
    file = pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO)
    found = ackclock.pcap(file, max_bytes=24 + 16 + 44 + 16 + 44)
    assert found.captures["packets"].to_list() == [2]


def test_sorting_mends_an_order_that_is_not_that_of_time(tmp_path: Path) -> None:
    """Two interfaces of a card hand over packets in turns: the acknowledgment comes before what it acknowledges."""
    a, b, c, data, ack = pcaps.HELLO
    file = pcaps.pcap(tmp_path / "a.pcap", [a, b, c, ack, data])
    plain, sorted_ = (ackclock.pcap(file, sort=sort).flows.row(0, named=True) for sort in (0, 8))
    assert plain["ack_unseen"] == 1
    assert (sorted_["ack_unseen"], sorted_["goodput_bytes"], sorted_["rtt_samples"]) == (0, 1000, 1)


def test_merged_interfaces_are_one_connection(tmp_path: Path) -> None:
    """Requests at one interface, answers at another."""
    data = pcaps.block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += 2 * pcaps.block(1, struct.pack("<HHI", 101, 0, 0))
    for at, packet in pcaps.HELLO:
        micros = 10**15 + round(at * 1e6)
        interface = int(packet[12:16] == b"\xc0\x00\x02\x02")
        head = struct.pack("<IIIII", interface, micros >> 32, micros & 0xFFFFFFFF, len(packet), len(packet))
        data += pcaps.block(6, head + packet + bytes(-len(packet) % 4))
    file = tmp_path / "a.pcapng"
    file.write_bytes(data)
    apart, merged = ackclock.pcap(file).flows, ackclock.pcap(file, merge_interfaces=True).flows
    assert (apart.height, merged.height) == (4, 2)
    assert apart["one_sided"].all()
    assert not merged["one_sided"].any()


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Of captures with 20 000 and 200 000 packets, with series and events, the second needs hardly more memory."""
    script = textwrap.dedent(
        """
        import resource, sys
        import ackclock.cli.app
        code = ackclock.cli.app.main(["pcap", sys.argv[1], "--series", "--events", "--out", sys.argv[2]])
        print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
        """
    )
    used = []
    for count in (20_000, 200_000):
        packets = pcaps.HELLO[:3] + [
            (1.05 + at * 1e-4, pcaps.tcp(101 + 1000 * (at // 2), 501, pcaps.ACK, payload=1000))
            if at % 2 == 0
            else (1.05 + at * 1e-4, pcaps.tcp(501, 101 + 1000 * (at // 2 + 1), pcaps.ACK, back=True))
            for at in range(count)
        ]
        file = pcaps.pcap(tmp_path / f"{count}.pcap", packets)
        command = [sys.executable, "-c", script, str(file), str(tmp_path / f"kept{count}")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        code, kilobytes = done.stderr.splitlines()[-1].split()
        assert code == "0"
        used.append(int(kilobytes))
    rows = ackclock.Result.load(tmp_path / "kept200000").series.height
    assert rows > 500_000
    # Samples take 30 bytes in memory each: 20 MB more, if they all were in memory.
    assert used[1] < used[0] + 100_000, used


def test_colons_are_no_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The library that prints tables draws `:ab:`, which an address of IPv6 may have."""
    for label, name in (("a:ab:1", ":ab:.pcap"), ("b:ab:2", "b:b:.pcap")):
        (tmp_path / label).mkdir()
        pcaps.pcap(tmp_path / label / name, pcaps.HELLO)
        assert main(["pcap", str(tmp_path / label / name)]) == 0
        assert capsys.readouterr().out.startswith(f"{name}: ")
    assert main(["pcap", str(tmp_path / "a:ab:1"), str(tmp_path / "b:ab:2")]) == 0
    out = capsys.readouterr().out
    assert out.count("a:ab:1") >= 2
    assert out.count("b:ab:2") >= 2


def test_payload_is_in_nothing_that_comes_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marker = b"SeCrEtOfThePayload"
    packets = list(pcaps.HELLO)
    packets[3] = (1.042, pcaps.tcp(101, 501, pcaps.ACK, payload=1000) + (marker * 56)[:1000])
    # A retransmission, so that there is an event of it, and what no known protocol is.
    packets += [(1.4, packets[3][1]), (1.5, marker * 4)]
    file = pcaps.pcap(tmp_path / "a.pcap", packets)
    assert marker in file.read_bytes()
    kept = tmp_path / "kept"
    printed = ""
    kept.mkdir()
    figure = ["--plot", str(kept / "figure.svg")]
    for options in ([], ["--json"], ["--flows"], ["--series"], ["--events"], ["--out", str(kept / "result")], figure):
        assert main(["pcap", str(file), *options]) == 0
        printed += "".join(capsys.readouterr())
    assert "192.0.2.1" in printed
    assert marker.decode() not in printed
    written = [item for item in kept.rglob("*") if item.is_file()]
    assert len(written) >= 3
    assert not [item for item in written if marker in item.read_bytes()]
    found = ackclock.pcap(file, series=True, events=True)
    assert found.flows["retransmitted_segments"].sum() == 1
    for table in (found.flows, found.series, found.events, found.captures):
        assert marker.decode() not in table.write_json()


def test_connections_come_in_the_order_of_their_first_packets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def of(port: int, packet: tuple[float, bytes], later: float) -> tuple[float, bytes]:
        at, data = packet
        back = data[20:22] == b"\x00\x50"
        place = 22 if back else 20
        return at + later, data[:place] + struct.pack(">H", port) + data[place + 2 :]

    def ended(port: int, later: float) -> list[tuple[float, bytes]]:
        reset = (2.0, pcaps.tcp(1101, 501, pcaps.ACK | 4))
        return [of(port, packet, later) for packet in [*pcaps.HELLO, reset]]

    # The first begins first and ends last; what ends is written out after some seconds, long before.
    first = [of(50000, packet, 0.0) for packet in pcaps.HELLO]
    second, third = ended(40002, 0.5), ended(40001, 0.6)
    last = of(50000, (60.0, pcaps.tcp(1101, 501, pcaps.ACK, payload=10)), 0.0)
    packets = sorted([*first, *second, *third, last], key=lambda packet: packet[0])
    file = pcaps.pcap(tmp_path / "a.pcap", packets)
    ports = [50000, 40002, 40001]
    found = ackclock.pcap(file).flows
    assert [port for port in found["sport"].to_list() if port != 80] == ports
    assert main(["pcap", str(file), "--json"]) == 0
    text = capsys.readouterr().out
    assert sorted(ports, key=lambda port: text.index(str(port))) == ports
    assert main(["pcap", str(file)]) == 0
    text = capsys.readouterr().out
    assert sorted(ports, key=lambda port: text.index(str(port))) == ports
