"""What each controller costs: instructions per bottleneck data packet beside Reno's, counted by callgrind.

On the three standard dumbbells, from the first packet on. A controller also decides what there is to do: while losses
are repaired every packet is acknowledged at once and with SACK blocks. So every run is played a second time from a tape
of what the controller decided: the same packets, acknowledgments, losses and pacing, without its law and without the
measurements that it asks for. The difference is what the controller itself costs.

    cargo build --release -p ackclock-sim --example dumbbell
    python3 benches/controllers.py [--profile linux] [NAME ...]
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from instructions import count

# rate Mbit/s, RTT ms, queue packets, flows, duration in s
PATHS = {
    "one-flow": ("1000", "20", "1651", "1", "3"),
    "hundred-flows": ("1000", "40", "3303", "100", "3"),
    "high-bdp": ("250", "160", "3303", "2", "20"),
}
MOST_OVER_RENO = 340
"""What a controller itself may cost over Reno, instructions per packet: 15 % of what a packet of Reno cost on
hundred-flows when the limit was set."""
CONTROLLERS = (
    "cubic",
    "highspeed",
    "scalable",
    "bic",
    "htcp",
    "hybla",
    "fast",
    "ledbat",
    "vegas",
    "veno",
    "westwood",
    "westwood+",
    "illinois",
    "yeah",
    "dctcp",
    "bbr1",
    "bbr3",
    "copa",
)
RENO = "newreno"
COMPARED = {RENO: (RENO,), f"{RENO}, paced": (RENO, 'pacing="window"')}
"""Reno as it is, and with its window paced."""


@dataclass(frozen=True)
class Cost:
    """Of one controller on one path, per bottleneck data packet."""

    instructions: float
    own: float
    """Those of the controller: its law and what it has measured for it."""
    acks: float


def cost(path: str, profile: str, controller: str, *options: str) -> Cost:
    """Plays a dumbbell with a controller and with a tape of it."""
    arguments = [*PATHS[path], controller, profile, *options]
    (whole, packets, acks), (taped, *_) = (count([*arguments, *law], "measured") for law in ((), ("law=tape",)))
    return Cost(whole / max(packets, 1), (whole - taped) / max(packets, 1), acks / max(packets, 1))


def main() -> int:
    """Prints a row per controller; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("controllers", nargs="*", default=CONTROLLERS)
    parser.add_argument("--profile", default="rfc")
    asked = parser.parse_args()
    rows = COMPARED | {name: (name,) for name in asked.controllers}
    jobs = [(path, asked.profile, *what) for what in rows.values() for path in PATHS]
    with ThreadPoolExecutor() as pool:
        costs = dict(zip(jobs, pool.map(lambda job: cost(*job), jobs), strict=True))
    print("| controller | " + " | ".join(f"{path} | over Reno | itself | ACKs" for path in PATHS) + " |")
    print("|---|" + "---|---|---|---|" * len(PATHS))
    too_dear = []
    for name, what in rows.items():
        cells = []
        for path in PATHS:
            own, reno = costs[path, asked.profile, *what], costs[path, asked.profile, RENO]
            over, itself = own.instructions / reno.instructions - 1, (own.own - reno.own) / reno.instructions
            cells.append(f"{own.instructions:.0f} | {over:+.0%} | {itself:+.1%} | {own.acks:.2f}")
            if own.own - reno.own > MOST_OVER_RENO:
                too_dear.append(f"{name} on {path}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(f"itself more than {MOST_OVER_RENO} instructions over Reno: {', '.join(too_dear) or 'none'}")
    return 1 if too_dear else 0


if __name__ == "__main__":
    raise SystemExit(main())
