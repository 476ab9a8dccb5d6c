"""What each controller costs: instructions per bottleneck data packet beside Reno's, counted by callgrind.

Two paths of the standard benchmarks, one flow at 1 Gbit/s over 20 ms and two at 250 Mbit/s over 160 ms, in a stretch
after the start. A controller that paces is also compared with Reno paced, because every paced segment is an event.

    cargo build --release -p ackclock-sim --example dumbbell
    python3 benches/controllers.py [--profile linux] [NAME ...]
"""

from __future__ import annotations

import argparse

from instructions import count

PATHS = {
    "one-flow": (("1000", "20", "1651", "1"), ("1", "2")),
    "high-bdp": (("250", "160", "3303", "2"), ("6", "10")),
}
CONTROLLERS = (
    "newreno",
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
PACED = ("bbr1", "bbr3", "copa")


def per_packet(path: str, controller: str, profile: str, *options: str) -> float:
    """Instructions per packet between the two times of the path."""
    arguments, (early, late) = PATHS[path]
    (a, m), (b, n) = (count([*arguments, t, controller, profile, *options]) for t in (early, late))
    return (b - a) / max(n - m, 1)


def main() -> None:
    """Prints a row per controller."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("controllers", nargs="*", default=CONTROLLERS)
    parser.add_argument("--profile", default="rfc")
    asked = parser.parse_args()
    reno = {path: per_packet(path, "newreno", asked.profile) for path in PATHS}
    paced = {path: per_packet(path, "newreno", asked.profile, 'pacing="window"') for path in PATHS}
    print("| controller | " + " | ".join(f"{p} | over Reno | over Reno paced" for p in PATHS) + " |")
    print("|---|" + "---|---|---|" * len(PATHS))
    print("| newreno, paced | " + " | ".join(f"{paced[p]:.0f} | {paced[p] / reno[p] - 1:+.0%} |" for p in PATHS) + " |")
    for name in asked.controllers:
        cells = []
        for path in PATHS:
            cost = per_packet(path, name, asked.profile)
            beside = f"{cost / paced[path] - 1:+.0%}" if name in PACED else ""
            cells.append(f"{cost:.0f} | {cost / reno[path] - 1:+.0%} | {beside}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
