"""What analysing a capture costs beside tcptrace and tshark: CPU time of whole commands, in turns, on the same files.

The captures are of simulated runs, seen at the senders, in the classic format that all three read:

- `bulk`: eight transfers with few losses for 100 s
- `short`: some thirty thousand connections of a few packets
- `loss`: transfers that lose 3 % of their packets

    python3 benches/captures.py          # needs `make build`, the example (see BUILD), tcptrace and tshark
    python3 benches/captures.py bulk     # some of them
    python3 benches/captures.py lengths  # from 0.1 to 10 million packets: what a start costs, and what a packet

`engine` is the analysis alone, the example `analyse`; `ackclock` the command with its start, that of Python, whose
bytecode is there already as after every start but the first.
"""

from __future__ import annotations

import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "target" / "release" / "examples" / "analyse"
BUILD = "cargo build --release -p ackclock-capture --example analyse"
COMMAND = ROOT / ".venv" / "bin" / "ackclock"
TURNS = 5

NETWORK = """
[topology]
kind = "dumbbell"
rate = "{rate}"
rtt = "30 ms"
loss = "{loss}"
queue = {{ kind = "droptail", limit = "0.5 BDP" }}

[[flows]]
cc = "cubic"
{flows}

[run]
duration = "{duration}"
warmup = "0 s"
capture = ["flows"]
"""
FILES = 'app = { kind = "files", arrivals = { poisson = 300.0 }, size = "6 kB" }'
SCENARIOS = {
    "bulk": NETWORK.format(rate="200 Mbit/s", loss="0.1 %", flows="count = 8", duration="100 s"),
    "short": NETWORK.format(rate="200 Mbit/s", loss="0.1 %", flows=FILES, duration="100 s"),
    "loss": NETWORK.format(rate="200 Mbit/s", loss="3 %", flows="count = 40", duration="100 s"),
}


def counted(rounds: int, within: str) -> tuple[int, int]:
    """Instructions of the function `within` of the example, and packets, of a capture made of so many rounds."""
    with tempfile.TemporaryDirectory() as scratch:
        only = [f"--callgrind-out-file={scratch}/out", f"--toggle-collect=analyse::{within}*"]
        command = ["valgrind", "--tool=callgrind", *only, str(BINARY), "--made", str(rounds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    instructions = re.search(r"Collected : (\d+)", done.stderr)
    packets = re.match(r"(\d+) packets", done.stdout)
    if instructions is None or packets is None:
        raise SystemExit(f"captures: no counts in the output of {' '.join(command)}")
    return int(instructions[1]), int(packets[1])


def made(name: str, folder: Path) -> Path:
    """The capture of a scenario, of the interfaces at its senders."""
    scenario, seen, file = folder / f"{name}.toml", folder / f"{name}.pcapng", folder / f"{name}.pcap"
    scenario.write_text(SCENARIOS[name])
    run([str(COMMAND), "run", str(scenario), "--capture", str(seen)])
    at_senders = 'frame.interface_name contains "source"'
    run(["tshark", "-F", "nsecpcap", "-r", str(seen), "-Y", at_senders, "-w", str(folder / "part")])
    run(["editcap", "-F", "pcap", str(folder / "part"), str(file)])
    seen.unlink()
    return file


_HEADER, _RECORD = 24, 16
"""Bytes of the classic format: of the file's header, and of each record's."""
_SPAN_S = 120
"""More than a capture of :data:`SCENARIOS` lasts."""


def records(data: bytes) -> list[int]:
    """Where the records of a capture begin."""
    found, at = [], _HEADER
    while at < len(data):
        found.append(at)
        at += _RECORD + int(struct.unpack_from("<I", data, at + 8)[0])
    return found


def first(file: Path, packets: int) -> Path:
    """A capture that ends after so many packets of another."""
    data, target = file.read_bytes(), file.with_suffix(".first.pcap")
    target.write_bytes(data[: records(data)[packets]])
    return target


def repeated(file: Path, times: int) -> Path:
    """A capture several times, one behind the other, each time between other hosts: packets begin with IPv4."""
    data, target = bytearray(file.read_bytes()), file.with_suffix(".repeated.pcap")
    begins = records(bytes(data))
    with target.open("wb") as stream:
        stream.write(data[:_HEADER])
        for _ in range(times):
            stream.write(memoryview(data)[_HEADER:])
            for at in begins:
                (seconds,) = struct.unpack_from("<I", data, at)
                struct.pack_into("<I", data, at, seconds + _SPAN_S)
                data[at + _RECORD + 13] += 1  # the second number of either address
                data[at + _RECORD + 17] += 1
    return target


QUIET = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of commands: Python keeps the bytecode that it makes at the first start, as it does by default."""


def run(command: list[str]) -> str:
    """What a command prints; one that fails ends everything."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=QUIET)
    if done.returncode:
        raise SystemExit(f"captures: {' '.join(command[:2])}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def cpu_s(command: list[str]) -> float:
    """CPU time of a command and what it starts, user and system."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    run(command)
    return used() - before


def tools(file: Path) -> dict[str, list[str]]:
    """The commands that are compared."""
    return {
        "engine": [str(BINARY), str(file)],
        "ackclock": [str(COMMAND), "pcap", str(file)],
        "tcptrace": ["tcptrace", "-n", "-l", "-r", "-W", str(file)],
        "tshark": ["tshark", "-r", str(file), "-q", "-z", "conv,tcp"],
    }


def least(file: Path, once: str = "") -> dict[str, float]:
    """The least CPU time of each tool in some turns, s; of the tool `once` in one."""
    found: dict[str, float] = {}
    for turn in range(TURNS):
        for tool, command in tools(file).items():
            if (tool == once and turn > 0) or (tool == "tshark" and not once):
                continue
            found[tool] = min(found.get(tool, float("inf")), cpu_s(command))
    return found


def lengths() -> None:
    """Prints what commands cost by the length of a capture, and from its ends the start and what a packet costs."""
    with tempfile.TemporaryDirectory() as scratch:
        whole = made("bulk", Path(scratch))
        points: list[tuple[int, dict[str, float]]] = []
        for file in (first(whole, 100_000), whole, repeated(whole, 7)):
            packets = int(run([str(BINARY), str(file)]).split()[0])
            points.append((packets, least(file)))
            costs = "  ".join(f"{tool} {1e3 * s:,.1f} ms" for tool, s in points[-1][1].items())
            print(f"{packets:10,} packets  {costs}")
            if file != whole:
                file.unlink()
        (few, short), (many, long) = points[0], points[-1]
        for tool, cost in short.items():
            slope = (long[tool] - cost) / (many - few)
            print(f"{tool:9} start {1e3 * (cost - slope * few):.1f} ms, a packet {1e9 * slope:.1f} ns")


def main() -> int:
    """Prints a table; returns the exit code."""
    names = sys.argv[1:] or list(SCENARIOS)
    if unknown := [name for name in names if name not in SCENARIOS and names != ["lengths"]]:
        print(f"captures: {unknown[0]}: unknown; there are {', '.join(SCENARIOS)}, and lengths alone", file=sys.stderr)
        return 2
    for path, how in ((BINARY, BUILD), (COMMAND, "make build")):
        if not path.exists():
            print(f"captures: {path.relative_to(ROOT)} is not there; {how}", file=sys.stderr)
            return 1
    if names == ["lengths"]:
        lengths()
        return 0
    print(f"{'':8} {'packets':>9} {'MB':>5}   least of {TURNS} turns, ns of CPU per packet")
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            file = made(name, Path(scratch))
            packets = int(run([str(BINARY), str(file)]).split()[0])
            costs = least(file, once="tshark")  # which takes a minute, and is far from the others
            cells = "  ".join(f"{tool} {1e9 * s / packets:,.0f}" for tool, s in costs.items())
            print(f"{name:8} {packets:9,} {file.stat().st_size / 1e6:5.0f}   {cells}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
