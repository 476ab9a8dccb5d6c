#!/usr/bin/env python3
"""What a packet costs: ackclock against ns-3 and ns-2 on the four standard dumbbells, in turns on one machine,
and alone in a crowd of a thousand flows behind FQ-CoDel and in crowds of 10^4 and 10^5 flows.

CPU time is user + system of a child process, less that of the same child simulating next to nothing. A packet is a
data packet served by the bottleneck. ackclock and a peer take turns, and a ratio compares two runs of the same round.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import peers
from peers import Cost, Dumbbell, Peer, PeerError, measure

SCENARIOS = Path(__file__).resolve().parent / "scenarios"

LONG_ENOUGH_S = 1.0
"""ackclock repeats a run that takes less than this until it can be measured."""

MOST_REPEATS = 50


@dataclass(frozen=True)
class Standard:
    """A standard dumbbell, and how long ns-3, which takes minutes for the whole, and --quick simulate it."""

    name: str
    ns3_s: float
    quick_s: float
    quick_ns3_s: float
    alone: bool = False
    """Whether ackclock plays it without the peers, whose dumbbells have DropTail, or take hours for a crowd."""

    @property
    def path(self) -> Path:
        """The scenario file."""
        return SCENARIOS / f"{self.name}.toml"


STANDARDS = (
    Standard("one-flow", ns3_s=2, quick_s=2, quick_ns3_s=0.5),
    Standard("hundred-flows", ns3_s=2, quick_s=10, quick_ns3_s=0.5),
    Standard("high-bdp", ns3_s=10, quick_s=10, quick_ns3_s=3),
    Standard("thousand-flows", ns3_s=1, quick_s=2, quick_ns3_s=0.3),
    Standard("thousand-flows-fq-codel", ns3_s=0, quick_s=0.5, quick_ns3_s=0, alone=True),
    Standard("ten-thousand-flows", ns3_s=0, quick_s=0.5, quick_ns3_s=0, alone=True),
    Standard("hundred-thousand-flows", ns3_s=0, quick_s=0.5, quick_ns3_s=0, alone=True),
)

UNITS = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "s": 1, "ms": 1e-3, "us": 1e-6, "B": 1, "BDP": 1}


def quantity(text: str) -> float:
    """A number with one of the units that the standard scenarios use, in base units."""
    match = re.fullmatch(r"([\d.]+) (\S+)", text)
    if match is None or match[2] not in UNITS:
        raise PeerError(f"bench does not understand '{text}'; it knows {', '.join(UNITS)}")
    return float(match[1]) * UNITS[match[2]]


def dumbbell(path: Path) -> Dumbbell:
    """The scenario file in the peers' terms. Random starts become evenly spaced ones over the same interval."""
    scenario = tomllib.loads(path.read_text(encoding="utf-8"))
    topology, (flow,) = scenario["topology"], scenario["flows"]
    rate, rtt = quantity(topology["rate"]), quantity(topology["rtt"])
    overhead, mss = round(quantity(topology["link_overhead"])), round(quantity(flow["mss"]))
    packet = mss + 52 + overhead
    first, last = map(quantity, flow["start"]["uniform"]) if "start" in flow else (0.0, 0.0)
    return Dumbbell(
        rate_bps=round(rate),
        rtt_ms=rtt * 1e3,
        queue_packets=math.floor(quantity(topology["queue"]["limit"]) * rate * rtt / (8 * packet) + 0.5),
        duration_s=quantity(scenario["run"]["duration"]),
        flows=flow["count"],
        mss=mss,
        overhead=overhead,
        starts_s=(first,),
        start_step_ms=(last - first) / flow["count"] * 1e3,
        reverse_rate_bps=round(rate),
    )


@dataclass(frozen=True)
class Timing:
    """One child: `packets` are those of all its `repeats`, `run_s` is the CPU time it reports for simulating alone."""

    cost: Cost
    packets: int
    repeats: int
    run_s: float


# The child that runs ackclock: argv is the scenario, the changes to it as JSON, and how often to run it.
# The first, shortest run loads what is loaded at first use. SYN and the handshake's last segment are not data.
ACKCLOCK_CHILD = """
import json, re, sys, time
import ackclock
path, changes, repeats = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
ackclock.run(path, set={"run.duration": "1 us", "start": "0 s"}, jobs=1)
before = time.process_time()
result = ackclock.run(path, set=changes, replications=repeats, jobs=1)
cpu_run_s = time.process_time() - before
bottleneck = result.links.filter(result.links["id"] == "bottleneck")
print(json.dumps({
    "version": result.manifest["version"],
    "data_packets_served": bottleneck["sent_packets"].sum() - 2 * result.flows.height,
    "cpu_run_s": cpu_run_s,
    "peak_rss_kb": int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]),
}))
"""


def run_ackclock(python: str, scenario: Path, changes: dict[str, Any], repeats: int) -> tuple[dict[str, Any], Cost]:
    """One child process with ackclock; all that this driver knows about ackclock's interface is here."""
    return measure([python, "-c", ACKCLOCK_CHILD, str(scenario), json.dumps(changes), str(repeats)])


class Ackclock:
    """A build of ackclock, by the interpreter that imports it."""

    def __init__(self, name: str, python: str) -> None:
        self.name = name
        self.python = python
        try:
            self.version = str(self._run(STANDARDS[0], start_only=True)[0]["version"])
        except PeerError as error:
            reason = str(error).splitlines()[-1]
            raise PeerError(f"ackclock does not run under {python} (make build?): {reason}") from None
        self._repeats: dict[tuple[str, float], int] = {}

    def start(self, standard: Standard) -> Cost:
        """The cost of simulating a microsecond."""
        return self._run(standard, start_only=True)[1]

    def run(self, standard: Standard, duration_s: float) -> Timing:
        """As many runs in one process as it takes to measure them."""
        key = (standard.name, duration_s)
        if key not in self._repeats:
            result, _ = self._run(standard, duration_s)
            check_count(result["data_packets_served"], standard, duration_s)
            self._repeats[key] = max(1, min(MOST_REPEATS, math.ceil(LONG_ENOUGH_S / max(result["cpu_run_s"], 1e-6))))
        result, cost = self._run(standard, duration_s, self._repeats[key])
        return Timing(cost, result["data_packets_served"], self._repeats[key], result["cpu_run_s"])

    def _run(
        self, standard: Standard, duration_s: float = 0, repeats: int = 1, *, start_only: bool = False
    ) -> tuple[dict[str, Any], Cost]:
        changes: dict[str, Any] = {"run.duration": f"{duration_s:g} s"}
        if start_only:
            changes = {"run.duration": "1 us", "start": "0 s"}
        return run_ackclock(self.python, standard.path, changes, repeats)


class PeerRunner:
    """A peer on the standard dumbbells. It is timed without counters; a run with counters tells the packets once."""

    def __init__(self, peer: Peer, form: str = "", *options: str) -> None:
        self.name = f"{peer.name} {form}".strip()
        self.version = peer.version
        self._peer = peer
        self._options = options
        self._packets: dict[tuple[str, float], int] = {}

    def start(self, standard: Standard) -> Cost:
        """The cost of building the network and the flows."""
        return self._run(standard, 1, "--light=1", "--startup-only=1")[1]

    def run(self, standard: Standard, duration_s: float) -> Timing:
        """One run without counters."""
        key = (standard.name, duration_s)
        if key not in self._packets:
            counted, _ = self._run(standard, duration_s)
            self._packets[key] = counted["data_packets_served"]
            check_count(self._packets[key], standard, duration_s)
        result, cost = self._run(standard, duration_s, "--light=1")
        return Timing(cost, self._packets[key], 1, result["cpu_run_s"])

    def _run(self, standard: Standard, duration_s: float, *options: str) -> tuple[dict[str, Any], Cost]:
        path = dumbbell(standard.path)
        arguments = Dumbbell(**{**asdict(path), "duration_s": duration_s}).arguments()
        return self._peer.run(*arguments, *options, *self._options)


Runner = Ackclock | PeerRunner


def check_count(packets: float, standard: Standard, duration_s: float) -> None:
    """Refuses a packet count that the bottleneck cannot have served, or that hides most of its capacity."""
    path = dumbbell(standard.path)
    most = path.rate_bps * duration_s / (8 * (path.mss + 52 + path.overhead))
    if not 0.2 * most <= packets <= 1.01 * most:
        counted = f"{packets:.0f} data packets in {duration_s:g} s, of at most {most:.0f}"
        raise PeerError(f"{standard.name}: {counted}; something else was counted")


@dataclass(frozen=True)
class Spread:
    """Median, least and most of the rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of `values`."""
        return cls(statistics.median(values), min(values), max(values))

    def text(self) -> str:
        """As a table shows it."""
        return f"{short(self.median)} ({short(self.least)}-{short(self.most)})"


def short(value: float) -> str:
    """Three digits, and no exponent where a person reads it."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


@dataclass(frozen=True)
class Line:
    """One program on one dumbbell for one duration."""

    scenario: str
    program: str
    duration_s: float
    packets: int
    repeats: int
    ns_per_packet: Spread
    start_cpu_s: float
    """CPU time of the whole program for a run of next to nothing: its start, and what the flows take to set up."""
    own_account: bool
    """Whether `ns_per_packet` is the programs' own account, as the start-up of one hides what its simulation takes."""
    run_ns_per_packet: float
    """The program's own account, without its start-up."""
    peak_rss_mb: float
    rss_above_start_mb: float
    ratio: Spread | None
    """ackclock's time per packet divided by this program's, round by round."""


@dataclass
class Measured:
    """All children of one program in one comparison."""

    runner: Runner
    starts: list[Cost]
    timings: list[Timing]

    def above_start(self) -> list[float]:
        """CPU time of each timed child beyond a typical start-up."""
        start_s = statistics.median(cost.cpu_s for cost in self.starts)
        return [timing.cost.cpu_s - start_s for timing in self.timings]

    def hidden(self) -> bool:
        """Whether the start-up varies by more than a tenth of what the simulation takes."""
        return statistics.stdev(cost.cpu_s for cost in self.starts) > 0.1 * statistics.median(self.above_start())

    def ns_per_packet(self, own_account: bool) -> list[float]:
        """Round by round."""
        spent = [timing.run_s for timing in self.timings] if own_account else self.above_start()
        return [cpu_s / timing.packets * 1e9 for cpu_s, timing in zip(spent, self.timings, strict=True)]

    def line(self, standard: Standard, duration_s: float, own_account: bool, ours: Measured | None) -> Line:
        """The table's line, compared with `ours`."""
        mine = self.ns_per_packet(own_account)
        start_kb = statistics.median(cost.peak_rss_kb for cost in self.starts)
        peak_kb = max(timing.cost.peak_rss_kb for timing in self.timings)
        ratio = None
        if ours is not None:
            ratio = Spread.of([us / them for us, them in zip(ours.ns_per_packet(own_account), mine, strict=True)])
        return Line(
            scenario=standard.name,
            program=self.runner.name,
            duration_s=duration_s,
            packets=self.timings[0].packets,
            repeats=self.timings[0].repeats,
            ns_per_packet=Spread.of(mine),
            start_cpu_s=statistics.median(cost.cpu_s for cost in self.starts),
            own_account=own_account,
            run_ns_per_packet=statistics.median(self.ns_per_packet(own_account=True)),
            peak_rss_mb=peak_kb / 1024,
            rss_above_start_mb=max(0.0, (peak_kb - start_kb) / 1024),
            ratio=ratio,
        )


def compare(
    standard: Standard, ours: Ackclock | None, other: Runner | None, duration_s: float, rounds: int
) -> list[Line]:
    """Both in turns, or one alone."""
    both = [Measured(runner, [], []) for runner in (ours, other) if runner is not None]
    for turn in range(max(5, rounds)):
        for one in both:
            one.starts.append(one.runner.start(standard))
            if turn < rounds:
                one.timings.append(one.runner.run(standard, duration_s))
    own_account = any(one.hidden() for one in both)
    reference = both[0] if ours is not None else None
    return [one.line(standard, duration_s, own_account, None if one is reference else reference) for one in both]


COLUMNS: tuple[tuple[str, Callable[[Line], str]], ...] = (
    ("scenario", lambda line: line.scenario),
    ("program", lambda line: line.program),
    ("simulated", lambda line: f"{line.duration_s:g} s"),
    ("packets", lambda line: f"{line.packets / line.repeats:.0f}" + (f" x {line.repeats}" if line.repeats > 1 else "")),
    ("CPU ns/packet", lambda line: line.ns_per_packet.text() + ("*" if line.own_account else "")),
    ("packets/s", lambda line: f"{1e9 / line.ns_per_packet.median:,.0f}"),
    ("run alone", lambda line: short(line.run_ns_per_packet)),
    ("start, CPU s", lambda line: short(line.start_cpu_s)),
    ("peak RSS", lambda line: f"{line.peak_rss_mb:.1f} MB"),
    ("above start", lambda line: f"{line.rss_above_start_mb:.1f} MB"),
    ("ackclock/program", lambda line: line.ratio.text() if line.ratio else "-"),
)


def table(lines: Sequence[Line]) -> str:
    """The lines under their headings."""
    cells = [[heading for heading, _ in COLUMNS]] + [[show(line) for _, show in COLUMNS] for line in lines]
    widths = [max(len(row[column]) for row in cells) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def host_facts(runners: Sequence[Runner]) -> dict[str, Any]:
    """What a number from this run depends on."""
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    commit = subprocess.run(
        ["git", "-C", str(SCENARIOS), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "cpu": cpu[1] if cpu else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "commit": commit or None,
        "load_before": round(os.getloadavg()[0], 2),
        "programs": {runner.name: runner.version for runner in runners},
    }


def find_peers() -> list[PeerRunner]:
    """The peers that are installed; says which are not."""
    found = {"ns-3": peers.ns3(), "ns-2": peers.ns2()}
    absent = [name for name, peer in found.items() if peer is None]
    if absent:
        print(f"not installed, left out: {', '.join(absent)} (Debian packages: libns3-dev pkg-config g++ make; ns2)")
    runners = [PeerRunner(peer) for name, peer in found.items() if peer is not None and name != "ns-2"]
    if (ns2 := found["ns-2"]) is not None:
        # A dumbbell as its users write it, with a node and an access link per host, and the cheapest form there is.
        runners.append(PeerRunner(ns2, "dumbbell", "--access-rate-bps=10000000000", "--headers=all"))
        runners.append(PeerRunner(ns2, "bare"))
    return runners


def plan(
    standard: Standard, others: Sequence[Runner], options: argparse.Namespace
) -> list[tuple[Runner | None, float]]:
    """Whom ackclock meets on a dumbbell, and for how long."""
    full = standard.quick_s if options.quick else dumbbell(standard.path).duration_s
    if standard.alone:
        others = [other for other in others if isinstance(other, Ackclock)]
        if options.peers_only:
            return []
    if not others:
        return [(None, full)]
    cut = standard.quick_ns3_s if options.quick else full if options.ns3_full else standard.ns3_s
    return [(other, cut if other.name == "ns-3" else full) for other in others]


def arguments() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each program (default 5; 2 with --quick)")
    parser.add_argument("--quick", action="store_true", help="short runs and two rounds: to see that it works")
    parser.add_argument(
        "--ns3-full", action="store_true", help="ns-3 simulates the whole duration too (minutes per run)"
    )
    parser.add_argument("--only", choices=[standard.name for standard in STANDARDS], help="one dumbbell instead of all")
    parser.add_argument("--no-peers", action="store_true", help="leave ns-3 and ns-2 out")
    parser.add_argument("--peers-only", action="store_true", help="leave ackclock out")
    parser.add_argument(
        "--baseline", metavar="PYTHON", help="the interpreter of another environment with ackclock, to compare with"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result to a file as well")
    options = parser.parse_args()
    if options.no_peers and options.peers_only:
        parser.error("--no-peers and --peers-only leave nothing to run")
    if options.peers_only and options.baseline:
        parser.error("--baseline compares ackclock, which --peers-only leaves out")
    if options.rounds < 1:
        parser.error("--rounds is at least 1")
    if options.quick:
        options.rounds = min(options.rounds, 2)
    return options


def main() -> int:
    """Runs what the command line asks for and prints the table."""
    options = arguments()
    ours = None if options.peers_only else Ackclock("ackclock", sys.executable)
    others: list[Runner] = []
    if options.baseline:
        others.append(Ackclock("baseline", options.baseline))
    if not options.no_peers:
        others.extend(find_peers())
    if ours is None and not others:
        raise PeerError("there is nothing to run")
    facts = host_facts([*([ours] if ours else []), *others])
    print(f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}, load {facts['load_before']}")
    print("; ".join(f"{name} {version}" for name, version in facts["programs"].items()))
    chosen = [standard for standard in STANDARDS if options.only in (None, standard.name)]
    lines: list[Line] = []
    for standard in chosen:
        for other, duration_s in plan(standard, others, options):
            lines.extend(compare(standard, ours, other, duration_s, options.rounds))
    print(table(lines))
    print(
        f"median (least-most) of {options.rounds} rounds; CPU is user + system less the start-up of the same program;"
    )
    print(
        "run alone is the program's own account of its CPU time without the start-up, ns/packet; start is a run of 1 us"
    )
    if any(line.own_account for line in lines):
        print("*: of the programs' own accounts, because a start-up varies too much beside so short a simulation")
    if not others:
        print("no peer and no baseline: these times say something about this machine only")
    if options.json:
        result = {
            "host": facts,
            "rounds": options.rounds,
            "quick": options.quick,
            "lines": [asdict(line) for line in lines],
        }
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeerError as error:
        sys.exit(f"bench: {error}")
