"""Each application on a real kernel beside the simulator: what must come out the same comes out the same.

Counts and bytes are asked of every run, late or not. What hangs on when something happens: test_kernel_timed.py.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.results.result import Result
from real_kernels import fail_without_hosts, path

pytestmark = pytest.mark.real_time

TOPOLOGY = path("20 Mbit/s")
Flow = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def able() -> None:
    fail_without_hosts()


def scenario(flows: list[Flow], duration: str, topology: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"topology": TOPOLOGY | topology, "flows": flows, "run": {"duration": duration}, **more}


def both(
    flows: list[Flow], duration: str, *, ip: int = 4, topology: dict[str, Any] | None = None, **more: Any
) -> tuple[Result, Result]:
    """What the kernel and the simulator make of it, however late the former is."""
    document = scenario(flows, duration, topology or {}, **more)
    late = {"duration": duration, "engine": "kernel", "ip": ip, "allow_late": True}
    return ackclock.run(document | {"run": late}), ackclock.run(document)


def series(result: Result, metric: str) -> pl.DataFrame:
    return result.series.filter(pl.col("metric") == metric)


def row(result: Result) -> dict[str, Any]:
    return result.flows.row(0, named=True)


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("loss", ["0 %", "2 %"])
def test_bulk_data_of_a_given_size_arrive_to_the_byte(ip: int, loss: str) -> None:
    roomy = {"queue": {"kind": "droptail", "limit": "2000 packets"}}
    found, model = both([{"cc": "reno", "bytes": "1500001 B"}], "6 s", ip=ip, topology=roomy | {"loss": loss})
    for flow in (row(found), row(model)):
        assert flow["completed"]
        assert flow["failed"] is None
        assert flow["goodput_bytes"] == 1_500_001
        assert flow["sent_bytes"] - flow["retransmitted_bytes"] == 1_500_001
        assert (flow["retransmitted_segments"] > 0) == (loss == "2 %")
    assert found.transfers["bytes"].to_list() == [1_500_001]


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("kind", ["cbr", "on-off"])
def test_datagrams_are_as_many_as_in_the_simulator_and_all_of_them_arrive(kind: str, ip: int) -> None:
    # A packet every 50 ms: none is due so near to the end of the source that it matters how late anything is.
    app: dict[str, Any] = {"kind": kind, "rate": "160 kbit/s", "packet": "1000 B", "phase": "25 ms"}
    if kind == "on-off":
        app |= {"on": "480 ms", "off": {"kind": "uniform", "min": "50 ms", "max": "150 ms"}}
    found, model = both([{"app": app, "stop": "3 s"}], "4 s", ip=ip)
    flows = [row(result) for result in (found, model)]
    assert flows[1]["sent_segments"] >= 20
    for name in ("sent_segments", "received_packets", "goodput_bytes"):
        assert flows[0][name] == flows[1][name], name
    assert flows[0]["goodput_bytes"] == 1000 * flows[0]["sent_segments"]


@pytest.mark.parametrize("request_", [{}, {"request": "400 B"}])
def test_files_are_the_same_and_all_of_them_arrive(request_: dict[str, str]) -> None:
    size = {"kind": "pareto", "shape": 1.3, "min": "2 kB", "max": "200 kB"}
    app = {"kind": "files", "arrivals": {"poisson": 15}, "size": size, "most": 25} | request_
    found, model = both([{"app": app, "cc": "cubic"}], "6 s")
    files = [result.transfers for result in (found, model)]
    assert files[0]["bytes"].to_list() == files[1]["bytes"].to_list()
    assert files[0].height == 25
    assert files[0]["end_s"].null_count() == 0
    assert row(found)["goodput_bytes"] == row(model)["goodput_bytes"] == files[0]["bytes"].sum()


@pytest.mark.parametrize("ip", [4, 6])
def test_requests_are_answered_to_the_byte(ip: int) -> None:
    app = {
        "kind": "request-response",
        "request": {"kind": "uniform", "min": "100 B", "max": "5 kB"},
        "response": {"kind": "uniform", "min": "1 kB", "max": "60 kB"},
        "think": "5 ms",
        "most": 20,
    }
    found, model = both([{"app": app, "cc": "cubic"}], "6 s", ip=ip)
    answers = [result.transfers for result in (found, model)]
    assert answers[0]["bytes"].to_list() == answers[1]["bytes"].to_list()
    assert answers[0].height == 20
    assert answers[0]["end_s"].null_count() == 0
    assert row(found)["goodput_bytes"] == row(model)["goodput_bytes"] == answers[0]["bytes"].sum()


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("protocol", ["http1.0", "http1.1", "h2"])
def test_pages_have_all_their_objects(protocol: str, ip: int) -> None:
    app = {
        "kind": "web",
        "protocol": protocol,
        "connections": 1 if protocol == "h2" else 4,
        "main": "8 kB",
        "objects": 7,
        "embedded": {"kind": "uniform", "min": "1 kB", "max": "40 kB"},
        "first": "0 s",
        "interval": "1 s",
        "most": 2,
        "objects_table": True,
    }
    found, model = both([{"app": app, "cc": "cubic"}], "5 s", ip=ip)
    pages = [result.pages for result in (found, model)]
    assert pages[0]["outcome"].to_list() == ["completed", "completed"]
    for name in ("objects", "objects_done", "bytes", "connections"):
        assert pages[0][name].to_list() == pages[1][name].to_list(), name
    objects = [result.tables["objects"].sort("page", "object") for result in (found, model)]
    assert objects[0]["bytes"].to_list() == objects[1]["bytes"].to_list()
    assert objects[0]["done_s"].null_count() == 0
    assert (objects[0]["first_byte_s"] - objects[0]["requested_s"]).min() >= 0.04, "not within a round trip"
    assert row(found)["goodput_bytes"] == row(model)["goodput_bytes"] == pages[0]["bytes"].sum()
