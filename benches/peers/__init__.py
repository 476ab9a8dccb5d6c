"""The peer simulators: where they are, how to run one, and what a run costs the machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class PeerError(Exception):
    """A peer, or another child process, could not be built or run."""


@dataclass(frozen=True)
class Dumbbell:
    """One path and its flows, in the peers' terms. `reverse_rate_bps` 0: the way back is never the limit."""

    rate_bps: int
    rtt_ms: float
    queue_packets: int
    duration_s: float
    flows: int = 1
    mss: int = 1448
    overhead: int = 14
    starts_s: tuple[float, ...] = (0,)
    start_step_ms: float = 0
    reverse_rate_bps: int = 0
    drops: tuple[int, ...] = ()

    def arguments(self) -> list[str]:
        """Options that both peers understand. The queue counts the packet in transmission, as ackclock's does."""
        values: dict[str, Any] = {
            "flows": self.flows,
            "rate-bps": self.rate_bps,
            "rtt-ms": self.rtt_ms,
            "queue-packets": self.queue_packets,
            "queue-counts-service": 1,
            "duration": self.duration_s,
            "mss": self.mss,
            "overhead": self.overhead,
            "start": ",".join(f"{start:g}" for start in self.starts_s),
            "start-step-ms": self.start_step_ms,
            "reverse-rate-bps": self.reverse_rate_bps,
        }
        if self.drops:
            values["drops"] = ",".join(map(str, self.drops))
        plain = {key: f"{value:g}" if isinstance(value, float) else value for key, value in values.items()}
        return [f"--{key}={value}" for key, value in plain.items()]


@dataclass(frozen=True)
class Peer:
    """A simulator that is ready to run: its name, its version, and how its command starts."""

    name: str
    version: str
    command: tuple[str, ...]

    def run(self, *arguments: str) -> tuple[dict[str, Any], Cost]:
        """What it printed, and what it cost."""
        return measure([*self.command, *arguments])


@dataclass(frozen=True)
class Cost:
    """What one child process took. `peak_rss_kb` is what the child reports of itself.

    The kernel's ru_maxrss is no substitute: a child inherits the size of the process that started it.
    """

    cpu_s: float
    wall_s: float
    peak_rss_kb: int


def measure(command: list[str]) -> tuple[dict[str, Any], Cost]:
    """Runs a program that prints one JSON line (with `peak_rss_kb`) to its end, and accounts for it."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    # A child writes one line here and at most a message there, so reading one after the other cannot block it.
    output, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    process.stderr.close()
    if process.returncode != 0:
        raise PeerError(f"{Path(command[0]).name} ended with {process.returncode}: {errors.strip() or output.strip()}")
    try:
        result: dict[str, Any] = json.loads(output)
    except json.JSONDecodeError:
        raise PeerError(f"{Path(command[0]).name} printed no JSON: {output.strip()[:200]}") from None
    wall = time.monotonic() - started
    return result, Cost(usage.ru_utime + usage.ru_stime, wall, result["peak_rss_kb"])


def ns3(program: str = "dumbbell") -> Peer | None:
    """ns-3, its program built if need be; None where libns3-dev, a C++ compiler or make is missing."""
    if not all(map(shutil.which, ("g++", "make", "pkg-config"))) or not _succeeds("pkg-config", "--exists", "ns3-core"):
        return None
    made = ["make", "-C", str(HERE / "ns3"), f"build/{program}"]
    built = subprocess.run(made, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise PeerError(f"the ns-3 program does not build:\n{built.stderr}")
    version = _package_version("libns3-dev") or _output("pkg-config", "--modversion", "ns3-core")
    return Peer("ns-3", version, (str(HERE / "ns3" / "build" / program),))


def ns2() -> Peer | None:
    """ns-2; None where it is not installed."""
    program = shutil.which("ns")
    if program is None:
        return None
    return Peer("ns-2", _package_version("ns2") or "unknown", (program, str(HERE / "ns2" / "dumbbell.tcl")))


def _package_version(package: str) -> str | None:
    if shutil.which("dpkg-query") is None:
        return None
    version = _output("dpkg-query", "--show", "--showformat=${Version}", package)
    return f"{version} (Debian)" if version else None


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
