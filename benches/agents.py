"""Steps of an agent per second of CPU time, of one environment and of many at once.

CPU time is that of the process, user and system, of all its threads: other work on the machine counts for little, and n
processors make n times as many steps in a second of wall time.

An agent holds the window that fills its path, by `multiplier` of 0, so that a round trip carries what the path can. The
`exchange` is an interval in which nothing happens, a microsecond: what a decision costs besides the simulation,
observation and reward included; the `call` is the engine's part of it.

    .venv/bin/python benches/agents.py [--seconds SECONDS] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ackclock import host
from ackclock.gym import CongestionEnv, CongestionVectorEnv, actions
from ackclock.gym.runs import Runs

SIZES = (16, 64, 256)
PATHS = {"10 Mbit/s, 40 ms": ("10 Mbit/s", "40 ms", 35), "100 Mbit/s, 40 ms": ("100 Mbit/s", "40 ms", 350)}
"""Rate, round-trip time, and the window that fills them, segments."""


def scenario(rate: str, rtt: str) -> dict[str, Any]:
    """An agent alone on a dumbbell."""
    queue = {"kind": "droptail", "limit": "1 BDP"}
    return {
        "topology": {"kind": "dumbbell", "rate": rate, "rtt": rtt, "queue": queue},
        "flows": [{"cc": "external", "profile": "linux"}],
        "run": {"duration": "1000 s"},
    }


def per_second(step: Callable[[], int], seconds: float) -> float:
    """Steps per second of CPU time of what makes so many steps at a call."""
    step()
    done, begun = 0, time.process_time()
    while (passed := time.process_time() - begun) < seconds:
        done += step()
    return done / passed


def alone(path: tuple[str, str, int], interval: str | None, seconds: float) -> float:
    """Of a single environment."""
    rate, rtt, window = path
    env = CongestionEnv(scenario(rate, rtt), interval=interval, action=actions.window(window, window))
    action = np.zeros(1)
    env.reset(seed=1)

    def step() -> int:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
        return 1

    return per_second(step, seconds)


def called(path: tuple[str, str, int], seconds: float) -> float:
    """Of the call into the engine alone."""
    rate, rtt, _ = path
    runs = Runs(scenario(rate, rtt), set=None, flow=None, interval="1 us", size=1, threads=1)
    runs.begin({0: (0, 1)})
    nothing = np.full((1, 3), np.nan)

    def step() -> int:
        runs.step(nothing)
        return 1

    return per_second(step, seconds)


def together(path: tuple[str, str, int], interval: str | None, size: int, seconds: float) -> float:
    """Of a vector of environments."""
    rate, rtt, window = path
    fill = actions.window(window, window)
    envs = CongestionVectorEnv(scenario(rate, rtt), size, interval=interval, action=fill)
    action = np.zeros((size, 1))
    envs.reset(seed=1)

    def step() -> int:
        envs.step(action)
        return size

    return per_second(step, seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=2, help="of CPU time, for each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(arguments)
    first = PATHS["10 Mbit/s, 40 ms"]
    rows: list[tuple[str, int, Callable[[], float]]] = [
        ("call", 1, lambda: called(first, chosen.seconds)),
        ("exchange", 1, lambda: alone(first, "1 us", chosen.seconds)),
        *(("exchange", n, lambda n=n: together(first, "1 us", n, chosen.seconds)) for n in SIZES),
    ]
    for name, path in PATHS.items():
        rows.append((name, 1, lambda path=path: alone(path, None, chosen.seconds)))
        rows.extend((name, n, lambda path=path, n=n: together(path, None, n, chosen.seconds)) for n in SIZES)
    facts = host.facts()
    print(f"{facts['processor']}, {facts['cores']} processors used")
    print("| per interval | environments | steps per second of CPU time: median (least to most) |")
    print("|---|---|---|")
    for name, size, measure in rows:
        found = [measure() for _ in range(chosen.rounds)]
        middle = statistics.median(found)
        print(f"| {name} | {size} | {middle:,.0f} ({min(found):,.0f} to {max(found):,.0f}) |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
