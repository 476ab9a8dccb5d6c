"""The closed form of split TCP beside runs of the simulator, over paths drawn at random."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import ackclock
from ackclock.models.split import (
    Leg,
    buffer_needed,
    download_time,
    gain,
    joined,
    limited_by,
    split_download_time,
    split_rate,
)

FULL = 1448 / 1500
"""Payload of a packet with IP, TCP and timestamps."""


def test_rates_are_the_least_of_what_limits() -> None:
    fast, slow = Leg(0.1, 100e6, 1e6), Leg(0.02, 20e6, 1e6)
    assert split_rate(fast, slow) == 20e6
    assert split_rate(Leg(0.1, 100e6, 125_000), slow) == pytest.approx(10e6)
    assert split_rate(fast, slow, buffer=150_000) == pytest.approx(10e6)
    assert joined(fast, slow).limit == 20e6
    assert joined(fast, slow, window=150_000).limit == pytest.approx(10e6)
    # Twice 20 Mbit/s for 120 ms.
    assert buffer_needed(fast, slow) == pytest.approx(600_000)


def test_slow_start_counts_round_trips() -> None:
    leg = Leg(0.1)
    # The handshake, half a round trip each for request and answer; 10, 20, 40 segments in flights.
    for segments, flights in ((1, 0), (10, 0), (11, 1), (30, 1), (31, 2), (70, 2), (71, 3)):
        assert download_time(segments * 1448, leg) == pytest.approx(0.2 + 0.1 * flights)
    # Of a window of five segments each round trip brings five.
    assert download_time(20 * 1448, Leg(0.1, window=5 * 1448)) == pytest.approx(0.2 + 0.3)


def test_a_split_download_takes_the_longer_slow_start_and_a_round_trip_of_the_other_leg() -> None:
    far, near = Leg(0.12), Leg(0.024)
    for segments, more in ((10, 0.024), (30, 0.024), (70, 0.024)):
        size = segments * 1448
        assert split_download_time(size, far, near) == pytest.approx(download_time(size, far) + more)
    # The other ways of opening wait for both handshakes, one after the other.
    for opening in ("accepted", "lazy"):
        assert split_download_time(1000, far, near, opening=opening) == pytest.approx(0.144 + 0.144)


def test_what_a_relay_changes() -> None:
    far, near = Leg(0.1, 1e9, 6e6), Leg(0.02, 40e6, 147_456)
    assert limited_by(5_000_000, far, near) == "window"
    assert gain(5_000_000, far, near) > 1
    wide = Leg(0.02, 40e6)
    assert limited_by(100_000, Leg(0.06), Leg(0.06)) == "start"
    assert limited_by(50_000_000, Leg(0.1, 1e9), wide) == "nothing"


@pytest.mark.parametrize(("key", "value"), [("rtt", 0.0), ("rate", -1.0), ("window", 0.0), ("initial", 0)])
def test_what_is_no_path_is_refused(key: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{key} is .*; give a number above 0"):
        Leg(**{"rtt": 0.1, key: value})
    with pytest.raises(ValueError, match="a file of 0 B"):
        download_time(0, Leg(0.1))


def _drawn(rng: random.Random) -> tuple[dict[str, Any], Leg, Leg, int, float]:
    """A scenario of one download, and what the model is told of it."""
    rates = [rng.choice([5, 10, 20, 50, 100]) for _ in range(2)]
    delays = [rng.choice([2, 5, 10, 20, 40]) for _ in range(2)]
    window = rng.choice([65_536, 147_456, 500_000, 4_000_000])
    offered = rng.choice([147_456, 1_000_000, 4_000_000])
    buffer = rng.choice([200_000, 1_000_000, 4_000_000])
    size = rng.choice([100_000, 500_000, 1_000_000, 5_000_000, 20_000_000])
    hops = [
        {"rate": f"{rate} Mbit/s", "delay": f"{delay} ms", "queue": {"kind": "droptail", "limit": "4000 packets"}}
        for rate, delay in zip(rates, delays, strict=True)
    ]
    scenario = {
        "topology": {"kind": "chain", "hops": hops},
        "relays": [
            {"name": "pep", "position": 1, "buffer": f"{buffer} B",
             "source": {"tcp": {"receive_buffer": f"{offered} B"}}}
        ],
        "flows": [
            {"relay": ["none", "pep"], "profile": "linux", "cc": "cubic",
             "app": {"kind": "files", "arrivals": {"every": "1000 s"}, "size": f"{size} B", "request": "200 B",
                     "most": 1},
             "tcp": {"receive_buffer": f"{window} B"}}
        ],
        "run": {"duration": "60 s", "packet_delays": False},
    }  # fmt: skip
    # What a receiver has room for is the smaller of its own and the relay's buffer.
    windows = (min(offered, buffer), window)
    source, sink = (
        Leg(2 * delay / 1e3, rate * 1e6 * FULL, room) for rate, delay, room in zip(rates, delays, windows, strict=True)
    )
    return scenario, source, sink, size, float(buffer)


def test_the_model_is_near_what_is_simulated() -> None:
    rng = random.Random(7)
    near, signs, cases = 0, 0, 60
    asked = 0
    worst: list[tuple[float, Any]] = []
    for _ in range(cases):
        scenario, source, sink, size, buffer = _drawn(rng)
        found = ackclock.run(scenario, jobs=1).transfers["fct_s"].to_list()
        said = [download_time(size, joined(source, sink)), split_download_time(size, source, sink, buffer)]
        errors = [abs(time / model - 1) for time, model in zip(found, said, strict=True)]
        near += sum(error <= 0.15 for error in errors)
        worst.append((max(errors), scenario))
        simulated, model = found[0] / found[1] - 1, gain(size, source, sink, buffer)
        if abs(simulated) > 0.1:
            asked += 1
            signs += math.copysign(1, simulated) == math.copysign(1, model)
    assert near >= 0.9 * 2 * cases, sorted(worst, key=lambda each: -each[0])[:5]
    assert asked > cases / 3
    assert signs >= 0.95 * asked
