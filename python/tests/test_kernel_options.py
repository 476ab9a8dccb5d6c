"""Options that a kernel is set to do take effect: what is measured of its connections changes as in the simulator."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock
from ackclock.results.result import Result
from real_kernels import fail_without_hosts, path

pytestmark = pytest.mark.real_time

TOPOLOGY = path("10 Mbit/s")


@pytest.fixture(scope="module", autouse=True)
def able() -> None:
    fail_without_hosts()


def played(flow: dict[str, Any], duration: str, engine: str = "kernel", *, ip: int = 4) -> Result:
    """A run of one flow, late or not."""
    run: dict[str, Any] = {"duration": duration}
    if engine == "kernel":
        run |= {"engine": engine, "allow_late": True, "ip": ip}
    return ackclock.run({"topology": TOPOLOGY, "flows": [flow], "run": run})


@pytest.mark.parametrize("ip", [4, 6])
def test_acknowledgments_at_once_are_one_for_each_segment(ip: int) -> None:
    share = {}
    for delayed in (1, 2):
        flow = {"cc": "reno", "bytes": "3 MB", "delayed_ack": delayed}
        both = [played(flow, "6 s", ip=ip), played(flow, "6 s", "sim")]
        rows = [result.flows.row(0, named=True) for result in both]
        assert all(row["goodput_bytes"] == 3_000_000 for row in rows)
        share[delayed] = [row["acks"] / row["received_packets"] for row in rows]
    assert share[1][0] == pytest.approx(1, abs=0.03)
    assert share[1][1] == pytest.approx(1, abs=0.03)
    # Of two segments one is acknowledged, but of the first ones and of those out of order each; some wait for nothing.
    assert 0.5 <= share[2][0] < 0.75
    assert share[2][0] == pytest.approx(share[2][1], abs=0.1)
