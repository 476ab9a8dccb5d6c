"""Captures of simulated runs, read by a few lines of their own: what is in them is what the tables say."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.cli.app import main
from pcapng import File, Packet, read
from shared import ROOT

LOSSY: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": "20 Mbit/s",
        "rtt": "40 ms",
        "queue": {"kind": "droptail", "limit": "30 packets"},
        "loss": "0.2 %",
    },
    "flows": [{"cc": "cubic", "count": 2}],
    "run": {"duration": "10 s", "seed": 5, "capture": ["flows", "links.bottleneck"]},
}


def payload(packet: Packet) -> int:
    return packet.original - 20 - (packet.captured[32] >> 4) * 4


def folded(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> tuple[File, ackclock.Result]:
    path = tmp_path_factory.mktemp("captures") / "run.pcapng"
    (written,) = ackclock.capture(LOSSY, path)
    file = read(path)
    assert (written.run, written.file, written.packets) == (0, path, len(file.packets))
    assert [entry.name for entry in path.parent.iterdir()] == ["run.pcapng"]
    return file, ackclock.run(LOSSY, jobs=1)


def test_interfaces_and_what_the_file_says_of_itself(lossy: tuple[File, ackclock.Result]) -> None:
    file, _ = lossy
    ends = [f"flows.{flow}.{end}" for flow in (0, 1) for end in ("source", "sink")]
    assert file.interfaces == [*ends, "links.bottleneck.in", "links.bottleneck.out"]
    assert file.comment | {"scenario": ""} == {
        "scenario": "",
        "seed": 5,
        "run": 0,
        "version": ackclock.catalogue().version,
    }
    times = [packet.at_ns for packet in file.packets]
    assert times == sorted(times)
    assert times[-1] <= 10_000_000_000


def test_packets_are_those_of_the_tables(lossy: tuple[File, ackclock.Result]) -> None:
    file, result = lossy
    for flow, row in enumerate(result.flows.iter_rows(named=True)):
        source = f"10.0.0.{2 * flow + 1}"
        sent = [p for p in file.at(f"flows.{flow}.source") if ".".join(map(str, p.captured[12:16])) == source]
        data = [packet for packet in sent if payload(packet) > 0]
        again = [packet for packet in data if "rtx" in packet.comment]
        assert len(data) == row["sent_segments"]
        assert len(again) == row["retransmitted_segments"] > 0
        assert sum(map(payload, again)) == row["retransmitted_bytes"]
        causes = Counter(packet.comment["rtx"] for packet in again)
        assert causes["rto"] == row["timeouts"]
        assert causes["fast"] > 0
        # A packet that was sent before has been seen before: the comments are on the right ones.
        seen: set[bytes] = set()
        for packet in data:
            seq = packet.captured[24:28]
            assert (seq in seen) == ("rtx" in packet.comment)
            seen.add(seq)
        ids = [struct.unpack(">H", packet.captured[4:6])[0] for packet in sent]
        assert ids == [1 + number % 0xFFFF for number in range(len(ids))]


def test_drops_and_losses_stand_at_the_input(lossy: tuple[File, ackclock.Result]) -> None:
    file, result = lossy
    row = result.links.filter(result.links["id"] == "bottleneck").row(0, named=True)
    into, out = file.at("links.bottleneck.in"), file.at("links.bottleneck.out")
    reasons = Counter(packet.comment["drop"] for packet in into if "drop" in packet.comment)
    assert reasons == {"full": row["drops"], "lost": row["lost"]}
    assert min(reasons.values()) > 0
    key = lambda packet: (packet.captured[12:16], packet.captured[4:6])  # noqa: E731
    come = {key(packet) for packet in out}
    for packet in into:
        assert not ("drop" in packet.comment and key(packet) in come)


def test_checksums_hold_and_lengths_agree(lossy: tuple[File, ackclock.Result]) -> None:
    for packet in lossy[0].packets:
        header, segment = packet.captured[:20], packet.captured[20:]
        length = packet.original - 20
        pseudo = header[12:20] + struct.pack(">HH", 6, length)
        assert folded(header) == 0xFFFF
        assert folded(pseudo + segment) == 0xFFFF
        assert struct.unpack(">H", header[2:4]) == (packet.original,)
        assert len(packet.captured) == min(packet.original, 96)


@pytest.mark.parametrize(
    "name", ["lte-web", "web", "l4s", "fq-codel", "policer", "profiles", "scripted-loss", "asymmetric"]
)
def test_scenarios_of_all_kinds(name: str, tmp_path: Path) -> None:
    change = {"run.duration": "3 s", "run.warmup": "0 s", "run.replications": 1, "run.capture": ["flows", "links"]}
    plan = ackclock.load(ROOT / "scenarios" / f"{name}.toml", set=change)
    (first, *_) = ackclock.capture(plan, tmp_path / "run.pcapng")
    file = read(first.file)
    for packet in file.packets:
        assert folded(packet.captured[:20]) == 0xFFFF
    assert first.packets == len(file.packets) > 100
    # Data leave at the source, where addresses are odd, acknowledgments at the sink; what arrives has left.
    name_of = lambda packet: packet.captured[4:6] + packet.captured[12:20]  # noqa: E731
    ends = [packet for packet in file.packets if packet.interface.startswith("flows")]
    leaves = [packet.interface.endswith(".source") == (packet.captured[15] % 2 == 1) for packet in ends]
    left = {name_of(packet) for packet, leaving in zip(ends, leaves, strict=True) if leaving}
    come = {name_of(packet) for packet, leaving in zip(ends, leaves, strict=True) if not leaving}
    assert come
    assert come <= left


def test_the_same_run_makes_the_same_bytes_and_several_have_a_file_each(tmp_path: Path) -> None:
    several = LOSSY | {"run": LOSSY["run"] | {"duration": "1 s", "replications": 2}}
    for name in ("a", "b"):
        written = ackclock.capture(several, tmp_path / f"{name}.pcapng")
        assert [one.file.name for one in written] == [f"{name}-0.pcapng", f"{name}-1.pcapng"]
    files = [[(tmp_path / f"{name}-{run}.pcapng").read_bytes() for run in (0, 1)] for name in ("a", "b")]
    assert files[0] == files[1]
    assert files[0][0] != files[0][1], "other losses"


def test_ethernet(tmp_path: Path) -> None:
    short = LOSSY | {"run": LOSSY["run"] | {"duration": "100 ms"}}
    ackclock.capture(short, tmp_path / "run.pcapng", link_type="ethernet")
    packet = read(tmp_path / "run.pcapng").packets[0]
    assert packet.captured[12:15] == b"\x08\x00\x45"


SHORT = ["run", str(ROOT / "scenarios" / "single-flow.toml"), "--set", 'run.duration="1 s"']


def test_the_command_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--capture", str(tmp_path / "run.pcapng")]) == 0
    packets = len(read(tmp_path / "run.pcapng").packets)
    assert f"run.pcapng ({packets:,} packets)".replace(",", " ") in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--capture", "nowhere/run.pcapng"], "nowhere/run.pcapng: cannot write the capture there; give a file"),
        (["--capture", "."], "it is a directory; give the name of a file"),
        (["--set", 'run.capture="links.none"'], "no link has the id 'none'; there are bottleneck"),
        (["--set", 'run.capture="nodes"'], "'nodes' is no place where packets can be captured; write"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, *arguments]) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert said.count("\n") == 1


def test_a_window_that_a_filled_hole_left_small_is_opened_at_once(tmp_path: Path) -> None:
    """As Linux does when what had waited behind a hole is read: packets 315 to 317 of small_window_loss.receiver."""
    scenario = {
        "topology": {
            "kind": "chain",
            "hops": [
                {"rate": "unlimited", "delay": "5 ms", "loss": {"drops": [{"flow": "0", "nth": 200}]}},
                {"rate": "20 Mbit/s", "delay": "13 ms", "queue": {"kind": "droptail", "limit": "400 packets"}},
            ],
        },
        "flows": [{"bytes": "1 MB", "profile": "linux", "tcp": {"receive_buffer": "65536 B"}}],
        "run": {"duration": "10 s"},
    }
    ackclock.capture(scenario, tmp_path / "run.pcapng")
    seen = ackclock.pcap(str(tmp_path / "run.pcapng"), series=True)
    at_sink = seen.flows.filter((pl.col("vantage") == "receiver") & (pl.col("goodput_bytes") > 0))["id"][0]
    said = seen.series.filter((pl.col("metric") == "rwnd") & (pl.col("id") == at_sink) & (pl.col("time_s") > 0.2))
    times, windows = said["time_s"].to_list(), said["value"].to_list()
    small = windows.index(min(windows))
    assert windows[small] < 10_000
    assert windows[small + 1] == 65_536
    assert times[small + 1] - times[small] < 0.001, "it waits for no further data"
