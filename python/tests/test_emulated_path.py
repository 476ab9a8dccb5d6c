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
from pcapng import Packet, read
from shared import ROOT

Times = Counter[tuple[int, bytes]]


def scenario(topology: dict[str, Any], flows: list[dict[str, Any]], duration: str = "10 s") -> Plan:
    return load({"topology": topology, "flows": flows, "run": {"duration": duration, "seed": 3}})


def whole(packet: Packet) -> bytes:
    """The bytes of a packet: captures keep the headers, and its payload means nothing."""
    return packet.captured + bytes(packet.original - len(packet.captured))


def replayed(plan: Plan, arrivals: list[tuple[int, bytes]], folder: Path, *options: str) -> list[tuple[int, bytes]]:
    """What leaves the path of the emulator for these arrivals."""
    document = folder / "run.json"
    document.write_text(json.dumps(compile_run(plan.points[0].scenario)), encoding="utf-8")
    record = b"".join(struct.pack("<QI", at, len(packet)) + packet for at, packet in arrivals)
    command = [kernel.program(), "replay", str(document), *options]
    done = subprocess.run(command, input=record, capture_output=True, check=True)
    out, at, found = done.stdout, 0, list[tuple[int, bytes]]()
    while at < len(out):
        when, length = struct.unpack_from("<QI", out, at)
        found.append((when, out[at + 12 : at + 12 + length]))
        at += 12 + length
    return found


def simulated(plan: Plan, folder: Path) -> tuple[list[tuple[int, bytes]], Times]:
    """What entered the path in the simulator, and what left it."""
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
    return entered, left


def both(plan: Plan, folder: Path) -> tuple[Times, Times, int]:
    """What left the path in the simulator, what leaves that of the emulator, and how many packets entered."""
    entered, left = simulated(plan, folder)
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
    "a rate that follows a trace": (
        DUMBBELL | {"rate": {"trace": str(ROOT / "scenarios" / "cellular.trace")}, "queue": "100 packets"},
        TWO,
        "10 s",
    ),
    "a rate in steps, and none for a while": (
        DUMBBELL
        | {
            "rate": {
                "steps": [
                    {"at": "0 s", "rate": "10 Mbit/s"},
                    {"at": "1234567 us", "rate": "off"},
                    {"at": "1.5 s", "rate": "3 Mbit/s"},
                ],
                "repeat": "2 s",
            },
            "queue": "60 packets",
        },
        TWO,
        "6 s",
    ),
    "events": (
        DUMBBELL
        | {
            "events": [
                {"at": "1 s", "rate": "2 Mbit/s", "delay": "60 ms"},
                {"at": "2.2 s", "rate": "off"},
                {"at": "2.5 s", "rate": "30 Mbit/s", "loss": "0.5 %"},
                {"at": "4 s", "delay": "5 ms", "jitter": {"kind": "uniform", "low": "0 s", "high": "2 ms"}},
            ]
        },
        TWO,
        "6 s",
    ),
    "a policer": (
        DUMBBELL | {"rate": "100 Mbit/s", "policer": {"rate": "10 Mbit/s", "burst": "50 kB"}},
        TWO,
        "6 s",
    ),
    "a shaper": (
        DUMBBELL | {"rate": "100 Mbit/s", "shaper": {"rate": "10 Mbit/s", "burst": "30 kB"}, "queue": "100 packets"},
        TWO,
        "6 s",
    ),
    "PIE": (DUMBBELL | {"queue": {"kind": "pie"}}, [{"cc": "cubic", "count": 3}], "6 s"),
    "DualPI2, and its marks": (
        DUMBBELL | {"queue": {"kind": "dualpi2"}},
        [{"cc": "prague"}, {"cc": "cubic"}, {"cc": "reno", "tcp": {"ecn": "classic"}}],
        "6 s",
    ),
    "an LTE cell": (
        {
            "kind": "lte_cell",
            "users": 3,
            "rtt": "40 ms",
            "power": "31 dBm",
            "fading": {"profile": "epa", "speed": "3 km/h"},
        },
        [{"cc": "cubic"}, {"cc": "reno", "user": 1, "direction": "up"}],
        "3 s",
    ),
    "an HSPA cell": ({"kind": "hspa_cell", "profile": "far", "users": 2, "rtt": "40 ms"}, [{"cc": "cubic"}], "6 s"),
    "a chain": (
        {
            "kind": "chain",
            "hops": [
                {"rate": "20 Mbit/s", "delay": "5 ms", "queue": "50 packets"},
                {"rate": "10 Mbit/s", "delay": "5 ms", "queue": "50 packets"},
            ],
        },
        TWO,
        "4 s",
    ),
}

THREE: list[dict[str, Any]] = [
    {"cc": "cubic"},
    {"cc": "reno", "start": "500 ms"},
    {"app": {"kind": "on-off", "rate": "3 Mbit/s"}},
]
FILES: list[dict[str, Any]] = [
    {"app": {"kind": "files", "arrivals": {"poisson": 5}, "size": "50 kB"}, "cc": "reno"},
    {"cc": "cubic"},
]
ACCURATE: list[dict[str, Any]] = [{"cc": "dctcp", "tcp": {"ecn": "accurate"}}]


def queue(**parameters: str) -> dict[str, Any]:
    return {"queue": {"limit": "60 packets"} | parameters}


PLAIN: dict[str, Any] = queue(kind="droptail")
DISCIPLINES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "priority of classes": (queue(kind="priority"), [{"cc": "cubic", "class": 1}, {"cc": "reno", "start": "500 ms"}]),
    **{kind: (queue(kind=kind), THREE) for kind in ("scfq", "wfq", "wf2q", "drr", "fq")},
    "files over drr": (queue(kind="drr"), FILES),
    "files over fq_codel": (queue(kind="fq_codel"), FILES),
    "drops at the head": (queue(kind="droptail", drop="head"), TWO),
    "drops at random": (queue(kind="droptail", drop="random"), TWO),
    "CoDel": (queue(kind="codel"), TWO),
    "marks above a length": (queue(kind="droptail", mark_above="20 packets"), ACCURATE),
    "a limit in bytes": (queue(kind="droptail", limit="60 kB"), TWO),
    "losses in bursts": (PLAIN | {"loss": {"gilbert_elliott": {"p": 0.01, "r": 0.3}}}, TWO),
    "one of 300 lost": (PLAIN | {"loss": {"every": 300}}, TWO),
    "errors of bits": (PLAIN | {"loss": {"ber": 1e-7}}, TWO),
    "jitter in which nothing overtakes": (
        PLAIN | {"jitter": {"kind": "exponential", "mean": "2 ms", "preserve_order": True}},
        TWO,
    ),
}
"""What a dumbbell has besides, and who sends."""


MARKED = ("marks of an AQM", "DualPI2, and its marks")
DROPPED = ("random early drops and datagrams", "a policer", "PIE", "events", "a rate that follows a trace")


def congested(packet: bytes) -> bool:
    return packet[1] & 3 == 3


@pytest.mark.parametrize("name", CASES)
def test_packets_leave_when_they_leave_the_simulators_path(name: str, tmp_path: Path) -> None:
    left, found, entered = both(scenario(*CASES[name]), tmp_path)
    assert entered > 2000
    assert any(congested(packet) for _, packet in left) == (name in MARKED)
    assert left.total() < entered - 10 or name not in DROPPED
    assert not left - found, f"{sum((left - found).values())} of {sum(left.values())} packets leave otherwise"
    assert not found - left


@pytest.mark.parametrize("name", DISCIPLINES)
def test_disciplines_and_losses_do_what_the_simulators_do(name: str, tmp_path: Path) -> None:
    changed, flows = DISCIPLINES[name]
    entered, left = simulated(scenario(DUMBBELL | changed, flows, "4 s"), tmp_path)
    assert len(entered) > 2000
    assert any(congested(packet) for _, packet in left) == (name == "marks above a length")
    assert Times(replayed(scenario(DUMBBELL | changed, flows, "4 s"), entered, tmp_path)) == left
    # What it is about decides: without it packets leave at other times.
    assert Times(replayed(scenario(DUMBBELL | PLAIN, flows, "4 s"), entered, tmp_path)) != left


APART: list[dict[str, Any]] = [{"cc": "cubic"}, {"cc": "reno", "rtt": "83.1234567 ms", "start": "123.4567 ms"}]
ON_ONE_GRID: list[dict[str, Any]] = [{"cc": "cubic"}, {"cc": "reno", "rtt": "80 ms"}]


def test_flows_with_round_trips_of_their_own_leave_as_in_the_simulator(tmp_path: Path) -> None:
    left, found, entered = both(scenario(DUMBBELL, APART, "5 s"), tmp_path)
    assert entered > 2000
    assert found == left


def test_of_packets_that_reach_a_queue_in_the_same_nanosecond_another_may_be_first(tmp_path: Path) -> None:
    """docs/engines.md: a host that answers in the instant of a delivery is simulated before delay lines are.

    Both round trips are multiples of a packet's time, so that the second flow's packets come from its delay line of
    20 ms in the same nanosecond as the first one's from their host.
    """
    entered, left = simulated(scenario(DUMBBELL, ON_ONE_GRID, "5 s"), tmp_path)
    found = Times(replayed(scenario(DUMBBELL, ON_ONE_GRID, "5 s"), entered, tmp_path))
    assert Counter(at for at, _ in found.elements()) == Counter(at for at, _ in left.elements())

    def at_queue(at: int, packet: bytes) -> int:
        second = packet[15] == 3
        return at + 20_000_000 * second

    together = Counter(at_queue(at, packet) for at, packet in entered if packet[15] % 2 == 1)
    tied = {packet for at, packet in entered if packet[15] % 2 == 1 and together[at_queue(at, packet)] > 1}
    swapped = [packet for _, packet in ((left - found) + (found - left)).elements()]
    assert swapped, "the order is that of the simulator: docs/engines.md need not say otherwise"
    assert set(swapped) <= tied
    assert len(swapped) < left.total() / 100


def in_version_6(packet: bytes) -> bytes:
    """The same with a header of version 6 and the addresses of its hosts there (RFC 8200 §3)."""

    def address(octets: bytes) -> bytes:
        return bytes((0xFD, 0, 0, 0, 0, octets[1], *bytes(8), octets[2], octets[3]))

    first = 6 << 28 | packet[1] << 20
    header = struct.pack(">IHBB", first, len(packet) - 20, packet[9], packet[8])
    return header + address(packet[12:16]) + address(packet[16:20]) + packet[20:]


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("events", {"events": [{"at": "1.000001 s", "rate": "2 Mbit/s"}]}),
        ("a policer", {"policer": {"rate": "10 Mbit/s", "burst": "51 kB"}}),
        ("PIE", {"queue": {"kind": "pie", "target": "16 ms"}}),
        ("a rate in steps, and none for a while", {"rate": {"steps": [{"at": "0 s", "rate": "10 Mbit/s"}]}}),
    ],
)
def test_a_path_that_is_another_is_noticed(name: str, changed: dict[str, Any], tmp_path: Path) -> None:
    topology, flows, duration = CASES[name]
    entered, left = simulated(scenario(topology, flows, duration), tmp_path)
    assert Times(replayed(scenario(topology | changed, flows, duration), entered, tmp_path)) != left


@pytest.mark.parametrize("kind", ["droptail", "codel"])
def test_packets_of_version_6_leave_as_those_of_version_4_with_as_many_bytes(kind: str, tmp_path: Path) -> None:
    """A header of version 6 is 20 bytes longer: over links with as much less of overhead all times are the same."""
    queue = {"kind": kind, "limit": "40 packets"} | ({"ecn": True} if kind == "codel" else {})
    flows = [{"cc": "reno", "tcp": {"ecn": "classic"}, "count": 2}]
    longer, shorter = (
        scenario(DUMBBELL | {"queue": queue, "loss": "0.5 %", "link_overhead": bytes_each}, flows, "6 s")
        for bytes_each in ("34 B", "14 B")
    )
    entered, left = simulated(longer, tmp_path)
    assert len(entered) > 2000
    assert any(congested(packet) for _, packet in left) == (kind == "codel")
    six = [(at, in_version_6(packet)) for at, packet in entered]
    found = Times(replayed(shorter, six, tmp_path, "--ipv6"))
    assert found == Times({(at, in_version_6(packet)): times for (at, packet), times in left.items()})


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
