"""Instructions per bottleneck data packet, counted by callgrind, against the committed baseline.

Instruction counts do not depend on the load of the machine, so a change that makes the simulator slower shows up in CI
without a clock. Each scenario is played for two lengths; the difference divides out the start.

    python3 benches/instructions.py            # fails when a scenario needs 2 % more than the baseline
    python3 benches/instructions.py --update   # writes the baseline
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import captures
import cells

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "target" / "release" / "examples" / "dumbbell"
BASELINE = ROOT / "benches" / "instructions.json"
TOLERANCE = 0.02
MOST_OVER_DROPTAIL = 0.30
"""What RED, CoDel and FQ-CoDel may cost over DropTail, per packet, when they see the same packets."""

# rate Mbit/s, RTT ms, queue packets, flows, two durations in s, then controller, profile and options
SCENARIOS: dict[str, tuple[str, str, str, str, tuple[str, str], tuple[str, ...]]] = {
    "one-flow": ("1000", "20", "1651", "1", ("1", "3"), ("newreno", "rfc")),
    "hundred-flows": ("1000", "40", "3303", "100", ("1", "3"), ("newreno", "rfc")),
    # The state of a connection is far away whenever a segment comes for it.
    "thousand-flows": ("1000", "40", "3303", "1000", ("1", "3"), ("newreno", "rfc")),
    # An event for every segment: deadlines that come and go.
    "hundred-flows-paced": ("1000", "40", "3303", "100", ("1", "3"), ("newreno", "rfc", 'pacing="window"')),
    "high-bdp": ("250", "160", "3303", "2", ("4", "12"), ("newreno", "rfc")),
    # What scenarios do unless they are told not to: the one-way delay of every packet is taken.
    "one-flow-delays": ("1000", "20", "1651", "1", ("1", "3"), ("newreno", "rfc", "delays=true")),
    "one-flow-cubic-linux": ("1000", "20", "1651", "1", ("1", "3"), ("cubic", "linux")),
    # A window of 20,000 segments with a hole in every fifty: the scoreboard must not walk it.
    "scattered-holes": (
        "1000",
        "240",
        "40000",
        "1",
        ("0.3", "1.5"),
        ("newreno", "rfc", "iw=20000", 'iw_bound="none"', "loss=0.02"),
    ),
    "scattered-holes-linux": (
        "1000",
        "240",
        "40000",
        "1",
        ("0.3", "1.5"),
        ("newreno", "linux", "iw=20000", "loss=0.02"),
    ),
    # Whole runs behind a queueing discipline with its defaults, repairs of what it drops included.
    "one-flow-red": ("1000", "20", "1651", "1", ("1", "3"), ("newreno", "rfc", "queue=red")),
    "one-flow-codel": ("1000", "20", "1651", "1", ("1", "3"), ("newreno", "rfc", "queue=codel")),
    "one-flow-fq-codel": ("1000", "20", "1651", "1", ("1", "3"), ("newreno", "rfc", "queue=fq_codel")),
    "hundred-flows-red": ("1000", "40", "3303", "100", ("3", "5"), ("newreno", "rfc", "queue=red")),
    "hundred-flows-codel": ("1000", "40", "3303", "100", ("3", "5"), ("newreno", "rfc", "queue=codel")),
    "hundred-flows-fq-codel": ("1000", "40", "3303", "100", ("3", "5"), ("newreno", "rfc", "queue=fq_codel")),
}

# A discipline that drops nothing by itself: the same packets as behind DropTail, and the difference is its own.
ALOOF = {
    "red": '{"kind": "red", "params": {"min": 1000000, "max": 3000000}}',
    "codel": '{"kind": "codel", "params": {"target": 5000000000, "interval": 10000000000}}',
    "fq-codel": '{"kind": "fq_codel", "params": {"target": 5000000000, "interval": 10000000000}}',
}
DROPTAIL = ("one-flow", "hundred-flows")


# Web pages in a cell of LTE: users, the mean of seconds between the pages of each, two durations.
CELLS: dict[str, tuple[int, int, tuple[int, int]]] = {
    "cell-30": (30, 30, (10, 40)),
    # Saturated: who is served has to be found without looking at all who wait.
    "cell-200": (200, 30, (30, 50)),
}


# What a flow of a crowd costs before it starts: instructions per flow between two numbers of flows.
SETUPS: dict[str, tuple[str, str]] = {"set-up-of-a-flow": ("1000", "3000")}

# Captures of a transfer of so many rounds, written and analysed: the function of the example that is counted.
CAPTURES = {"capture-written": "written", "capture-analysed": "measured"}
ROUNDS = (500, 1500)


def count(arguments: list[str], within: str = "") -> tuple[int, int, int]:
    """Instructions, packets and acknowledgments of one run of the dumbbell example.

    With `within` only the instructions below that function of the example count.
    """
    with tempfile.TemporaryDirectory() as scratch:
        only = [f"--toggle-collect=dumbbell::{within}*"] if within else []
        out = f"--callgrind-out-file={scratch}/out"
        command = ["valgrind", "--tool=callgrind", out, *only, str(BINARY), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    instructions = re.search(r"Collected : (\d+)", done.stderr)
    packets = re.search(r"(\d+) packets  (\d+) back", done.stdout)
    if instructions is None or packets is None:
        raise SystemExit(f"instructions: no counts in the output of {' '.join(command)}")
    return int(instructions[1]), int(packets[1]), int(packets[2])


def between(arguments: tuple[str, ...], durations: tuple[str, str]) -> tuple[int, int]:
    """Instructions and bottleneck data packets between two durations, start-up excluded."""
    less, more = (count([*arguments[:4], duration, *arguments[4:]]) for duration in durations)
    return more[0] - less[0], more[1] - less[1]


def measure(name: str, *more: str) -> tuple[int, int]:
    """Instructions and packets of scenario `name`, with more options."""
    rate, rtt, queue, flows, durations, rest = SCENARIOS[name]
    return between((rate, rtt, queue, flows, *rest, *more), durations)


def per_packet(name: str) -> float:
    """Instructions per bottleneck data packet of scenario `name`, start-up excluded."""
    instructions, packets = measure(name)
    return instructions / packets


def per_packet_of_cell(name: str) -> float:
    """Instructions per packet that comes to the base station of the cell `name`, start-up excluded."""
    users, interval, durations = CELLS[name]
    less, more = (cells.played(cells.document(users, cells.web(interval), s), counted=True) for s in durations)
    return (more["instructions"] - less["instructions"]) / (more["down_packets"] - less["down_packets"])


def per_packet_of_capture(name: str) -> float:
    """Instructions per packet of a capture, start-up excluded."""
    (less, few), (more, many) = (captures.counted(rounds, CAPTURES[name]) for rounds in ROUNDS)
    return (more - less) / (many - few)


def per_flow(name: str) -> float:
    """Instructions that build a flow of a dumbbell."""
    few, many = SETUPS[name]
    less, more = (count(["1000", "40", "3303", flows, "0.001", "newreno", "rfc"], "built")[0] for flows in (few, many))
    return (more - less) / (int(many) - int(few))


def over_droptail() -> dict[str, float]:
    """What each queueing discipline costs over DropTail for the same packets on the same path."""
    over = {}
    for path in DROPTAIL:
        plain, packets = measure(path)
        for discipline, queue in ALOOF.items():
            instructions, served = measure(path, f"queue={queue}")
            if served != packets:
                raise SystemExit(f"instructions: {path} serves {served} packets behind {discipline}, not {packets}")
            over[f"{path}, {discipline}"] = instructions / plain - 1
    return over


def main() -> int:
    """Compares or updates; returns the exit code."""
    measured = {name: round(per_packet(name)) for name in SCENARIOS}
    measured |= {name: round(per_packet_of_cell(name)) for name in CELLS}
    measured |= {name: round(per_packet_of_capture(name)) for name in CAPTURES}
    measured |= {name: round(per_flow(name)) for name in SETUPS}
    if "--update" in sys.argv[1:]:
        BASELINE.write_text(json.dumps(measured, indent=2) + "\n")
        print(f"baseline written: {measured}")
        return 0
    baseline: dict[str, int] = json.loads(BASELINE.read_text())
    worse = 0
    for name, now in measured.items():
        change = now / baseline[name] - 1
        verdict = "ok" if change <= TOLERANCE else "WORSE"
        worse += verdict != "ok"
        each = "flow" if name in SETUPS else "packet"
        print(f"{name:22} {now:6} instructions per {each}, baseline {baseline[name]:6} ({change:+.1%}) {verdict}")
    for name, over in over_droptail().items():
        verdict = "ok" if over <= MOST_OVER_DROPTAIL else "TOO MUCH"
        worse += verdict != "ok"
        print(f"{name:22} {over:+6.1%} over DropTail for the same packets, at most {MOST_OVER_DROPTAIL:+.0%} {verdict}")
    print(f"instructions: {len(measured) - worse} passed, {worse} failed")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
