"""The path between real kernels is the simulator's: the same arrivals leave at the same nanoseconds."""

from __future__ import annotations

import json
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import kernel
from ackclock.scenario.compile import compile_run
from ackclock.scenario.plan import Plan, load
from test_captures import Packet, read

Times = Counter[tuple[int, bytes]]


def scenario(topology: dict[str, Any], flows: list[dict[str, Any]], duration: str = "10 s") -> Plan:
    return load({"topology": topology, "flows": flows, "run": {"duration": duration, "seed": 3}})


def whole(packet: Packet) -> bytes:
    """The bytes of a packet: captures keep the headers, and its payload means nothing."""
    return packet.captured + bytes(packet.original - len(packet.captured))


def replayed(plan: Plan, arrivals: list[tuple[int, bytes]], folder: Path) -> list[tuple[int, bytes]]:
    """What leaves the path of the emulator for these arrivals."""
    document = folder / "run.json"
    document.write_text(json.dumps(compile_run(plan.points[0].scenario)), encoding="utf-8")
    record = b"".join(struct.pack("<QI", at, len(packet)) + packet for at, packet in arrivals)
    done = subprocess.run([kernel.program(), "replay", str(document)], input=record, capture_output=True, check=True)
    out, at, found = done.stdout, 0, list[tuple[int, bytes]]()
    while at < len(out):
        when, length = struct.unpack_from("<QI", out, at)
        found.append((when, out[at + 12 : at + 12 + length]))
        at += 12 + length
    return found


def both(plan: Plan, folder: Path) -> tuple[Times, Times, int]:
    """What left the path in the simulator, what leaves that of the emulator, and how many packets entered."""
    ackclock.capture(plan, folder / "run.pcapng")
    entered, left = list[tuple[int, bytes]](), Times()
    for packet in read(folder / "run.pcapng").packets:
        # Hosts are numbered from 1, the source of each flow before its sink.
        from_source = packet.captured[15] % 2 == 1
        at_source = packet.interface.endswith("source")
        if from_source == at_source:
            entered.append((packet.at_ns, whole(packet)))
        else:
            left[packet.at_ns, whole(packet)] += 1
    return left, Times(replayed(plan, entered, folder)), len(entered)


DUMBBELL = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "queue": {"kind": "droptail", "limit": "1 BDP"}}
TWO = [{"cc": "cubic"}, {"cc": "reno", "start": "1 s"}]
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str]] = {
    "ten megabits, a minute": (DUMBBELL, TWO, "60 s"),
    "a hundred megabits, a minute": (DUMBBELL | {"rate": "100 Mbit/s"}, [{"cc": "cubic"}], "60 s"),
    "framing and losses": (DUMBBELL | {"loss": "0.5 %", "link_overhead": "14 B"}, TWO, "10 s"),
    "marks of an AQM": (
        DUMBBELL | {"queue": {"kind": "fq_codel", "limit": "1000 packets", "ecn": True}},
        [{"cc": "reno", "tcp": {"ecn": "classic"}, "count": 3}],
        "10 s",
    ),
    "what overtakes and comes twice": (
        DUMBBELL
        | {
            "jitter": {"kind": "exponential", "mean": "2 ms"},
            "duplicate": "1 %",
            "reorder": {"p": "1 %", "extra": "8 ms"},
        },
        TWO,
        "10 s",
    ),
    "random early drops and datagrams": (
        DUMBBELL | {"queue": {"kind": "red", "limit": "100 packets"}},
        [{"cc": "cubic"}, {"app": {"kind": "on-off", "rate": "3 Mbit/s"}}],
        "10 s",
    ),
    "several links": (
        {
            "kind": "parking-lot",
            "hops": [
                {"count": 3, "rate": "10 Mbit/s", "delay": "5 ms", "queue": {"kind": "droptail", "limit": "1 BDP"}}
            ],
        },
        [{"cc": "cubic"}, {"cc": "reno", "over": 1}],
        "10 s",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_packets_leave_when_they_leave_the_simulators_path(name: str, tmp_path: Path) -> None:
    left, found, entered = both(scenario(*CASES[name]), tmp_path)
    assert entered > 2000
    assert not left - found, f"{sum((left - found).values())} of {sum(left.values())} packets leave otherwise"
    assert not found - left


def test_a_link_without_a_rate_only_delays(tmp_path: Path) -> None:
    left, found, entered = both(scenario(DUMBBELL | {"reverse": {"rate": "unlimited"}}, TWO), tmp_path)
    assert entered > 2000
    # What passes it, from the sinks, takes the least time that there is: a nanosecond.
    assert found == Times({(at + (packet[15] % 2 == 0), packet): times for (at, packet), times in left.items()})


def test_a_record_that_is_none_is_refused(tmp_path: Path) -> None:
    document = tmp_path / "run.json"
    document.write_text(json.dumps(compile_run(scenario(DUMBBELL, TWO).points[0].scenario)), encoding="utf-8")
    for record in (b"\0" * 9, struct.pack("<QI", 5, 99_999), struct.pack("<QIQI", 5, 0, 4, 0)):
        done = subprocess.run(
            [kernel.program(), "replay", str(document)], input=record, capture_output=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr.startswith(b"the record cannot be played: ")
        assert done.stderr.count(b"\n") == 1
