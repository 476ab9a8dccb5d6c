"""The recorded runs of the real Linux kernel: where they are, and which controller of ours each module is.

The records are described in conformance/kernel/README.md.
"""

from __future__ import annotations

import csv
import functools
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ackclock import engine

RECORDS = Path(__file__).parent / "kernel"
MSS = 1448

CONTROLLERS: Mapping[str, str] = {
    "reno": "reno",
    "cubic": "cubic",
    "highspeed": "highspeed",
    "scalable": "scalable",
    "bic": "bic",
    "htcp": "htcp",
    "vegas": "vegas",
    "veno": "veno",
    "westwood": "westwood+",
    "illinois": "illinois",
    "hybla": "hybla",
    "yeah": "yeah",
    "bbr": "bbr1",
}
"""Linux's module and our controller. Linux's `westwood` is Westwood+, its `bbr` is BBR's first version."""

HELD_OUT = ("slow5", "drop400", "half50", "rtt4", "short100")
"""Scenarios that no controller was developed with: recorded to see whether agreement elsewhere was luck."""


def names(folder: Path = RECORDS) -> list[str]:
    """Every record of a folder, `<scenario>_<module>`, whether or not its controllers are built."""
    return sorted(path.name.removesuffix(".json.gz") for path in folder.glob("*.json.gz"))


@functools.cache
def record(name: str, folder: Path = RECORDS) -> Mapping[str, Any]:
    """A recorded run as it was written."""
    with gzip.open(folder / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        result: Mapping[str, Any] = json.load(file)
    return result


def scenario_of(name: str) -> str:
    """`single10` of `single10_reno`."""
    return name.split("_")[0]


def controller_of(name: str) -> str:
    """Our name of the controller that a record is about."""
    return CONTROLLERS[name.split("_")[1]]


def built(name: str) -> bool:
    """Whether this engine has every controller of a record."""
    return all(CONTROLLERS[flow["cc"]] in engine.catalogue().controllers for flow in record(name)["flows"])


def is_random(name: str) -> bool:
    """Whether losses are drawn, so that every seed is another run."""
    return bool(record(name)["scenario"].get("loss"))


def round_trip(name: str) -> float:
    """The longest round trip of the path, with a full queue, seconds."""
    run = record(name)
    path = run["scenario"]
    queueing = path["queue_pkts"] * path["frame_bytes"] * 8 / path["rate_bps"]
    return float((path["fwd_delay_ms"] + max(flow["ack_delay_ms"] for flow in run["flows"])) / 1e3 + queueing)


def step_ns(name: str) -> int:
    """Spacing of the recorded series."""
    return round(record(name)["flows"][0]["t"]["dt"] * 1e3) * 1_000_000


def bottleneck(path: Mapping[str, Any]) -> dict[str, Any]:
    """The link of a recorded path: rate and queue, then loss, then the forward delay."""
    loss = None
    if path.get("loss"):
        loss = {"kind": "bernoulli", "p": path["loss"]}
    if path.get("drop_every"):
        loss = {"kind": "every", "n": path["drop_every"]}
    return {
        "id": "bottleneck",
        "rate_bps": round(path["rate_bps"]),
        "delay_ns": round(path["fwd_delay_ms"] * 1e6),
        "overhead_bytes": 14,
        "queue": {"kind": "droptail", "limit_packets": path["queue_pkts"], "limit_includes_service": True},
        "loss": loss,
    }


def document(name: str, seed: int = 1, start_spread_ns: int = 0, phase_ns: int = 0) -> dict[str, Any]:
    """The recorded path: rate and queue, then loss, then the forward delay; the way back only delays.

    With `start_spread_ns` each flow but the first starts up to so much later, as its seed says. Everything begins and
    ends `phase_ns` later, which moves it against the ticks of the clock.
    """
    return resolved(record(name), seed, start_spread_ns, probes(step_ns(name)), phase_ns)


def probes(spacing_ns: int) -> dict[str, Any]:
    """The series that are compared with a record's."""
    every = {"every_ns": spacing_ns}
    return {"cwnd": every, "srtt": every, "recoveries": "on_change", "timeouts": "on_change"}


def resolved(
    run: Mapping[str, Any],
    seed: int,
    start_spread_ns: int = 0,
    series: Mapping[str, Any] | None = None,
    phase_ns: int = 0,
) -> dict[str, Any]:
    """The resolved run of a path and its flows, given as a record gives them (`scenario`, `flows`)."""
    path = run["scenario"]

    def start(number: int, at: int) -> dict[str, Any]:
        return {"uniform_ns": [at, at + start_spread_ns]} if start_spread_ns and number else {"at_ns": at}

    flows = [
        {
            "id": str(number),
            "forward": [{"link": "bottleneck"}],
            "reverse": [{"delay_ns": round(flow["ack_delay_ms"] * 1e6)}],
            "start": start(number, round(flow["start"] * 1e9) + phase_ns),
            "app": {"kind": "bulk"},
            "mss": MSS,
            "profile": "linux",
            # The largest receive buffer, from which the window scale of 13 follows.
            "tcp": {"receive_buffer": 1 << 28},
            "cc": {"name": CONTROLLERS[flow["cc"]]},
        }
        for number, flow in enumerate(run["flows"])
    ]
    return {
        "format": 1,
        "seed": seed,
        "duration_ns": round(path["duration"] * 1e9) + phase_ns,
        "links": [bottleneck(path)],
        "flows": flows,
        "probes": dict(series or {}),
    }


@functools.cache
def _rows(file_name: str) -> Mapping[str, list[Mapping[str, str]]]:
    """The rows of a file by record."""
    found: dict[str, list[Mapping[str, str]]] = {}
    path = RECORDS / file_name
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found.setdefault(f"{row['scenario']}_{row['cc']}", []).append(row)
    return found


def seeds() -> Mapping[str, list[Mapping[str, str]]]:
    """What the kernel did with other seeds or starts: the rows of kernel-seeds.csv by record."""
    return _rows("kernel-seeds.csv")


def phases() -> Mapping[str, list[Mapping[str, str]]]:
    """The kernel with starts all over its clock's tick: the rows of kernel-phases.csv by record."""
    return _rows("kernel-phases.csv")
