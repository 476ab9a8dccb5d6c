"""What each controller costs: instructions per bottleneck data packet beside Reno's, counted by callgrind.

Two paths of the standard benchmarks, one flow at 1 Gbit/s over 20 ms and two at 250 Mbit/s over 160 ms, in a stretch
after the start. What a controller makes of the path counts too: while losses are repaired every packet is acknowledged
at once and with SACK blocks, so the acknowledgments per packet stand beside the cost.

    cargo build --release -p ackclock-sim --example dumbbell
    python3 benches/controllers.py [--profile linux] [NAME ...]
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor

from instructions import count

PATHS = {
    "one-flow": (("1000", "20", "1651", "1"), ("1", "2")),
    "high-bdp": (("250", "160", "3303", "2"), ("6", "10")),
}
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
COMPARED = {
    "newreno": ("newreno",),
    "newreno, paced": ("newreno", 'pacing="window"'),
}
"""Reno as it is, and with its window paced."""


def per_packet(path: str, profile: str, controller: str, *options: str) -> tuple[float, float]:
    """Instructions and acknowledgments per packet between the two times of the path."""
    arguments, times = PATHS[path]
    early, late = (count([*arguments, t, controller, profile, *options]) for t in times)
    instructions, packets, acks = (b - a for a, b in zip(early, late, strict=True))
    return instructions / max(packets, 1), acks / max(packets, 1)


def main() -> None:
    """Prints a row per controller."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("controllers", nargs="*", default=CONTROLLERS)
    parser.add_argument("--profile", default="rfc")
    asked = parser.parse_args()
    rows = COMPARED | {name: (name,) for name in asked.controllers}
    jobs = [(path, asked.profile, *what) for what in rows.values() for path in PATHS]
    with ThreadPoolExecutor() as pool:
        costs = dict(zip(jobs, pool.map(lambda job: per_packet(*job), jobs), strict=True))
    print("| controller | " + " | ".join(f"{path} | over Reno | ACKs per packet" for path in PATHS) + " |")
    print("|---|" + "---|---|---|" * len(PATHS))
    for name, what in rows.items():
        cells = []
        for path in PATHS:
            (cost, acks), (reno, _) = costs[path, asked.profile, *what], costs[path, asked.profile, "newreno"]
            cells.append(f"{cost:.0f} | {cost / reno - 1:+.0%} | {acks:.2f}")
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
