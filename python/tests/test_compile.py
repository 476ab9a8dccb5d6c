"""Resolved runs: the whole document for both topologies, and the arithmetic behind it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ackclock import load
from ackclock.scenario.topology.resolved import bdp_packets

Raw = dict[str, Any]


def resolved(raw: Raw, **options: Any) -> Raw:
    """The resolved run of the first point and replication."""
    return next(load(raw, **options).jobs()).document()


@pytest.mark.parametrize(
    ("rate", "rtt_ms", "packet", "fraction", "packets"),
    [
        (250_000_000, 160, 1000, Fraction(1), 5000),
        (250_000_000, 160, 1000, Fraction(1, 5), 1000),
        (100_000_000, 160, 1000, Fraction(1, 100), 20),
        (1_000_000, 1, 1500, Fraction(1), 1),
        (12_000_000, 2, 1500, Fraction(5, 4), 3),
    ],
)
def test_bdp_fractions(rate: int, rtt_ms: int, packet: int, fraction: Fraction, packets: int) -> None:
    assert bdp_packets(rate, rtt_ms * 10**6, packet, fraction) == packets


def test_dumbbell() -> None:
    document = resolved(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "100 Mbit/s",
                "rtt": "160 ms",
                "queue": {"kind": "droptail", "limit": "0.2 BDP"},
                "link_overhead": "14 B",
                "loss": "0.5 %",
                "reverse": {"rate": "1 Mbit/s", "loss": {"every": 200}},
            },
            "flows": [
                {
                    "cc": {"name": "cubic", "beta": 0.8},
                    "slow_start": {"kind": "limited", "max_ssthresh": 100},
                    "start": {"uniform": ["0 s", "5 s"]},
                },
                {
                    "cc": "reno",
                    "rtt": "100.000001 ms",
                    "bytes": "1 MB",
                    "start": "1 s",
                    "stop": "9 s",
                    "min_rto": "200 ms",
                },
            ],
            "run": {"duration": "120 s", "warmup": "20 s", "seed": 7},
            "probes": {"cwnd": "100 ms", "queue": "on change"},
        }
    )
    assert document == snapshot(
        {
            "format": 1,
            "seed": 7,
            "run": 0,
            "duration_ns": 120000000000,
            "warmup_ns": 20000000000,
            "links": [
                {
                    "id": "bottleneck",
                    "rate_bps": 100000000,
                    "delay_ns": 50000000,
                    "overhead_bytes": 14,
                    "queue": {
                        "kind": "droptail",
                        "limit_packets": 264,
                        "limit_bytes": None,
                        "limit_includes_service": True,
                        "packet_bytes": 1514,
                    },
                    "loss": {"kind": "bernoulli", "p": 0.005},
                },
                {
                    "id": "reverse",
                    "rate_bps": 1000000,
                    "delay_ns": 50000001,
                    "overhead_bytes": 14,
                    "queue": {
                        "kind": "droptail",
                        "limit_packets": 264,
                        "limit_bytes": None,
                        "limit_includes_service": True,
                        "packet_bytes": 1514,
                    },
                    "loss": {"kind": "every", "n": 200},
                },
            ],
            "flows": [
                {
                    "id": "0",
                    "forward": [{"delay_ns": 29999999}, {"link": "bottleneck"}],
                    "reverse": [{"link": "reverse"}, {"delay_ns": 30000000}],
                    "start": {"uniform_ns": [0, 5000000000]},
                    "stop_ns": None,
                    "app": {"kind": "bulk", "bytes": None},
                    "mss": 1448,
                    "profile": "linux",
                    "tcp": {},
                    "cc": {"name": "cubic", "params": {"beta": 0.8}},
                    "slow_start": {"kind": "limited", "params": {"max_ssthresh": 100}},
                },
                {
                    "id": "1",
                    "forward": [{"link": "bottleneck"}],
                    "reverse": [{"link": "reverse"}],
                    "start": {"at_ns": 1000000000},
                    "stop_ns": 9000000000,
                    "app": {"kind": "bulk", "bytes": 1000000},
                    "mss": 1448,
                    "profile": "linux",
                    "tcp": {"min_rto": 200000000},
                    "cc": {"name": "reno", "params": {}},
                    "slow_start": None,
                },
            ],
            "probes": {"cwnd": {"every_ns": 100000000}, "queue": "on_change"},
        }
    )


def test_chain() -> None:
    document = resolved(
        {
            "topology": {
                "kind": "chain",
                "hops": [
                    {"rate": "unlimited", "delay": "5 ms", "loss": 0.01},
                    {"rate": "20 Mbit/s", "delay": "15 ms", "queue": "1 BDP", "link_overhead": "14 B"},
                ],
                "reverse": {"queue": "50 packets"},
            },
            "flows": [{"cc": "newreno", "rtt": "50 ms", "count": 2}],
            "run": {"duration": "10 s"},
            "probes": {"interval": "10 ms", "srtt": "off"},
        }
    )
    assert document == snapshot(
        {
            "format": 1,
            "seed": 1,
            "run": 0,
            "duration_ns": 10000000000,
            "warmup_ns": 0,
            "links": [
                {
                    "id": "hop0",
                    "rate_bps": None,
                    "delay_ns": 5000000,
                    "overhead_bytes": 0,
                    "queue": {
                        "kind": "droptail",
                        "limit_packets": None,
                        "limit_bytes": None,
                        "limit_includes_service": True,
                        "packet_bytes": 1500,
                    },
                    "loss": {"kind": "bernoulli", "p": 0.01},
                },
                {
                    "id": "hop1",
                    "rate_bps": 20000000,
                    "delay_ns": 15000000,
                    "overhead_bytes": 14,
                    "queue": {
                        "kind": "droptail",
                        "limit_packets": 66,
                        "limit_bytes": None,
                        "limit_includes_service": True,
                        "packet_bytes": 1514,
                    },
                    "loss": None,
                },
                {
                    "id": "hop1-reverse",
                    "rate_bps": 20000000,
                    "delay_ns": 15000000,
                    "overhead_bytes": 14,
                    "queue": {
                        "kind": "droptail",
                        "limit_packets": 50,
                        "limit_bytes": None,
                        "limit_includes_service": True,
                        "packet_bytes": 1514,
                    },
                    "loss": None,
                },
                {
                    "id": "hop0-reverse",
                    "rate_bps": None,
                    "delay_ns": 5000000,
                    "overhead_bytes": 0,
                    "queue": {
                        "kind": "droptail",
                        "limit_packets": None,
                        "limit_bytes": None,
                        "limit_includes_service": True,
                        "packet_bytes": 1500,
                    },
                    "loss": None,
                },
            ],
            "flows": [
                {
                    "id": "0",
                    "forward": [{"delay_ns": 5000000}, {"link": "hop0"}, {"link": "hop1"}],
                    "reverse": [{"link": "hop1-reverse"}, {"link": "hop0-reverse"}, {"delay_ns": 5000000}],
                    "start": {"at_ns": 0},
                    "stop_ns": None,
                    "app": {"kind": "bulk", "bytes": None},
                    "mss": 1448,
                    "profile": "linux",
                    "tcp": {},
                    "cc": {"name": "newreno", "params": {}},
                    "slow_start": None,
                },
                {
                    "id": "1",
                    "forward": [{"delay_ns": 5000000}, {"link": "hop0"}, {"link": "hop1"}],
                    "reverse": [{"link": "hop1-reverse"}, {"link": "hop0-reverse"}, {"delay_ns": 5000000}],
                    "start": {"at_ns": 0},
                    "stop_ns": None,
                    "app": {"kind": "bulk", "bytes": None},
                    "mss": 1448,
                    "profile": "linux",
                    "tcp": {},
                    "cc": {"name": "newreno", "params": {}},
                    "slow_start": None,
                },
            ],
            "probes": {
                "cwnd": {"every_ns": 10000000},
                "delivered": {"every_ns": 10000000},
                "queue": {"every_ns": 10000000},
            },
        }
    )


def test_replications_differ_in_their_number_only(raw: Raw) -> None:
    first, second = (job.document() for job in load(raw, replications=2).jobs())
    assert (first.pop("run"), second.pop("run")) == (0, 1)
    assert first == second


def test_mirrored_queue_has_as_many_packets_as_the_way_out(raw: Raw) -> None:
    document = resolved(raw, set={"topology.reverse.rate": "1 Mbit/s"})
    out, back = document["links"]
    assert back["rate_bps"] == 1_000_000
    assert back["queue"] == out["queue"]


def test_unlimited_way_back_has_no_queue(raw: Raw) -> None:
    back = resolved(raw, set={"topology.reverse.rate": "unlimited"})["links"][1]
    assert back["rate_bps"] is None
    assert back["queue"]["limit_packets"] is None


@pytest.mark.parametrize(
    ("limit", "above", "marks"),
    [
        ("100 packets", "20 packets", {"mark_above_packets": 20}),
        ("unlimited", "0.5 BDP", {"mark_above_packets": 17}),
        ("64 kB", "30 kB", {"mark_above_bytes": 30_000}),
    ],
)
def test_marking_thresholds(raw: Raw, limit: str, above: str, marks: Raw) -> None:
    raw["topology"] |= {"rate": "10 Mbit/s", "rtt": "40 ms", "queue": {"limit": limit, "mark_above": above}}
    out, back = resolved(raw)["links"]
    assert {name: value for name, value in out["queue"].items() if name.startswith("mark")} == marks
    assert back["queue"] == out["queue"]


def test_timestamps_count_in_a_full_packet(raw: Raw) -> None:
    raw["topology"]["rate"], raw["topology"]["rtt"] = "120 Mbit/s", "100 ms"
    packets = [
        resolved(raw, set={"tcp": {"timestamps": on}})["links"][0]["queue"]["limit_packets"] for on in (True, False)
    ]
    assert packets == [bdp_packets(120_000_000, 10**8, size) for size in (1500, 1488)]


def test_equivalent_spellings(raw: Raw) -> None:
    raw["topology"]["loss"] = 0.005
    first = resolved(raw)
    raw["topology"]["loss"] = {"p": "0.5 %"}
    raw["topology"]["queue"] = "1 BDP"
    raw["flows"][0]["cc"] = {"name": "cubic"}
    raw["flows"][0]["start"] = {"at": "0 s"}
    assert resolved(raw) == first


@given(st.integers(1, 10**9), st.integers(0, 10**9))
def test_hops_of_a_flow_add_up_to_its_rtt(short: int, more: int) -> None:
    raw = {
        "topology": {"kind": "dumbbell", "rate": "1 Mbit/s", "queue": "9 packets"},
        "flows": [{"rtt": f"{short + more} ns"}, {"rtt": f"{short} ns"}],
        "run": {"duration": "3 s"},
    }
    document = resolved(raw)
    delays = {link["id"]: link["delay_ns"] for link in document["links"]}
    for flow, rtt in zip(document["flows"], (short + more, short), strict=True):
        hops = [*flow["forward"], *flow["reverse"]]
        assert all(hop.get("delay_ns", 0) >= 0 for hop in hops)
        assert sum(hop["delay_ns"] if "delay_ns" in hop else delays[hop["link"]] for hop in hops) == rtt
