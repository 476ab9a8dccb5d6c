"""A receiver that reads more slowly than the path carries, beside the real kernel.

What is compared is where the window holds the sender: the bytes outstanding and the round-trip time once the window is
what limits, and the goodput, which the reader sets. The start is not: see conformance/kernel/README.md.
"""

from __future__ import annotations

import gzip
import json
import statistics
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock import engine

RECORDS = Path(__file__).parent / "kernel" / "slow-reader"
MSS = 1448
SETTLED = 60
"""The first sample, one in 50 ms, that counts: before it the sender probes for the rate."""


def document(cc: str, run: dict[str, Any]) -> dict[str, Any]:
    """The recorded path and reader."""
    path, flow = run["scenario"], run["flows"][0]
    every = {"every_ns": 50_000_000}
    _, default, most = map(int, path["sysctl"]["net.ipv4.tcp_rmem"].split())
    return {
        "format": 1,
        "seed": 1,
        "duration_ns": round(path["duration"] * 1e9),
        "links": [
            {
                "id": "bottleneck",
                "rate_bps": round(path["rate_bps"]),
                "delay_ns": round(path["fwd_delay_ms"] * 1e6),
                "overhead_bytes": 14,
                "queue": {"kind": "droptail", "limit_packets": path["queue_pkts"], "limit_includes_service": True},
                "loss": {"kind": "every", "n": path["drop_every"]},
            }
        ],
        "flows": [
            {
                "id": "0",
                "forward": [{"link": "bottleneck"}],
                "reverse": [{"delay_ns": round(flow["ack_delay_ms"] * 1e6)}],
                "start": {"at_ns": 0},
                # The recorder reads a hundredth of its rate every 10 ms.
                "app": {"kind": "bulk", "read_bps": round(8 * float(flow["traffic"].split(":")[1]))},
                "mss": MSS,
                "profile": "linux",
                # Half of the default buffer less one segment is offered at first.
                "tcp": {"receive_buffer": most, "initial_receive_window": default // 2 - MSS},
                "cc": {"name": cc},
            }
        ],
        "probes": {"in_flight": every, "srtt": every},
    }


@pytest.mark.parametrize("cc", ["reno", "cubic", "htcp", "scalable"])
def test_the_window_that_a_slow_reader_leaves(cc: str) -> None:
    run = json.loads(gzip.decompress((RECORDS / f"{cc}.json.gz").read_bytes()))
    kernel = run["flows"][0]
    out = engine.run(json.dumps(document(cc, run)))

    def mean(metric: str) -> float:
        part = out.series.filter(pl.col("metric").cast(pl.String) == metric)["value"]
        return statistics.fmean(part.to_list()[SETTLED:])

    # The reader's rate, 10 Mbit/s; both lose the first round trips.
    assert out.flows["goodput_bps"][0] == pytest.approx(kernel["goodput_bps"], rel=0.02)
    # A sample is one moment of a window that moves with every turn of the reader.
    assert mean("in_flight") / MSS == pytest.approx(statistics.fmean(kernel["unacked"][SETTLED:]), rel=0.04)
    assert mean("srtt") == pytest.approx(statistics.fmean(kernel["srtt_us"][SETTLED:]) / 1e6, rel=0.02)
