"""Runs of the engine `kernel` while others use the processors: each is right or says that it is not valid.

Draws rates, round-trip times, controllers, segmentation and whether real-time priority is granted, and plays each
beside eight processes that compute without end. Right is a goodput within TOLERANCE of the simulator's over the second
half. A run that is neither right nor marked is a silent error; the script ends with 1 if there is one. Needs root.

    .venv/bin/python conformance/emulated_under_load.py [--runs 100] [--busy 8] [--seed 1] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ackclock
from ackclock import kernel
from ackclock.scenario.compile import compile_run
from ackclock.scenario.plan import load

TOLERANCE = 0.03
"""Of goodput: what two correct stacks may differ by in the second half of so short a run (docs/validation.md)."""

SECONDS = 3.0
RATES = (5, 10, 20, 50, 100, 200, 300, 500, 1000)
"""Mbit/s."""

RECORD = Path(__file__).with_suffix(".json")
"""What ``--runs 100 --json`` wrote, which docs/engines.md has a table of."""

SILENT = "SILENT ERROR"
WORDS = {
    "right and valid": "valid and right",
    "right, not valid": "not valid, right",
    "wrong, not valid": "not valid, wrong",
    SILENT: "valid, wrong",
}
"""Kinds of outcome, and the heads of their columns."""
WITHOUT_PRIORITY = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]


@dataclass(frozen=True, slots=True)
class Case:
    """One run: what was drawn."""

    mbits: int
    rtt_ms: int
    cc: str
    offload: bool
    priority: bool

    def scenario(self, engine: str) -> dict[str, Any]:
        """One flow over a queue of two bandwidth-delay products, which it fills whatever its start."""
        queue = {"kind": "droptail", "limit": "2 BDP"}
        path = {"kind": "dumbbell", "rate": f"{self.mbits} Mbit/s", "rtt": f"{self.rtt_ms} ms", "queue": queue}
        run = {"duration": f"{SECONDS} s", "warmup": f"{SECONDS / 2} s", "engine": engine}
        return {"topology": path, "flows": [{"cc": self.cc}], "run": run | {"offload": self.offload}}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it; goodput in bit/s."""

    goodput_bps: float
    expected_bps: float
    valid: bool
    problems: Sequence[str]

    @property
    def right(self) -> bool:
        """Whether the goodput is the simulator's."""
        return abs(self.goodput_bps / self.expected_bps - 1) <= TOLERANCE

    @property
    def word(self) -> str:
        """What kind of outcome it is."""
        if self.valid:
            return "right and valid" if self.right else SILENT
        return "right, not valid" if self.right else "wrong, not valid"


def draw(dice: random.Random) -> Case:
    """The next case. So many packets as the fastest rate has are for hosts with offload only (docs/engines.md)."""
    mbits = dice.choice(RATES)
    return Case(
        mbits=mbits,
        rtt_ms=dice.choice([5, 10, 20, 40]),
        cc=dice.choice(["cubic", "reno"]),
        offload=dice.random() < 0.5 or mbits == RATES[-1],
        priority=dice.random() < 0.5,
    )


def play(case: Case) -> Outcome:
    """Play it, and let it be simulated."""
    expected = float(ackclock.run(case.scenario("sim")).flows["goodput_bps"][0])
    document = compile_run(load(case.scenario("kernel")).points[0].scenario)
    command = [] if case.priority else WITHOUT_PRIORITY
    done = subprocess.run(
        [*command, kernel.program(), "run", "-"],
        input=json.dumps(document),
        capture_output=True,
        text=True,
        timeout=SECONDS + 60,
        check=True,
    )
    played = json.loads(done.stdout)
    (flow,), how = played["output"]["flows"], played["emulation"]
    if how["granted"]["real_time"] != case.priority:
        sys.exit("real-time priority is not granted as it should be; run this as root")
    return Outcome(flow["goodput_bytes"] * 8 / (SECONDS / 2), expected, how["valid"], how["problems"])


def outcomes(record: Mapping[str, Any]) -> list[tuple[Case, Outcome]]:
    """What a record has."""
    cases, found = ([field.name for field in fields(kind)] for kind in (Case, Outcome))
    return [(Case(**{n: row[n] for n in cases}), Outcome(**{n: row[n] for n in found})) for row in record["runs"]]


def table(record: Mapping[str, Any]) -> list[str]:
    """The lines of the table of a record in docs/engines.md."""
    lines = ["| real-time priority | " + " | ".join(WORDS.values()) + " |", "|---|---|---|---|---|"]
    for priority in (True, False):
        words = Counter(outcome.word for case, outcome in outcomes(record) if case.priority is priority)
        counts = " | ".join(str(words[word]) for word in WORDS)
        lines.append(f"| {'granted' if priority else 'refused'} | {counts} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all, say what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--busy", type=int, default=8, help="processes that compute without end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where the outcomes are written, too, after each")
    options = parser.parse_args(arguments)
    dice = random.Random(options.seed)  # noqa: S311 - cases, not secrets
    record: dict[str, Any] = {"created": datetime.now(UTC).isoformat(timespec="seconds"), "kernel": os.uname().release}
    record |= {"processors": os.cpu_count(), "busy": options.busy, "seed": options.seed, "runs": []}
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        for number in range(options.runs):
            case = draw(dice)
            outcome = play(case)
            record["runs"].append(asdict(case) | asdict(outcome))
            share = outcome.goodput_bps / outcome.expected_bps
            print(f"{number:3} {case}: {share:.1%} of the simulator's, {outcome.word}", file=sys.stderr, flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    finally:
        for other in others:
            other.kill()
            other.wait()
    print(f"{options.runs} runs beside {options.busy} busy processes, {os.cpu_count()} processors\n")
    print("\n".join(table(record)))
    return int(any(outcome.word == SILENT for _, outcome in outcomes(record)))


if __name__ == "__main__":
    raise SystemExit(main())
