"""Relays on a real kernel: the program of the proxy in a host of its own, between two real endpoints.

Counts and bytes are asked of a run however late it is; when things happen is asked in virtual time (kernel_vt.py).
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import kernel
from ackclock.results.result import Result

pytestmark = pytest.mark.real_time

QUEUE = {"kind": "droptail", "limit": "300 packets"}
PATH: dict[str, Any] = {
    "topology": {
        "kind": "chain",
        "hops": [
            {"rate": "100 Mbit/s", "delay": "15 ms", "queue": QUEUE},
            {"rate": "20 Mbit/s", "delay": "5 ms", "queue": QUEUE},
        ],
    },
    "relays": [{"name": "pep", "position": 1, "buffer": "1 MB"}],
}
SIZE = 300_001


@pytest.fixture(scope="module", autouse=True)
def able() -> None:
    found = kernel.probe()
    if not all(found["hosts"]):
        pytest.fail(f"this computer cannot make hosts, so that nothing here is tested: {found['problems']}")


def played(flow: dict[str, Any], ip: int = 4, **relay: Any) -> Result:
    relays = [PATH["relays"][0] | relay]
    run = {"duration": "3 s", "engine": "kernel", "ip": ip, "allow_late": True}
    return ackclock.run(PATH | {"relays": relays, "flows": [{"relay": "pep"} | flow], "run": run})


def measure(result: Result, name: str) -> float:
    (value,) = result.measures.filter(pl.col("name") == name)["value"]
    return float(value)


@pytest.mark.parametrize("ip", [4, 6])
def test_downloads_that_the_client_opens_come_to_the_byte_over_both_legs(ip: int) -> None:
    app = {"kind": "files", "size": f"{SIZE} B", "arrivals": {"every": "1 s"}, "request": "200 B", "most": 2}
    result = played({"app": app, "cc": "cubic"}, ip, sink={"cc": "reno", "iw": 20})
    assert result.transfers["fct_s"].is_not_null().all()
    (flow,) = result.flows.iter_rows(named=True)
    source, sink = result.legs.sort("leg", descending=True).iter_rows(named=True)
    assert (source["leg"], sink["leg"], source["cc"], sink["cc"]) == ("source", "sink", "cubic", "reno")
    for row in (flow, source, sink):
        assert (row["goodput_bytes"], row["completed"]) == (2 * SIZE, True)
        assert row["sent_bytes"] - row["retransmitted_bytes"] == 2 * SIZE
        assert row["sent_segments"] >= 2 * SIZE // 1448
    # Each leg has its own round trip: 30 ms and 10 ms of propagation.
    assert source["min_rtt_s"] >= 0.03 > sink["min_rtt_s"] >= 0.01
    assert measure(result, "acked_undelivered_bytes") == 0


def test_data_that_the_source_opens_for_come_as_well() -> None:
    result = played({"bytes": f"{SIZE} B"})
    (flow,) = result.flows.iter_rows(named=True)
    assert (flow["goodput_bytes"], flow["completed"], flow["failed"]) == (SIZE, True, None)
    assert set(result.legs["goodput_bytes"]) == {SIZE}


def test_an_opening_that_no_program_has_is_warned_of() -> None:
    said = [[text for text in played({"bytes": "1 kB"}, opening=opening).warnings if "opens its other leg" in text]
            for opening in ("transparent", "accepted")]  # fmt: skip
    assert [len(each) for each in said] == [1, 0]
    assert "opening = accepted" in said[0][0]


def test_flows_with_and_without_a_relay_have_hosts_of_their_own() -> None:
    flows = [{"relay": "pep", "bytes": f"{SIZE} B"}, {"bytes": f"{SIZE} B"}, {"relay": "pep", "count": 2}]
    run = {"duration": "3 s", "engine": "kernel", "allow_late": True}
    result = ackclock.run(PATH | {"flows": flows, "run": run})
    assert result.flows["goodput_bytes"].head(2).to_list() == [SIZE, SIZE]
    assert (result.flows["goodput_bytes"] > SIZE // 2).all()
    assert result.legs["flow"].to_list() == ["0", "0", "2", "2", "3", "3"]
    assert not [text for text in result.warnings if "failed" in text]
