"""Options that a kernel is set to do take effect: what is measured of its connections changes as in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import kernel
from ackclock.errors import InputError
from ackclock.results.result import Result

pytestmark = pytest.mark.real_time

TOPOLOGY: dict[str, Any] = {
    "kind": "dumbbell",
    "rate": "10 Mbit/s",
    "rtt": "40 ms",
    "queue": {"kind": "droptail", "limit": "1 BDP"},
}
PARAMETERS = Path("/sys/module/tcp_cubic/parameters")
ATTEMPTS = 6


@pytest.fixture(scope="module", autouse=True)
def able() -> None:
    found = kernel.probe()
    if not all(found["hosts"]):
        pytest.fail(f"this computer cannot make hosts, so that nothing here is tested: {found['problems']}")


def played(
    flow: dict[str, Any],
    duration: str,
    engine: str = "kernel",
    *,
    topology: dict[str, Any] | None = None,
    timely: bool = False,
    ip: int = 4,
    **more: Any,
) -> Result:
    """A run of one flow; `timely`: one that was on time."""
    document: dict[str, Any] = {"topology": TOPOLOGY | (topology or {}), "flows": [flow], **more}
    if engine == "sim":
        return ackclock.run(document | {"run": {"duration": duration}})
    run = {"duration": duration, "engine": engine, "allow_late": not timely, "ip": ip}
    for _ in range(ATTEMPTS):
        result = ackclock.run(document | {"run": run})
        if result.runs["valid"].to_list() == [True]:
            return result
    pytest.fail(f"{ATTEMPTS} runs were all late: {result.warnings}")


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


@pytest.mark.parametrize("cc", ["reno", "cubic"])
def test_a_paced_flow_does_not_send_its_window_at_once(cc: str) -> None:
    """Forty segments of a first window: in one burst they wait for one another in the queue, spread they do not."""
    wide = {"rate": "5 Mbit/s", "rtt": "100 ms", "queue": {"kind": "droptail", "limit": "60 packets"}}
    deepest = {}
    for pacing in ("off", "window"):
        flow = {"cc": cc, "bytes": "57920 B", "tcp": {"iw": 40, "pacing": pacing}}
        both = [played(flow, "2 s", topology=wide, timely=True), played(flow, "2 s", "sim", topology=wide)]
        assert [result.flows["goodput_bytes"][0] for result in both] == [57_920, 57_920]
        deepest[pacing] = [result.links["max_queue_packets"][0] for result in both]
    assert deepest["off"][0] == pytest.approx(deepest["off"][1], abs=1)
    assert deepest["off"][0] >= 38
    # Linux sends ten before it begins to pace, of forty at twice the window in a round trip.
    assert 9 <= deepest["window"][0] <= 28


def reductions(result: Result) -> list[tuple[float, float]]:
    """The window just before each reduction and the threshold behind it, in segments."""
    windows, thresholds = (
        (result.series.filter(pl.col("metric") == name)["value"] / 1448).to_list() for name in ("cwnd", "ssthresh")
    )
    changes = [at for at in range(3, len(thresholds)) if thresholds[at] != thresholds[at - 1]]
    return [(max(windows[at - 3 : at]), thresholds[at]) for at in changes]


def test_what_a_scenario_says_of_cubic_is_what_the_kernel_does() -> None:
    """Its parameters are those of all connections of a computer: what is so there is taken, and nothing is set."""
    before = {file.name: file.read_text(encoding="ascii").strip() for file in PARAMETERS.iterdir()}
    beta = int(before["beta"]) / 1024
    flow = {"cc": {"name": "cubic", "beta": beta, "fast_convergence": before["fast_convergence"] == "1"}}
    result = played(flow, "14 s", timely=True, probes={"cwnd": "10 ms", "ssthresh": "10 ms"})
    # The first ends slow start, in which the window has grown on between the last sample and the loss.
    found = reductions(result)[1:]
    assert len(found) >= 2
    assert all(threshold == pytest.approx(beta * window, abs=1.5) for window, threshold in found), found
    other = {"cc": {"name": "cubic", "beta": 0.5 if beta > 0.6 else 0.8}}
    with pytest.raises(
        InputError, match=r"flows\.0\.cc\.beta: tcp_cubic\.beta of the kernel here is \d+, not \d+, for all"
    ):
        played(other, "1 s")
    assert before == {file.name: file.read_text(encoding="ascii").strip() for file in PARAMETERS.iterdir()}
