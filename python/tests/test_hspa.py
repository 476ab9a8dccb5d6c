"""HSPA in scenarios: rate, delay and buffer that come out, what the engine is told, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import load
from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.scenario.display.sketch import sketch

Raw = dict[str, Any]


def hspa(flows: Raw | None = None, **topology: Any) -> Raw:
    return {
        "topology": {"kind": "hspa_cell", "rtt": "30 ms", **topology},
        "flows": [flows or {"cc": "newreno", "mss": "1000 B"}],
        "run": {"duration": "40 s", "warmup": "20 s"},
    }


@pytest.mark.parametrize(("profile", "rate"), [("near", 4e6), ("mid", 3e6), ("far", 2e6)])
def test_a_bulk_flow_has_the_rate_less_its_headers(profile: str, rate: float) -> None:
    flow = ackclock.run(hspa(profile=profile)).flows.row(0, named=True)
    assert flow["goodput_bps"] == pytest.approx(rate * 1000 / 1052, rel=0.01)


def test_an_empty_cell_adds_70_ms_its_ttis_and_jitter() -> None:
    few = {"app": {"kind": "cbr", "rate": "20 kbit/s", "transport": "tcp"}, "mss": "1000 B"}
    flow = ackclock.run(hspa(few)).flows.row(0, named=True)
    # 30 of the wire, 35 each way; each way a TTI of 2 ms and what is left of the one before it, and jitter.
    assert 0.104 <= flow["min_rtt_s"] <= 0.118
    assert 0.104 + 0.005 <= flow["mean_rtt_s"] <= 0.128
    still = ackclock.run(hspa(few, jitter="0 s")).flows.row(0, named=True)
    assert 0.104 <= still["min_rtt_s"] <= still["max_rtt_s"] <= 0.112


def test_a_full_buffer_is_waited_for() -> None:
    longest = {
        size: ackclock.run(hspa(queue=size, jitter="0 s", rate="2 Mbit/s")).flows["max_rtt_s"][0]
        for size in ("64 kB", "256 kB")
    }
    # 64 kB take 256 ms at 2 Mbit/s, 256 kB 1024; the rest of the path at most 112.
    assert 0.256 + 0.100 <= longest["64 kB"] <= 0.256 + 0.120
    assert 1.024 + 0.100 <= longest["256 kB"] <= 1.024 + 0.120


def test_what_the_engine_is_told() -> None:
    document = next(
        load(hspa(users=2, profile="far", uplink={"rate": "384 kbit/s"}, queue="20 packets")).jobs()
    ).document()
    (cell,) = document["hspa"]
    assert (cell["users"], cell["down_bps"], cell["up_bps"]) == (2, 2_000_000, 384_000)
    assert (cell["down_queue"]["limit_packets"], cell["up_queue"]["limit_bytes"]) == (20, 256_000)
    assert [flow["forward"][-1] for flow in document["flows"]] == [
        {"element": {"id": "cell", "port": 0}},
        {"element": {"id": "cell", "port": 1}},
    ]
    assert document["links"] == []
    (point,) = load(hspa(profile="far", rate="1 Mbit/s")).points
    assert point.scenario.topology.rate == 1_000_000  # type: ignore[union-attr]


def test_it_can_be_drawn() -> None:
    drawn = sketch(load(hspa(users=2)).points[0].scenario)
    assert [place.name for place in drawn.places] == ["server", "base-station", "users-0-to-1"]
    words = " ".join(drawn.lines[1].words)
    assert "HSPA 4 Mbit/s, up 1 Mbit/s users: 2 35 ms, up to 10 ms more droptail 250 KiB" in words


def test_it_can_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hspa.toml"
    path.write_text(
        '[topology]\nkind = "hspa_cell"\nprofile = "mid"\nusers = 3\nrtt = "30 ms"\njitter = "0 s"\n\n'
        '[[flows]]\ncc = "reno"\n\n'
        '[run]\nduration = "1 s"\n'
    )
    assert main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"cell +HSPA 3 Mbit/s, up 1 Mbit/s +3 +35 ms +droptail 250 KiB", shown)


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        ({"rate": "unlimited"}, "topology.rate"),
        ({"rate": "10 bit/s"}, "topology.rate: 10 bit/s is outside 1000..1000000000"),
        ({"queue": "1 BDP"}, "topology.queue: users have no common RTT, so no BDP"),
        ({"uplink": {"queue": "100 B"}}, "topology.uplink.queue: a queue of 100 B never holds"),
        ({"jitter": "11 s"}, "topology.jitter: more than ten seconds"),
        ({"profile": "nowhere"}, "topology.profile"),
        ({"power": "30 dBm"}, "topology.power"),
    ],
)
def test_what_is_refused(topology: Raw, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        ackclock.run(hspa(**topology))
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)
