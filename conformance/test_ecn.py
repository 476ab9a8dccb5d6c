"""Profile `linux` with ECN and DCTCP against recorded runs of the Linux kernel (conformance/kernel/ecn/README.md)."""

from __future__ import annotations

import functools
import gzip
import json
import statistics
from pathlib import Path
from typing import Any

import pytest

import ackclock

RECORDS = Path(__file__).parent / "kernel" / "ecn"
BUCKET = 1600
"""Bytes that the kernel's token bucket lets go ahead."""

# Threshold of each record, packets; the README derives it from the kernel's waiting time.
THRESHOLDS = {
    "step10_dctcp": 21,
    "step10_reno": 21,
    "step10_cubic": 21,
    "step100_dctcp": 21,
    "steppair20_dctcp": 11,
    "stepdrop300_dctcp": 21,
    "stepdrop400_reno": 21,
}


@functools.cache
def kernel(name: str) -> dict[str, Any]:
    with gzip.open(RECORDS / f"{name}.json.gz", "rt") as file:
        result: dict[str, Any] = json.load(file)
    return result


@functools.cache
def ours(name: str) -> ackclock.Result:
    record = kernel(name)
    recorded, flows = record["scenario"], record["flows"]
    round_trips = {recorded["fwd_delay_ms"] + flow["ack_delay_ms"] for flow in flows}
    (round_trip_ms,) = round_trips
    propagation = round_trip_ms / 1e3 - BUCKET * 8 / recorded["rate_bps"]
    topology = {
        "kind": "dumbbell",
        "rate": f"{recorded['rate_bps'] / 1e6} Mbit/s",
        "rtt": f"{propagation * 1e9:.0f} ns",
        "queue": {"limit": "1000 packets", "mark_above": f"{THRESHOLDS[name]} packets"},
        "link_overhead": "14 B",
        "reverse": {"rate": "unlimited"},
    }
    if "drop_every" in recorded:
        topology["loss"] = {"every": recorded["drop_every"]}
    senders = [
        {
            "cc": flow["cc"],
            "profile": "linux",
            "start": f"{flow['start']} s",
            "tcp": {} if flow["cc"] == "dctcp" else {"ecn": "classic"},
        }
        for flow in flows
    ]
    run = {"duration": f"{recorded['duration']} s"}
    return ackclock.run({"topology": topology, "flows": senders, "run": run, "probes": {"interval": "50 ms"}})


@pytest.mark.parametrize("name", THRESHOLDS)
def test_rate_window_and_queue_are_the_kernels(name: str) -> None:
    record, result = kernel(name), ours(name)
    for theirs, flow in zip(record["flows"], result.flows.iter_rows(named=True), strict=True):
        assert flow["goodput_bps"] == pytest.approx(theirs["goodput_bps"], rel=0.01)
        assert flow["mean_cwnd_bytes"] / 1448 == pytest.approx(statistics.fmean(theirs["cwnd"]), rel=0.02)
        assert flow["retransmitted_segments"] == theirs["retrans_segs"]
    link = result.links.row(0, named=True)
    # The kernel's queue does not hold the packet in transmission.
    waiting = link["mean_queue_packets"] - link["utilisation"]
    assert waiting == pytest.approx(record["queue"]["mean_pkts"], rel=0.03, abs=0.1)


@pytest.mark.parametrize("name", [name for name in THRESHOLDS if "drop" not in name])
def test_the_window_is_reduced_as_often(name: str) -> None:
    """A reduction to the same threshold as before does not show in the record: there are those at least."""
    seen = sum(len(flow["ssthresh_changes"]) for flow in kernel(name)["flows"])
    reductions = ours(name).flows["ecn_reductions"].sum()
    assert reductions >= 0.95 * seen
    if name.endswith("dctcp"):
        assert reductions <= 1.15 * seen


@pytest.mark.parametrize("name", ["step10_dctcp", "step10_reno"])
def test_the_first_seconds_follow_the_kernels_window(name: str) -> None:
    flow = kernel(name)["flows"][0]
    series = ours(name).series
    cwnd = series.filter((series["metric"].cast(str) == "cwnd") & (series["id"] == "0"))["value"].to_list()
    grid = flow["t"]
    times = [grid["t0"] + i * grid["dt"] for i in range(grid["n"])]
    # After slow start, in which the window moves within the 10 ms between the two samples.
    pairs = [
        (theirs, cwnd[round(at / 0.05)] / 1448) for at, theirs in zip(times, flow["cwnd"], strict=True) if 0.5 < at < 3
    ]
    assert len(pairs) > 40
    close = sum(abs(theirs - mine) <= 1 for theirs, mine in pairs)
    assert close >= 0.9 * len(pairs)
