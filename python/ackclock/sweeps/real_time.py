"""What this computer plays in real time: short runs on its kernel, at rates that grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock import host, kernel
from ackclock.errors import EngineError, InputError, one_line
from ackclock.execution.pace import SHARE, of_rate
from ackclock.results.result import Result
from ackclock.scenario.plan import load
from ackclock.sweeps.run import in_memory

RATES_MBPS = (10, 30, 100, 300, 1000)
DURATION_S = 1
RTT = "20 ms"
"""Of each run."""
_TRIES = 3
"""Of a rate at which the run is not valid: whatever else goes on for a moment says nothing of the computer."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A run at one rate. The times of the path are those of its thread."""

    mbps: int
    offload: bool
    valid: bool
    packets_per_s: float
    goodput_mbps: float
    late_p99_s: float
    late_worst_s: float
    cpu_per_packet_s: float
    cpu_share: float
    problems: Sequence[str]


def measure(progress: Callable[[int, int], None], rates: Sequence[int] = RATES_MBPS) -> list[Measured]:
    """Play a second at each rate, without and with offload, and again what was not valid, thrice at most.

    Raises :class:`InputError` where nothing can be played here.
    """
    found = kernel.probe()
    if not found["hosts"][0]:
        problems = one_line("; ".join(found["problems"])) or "see ackclock doctor"
        raise InputError("real time cannot be measured, for hosts cannot be made here", problems, key="--measure")
    asked = [(rate, offload) for offload in (False, True) for rate in rates]
    measured = []
    for done, (rate, offload) in enumerate(asked):
        progress(done, len(asked))
        tries = (
            of(in_memory(load(_scenario(rate, offload=offload)), jobs=1), rate, offload=offload) for _ in range(_TRIES)
        )
        for one in tries:
            if one.valid:
                break
        measured.append(one)
    progress(len(asked), len(asked))
    return measured


def _scenario(rate: int, *, offload: bool) -> dict[str, Any]:
    queue = {"kind": "droptail", "limit": "1 BDP"}
    return {
        "topology": {"kind": "dumbbell", "rate": f"{rate} Mbit/s", "rtt": RTT, "queue": queue},
        "flows": [{"cc": "cubic"}],
        "run": {"duration": f"{DURATION_S} s", "engine": "kernel", "offload": offload},
    }


def of(result: Result, rate: int, *, offload: bool) -> Measured:
    """What a run at a rate says. Raises :class:`EngineError` where it failed."""
    if result.manifest["failed"]:
        raise EngineError(f"real time cannot be measured: {result.manifest['failed'][0]['problem']}")
    (run,) = result.manifest["runs"]
    emulation = run["emulation"]
    late, packets = dict(emulation["links"])["bottleneck"], emulation["packets"][0]
    cpu_s = emulation["cpu_s"] or 0.0
    return Measured(
        mbps=rate,
        offload=offload,
        valid=emulation["valid"],
        packets_per_s=packets / DURATION_S,
        goodput_mbps=result.flows["goodput_bps"][0] / 1e6,
        late_p99_s=late["p99_s"] or 0.0,
        late_worst_s=late["worst_s"],
        cpu_per_packet_s=cpu_s / packets if packets else 0.0,
        cpu_share=cpu_s / DURATION_S,
        problems=emulation["problems"],
    )


def up_to(measured: Sequence[Measured], *, offload: bool) -> Measured | None:
    """The fastest run up to which all were valid."""
    fastest = None
    for item in (each for each in measured if each.offload == offload):
        if not item.valid:
            break
        fastest = item
    return fastest


def able(measured: Sequence[Measured]) -> dict[str, float]:
    """Packets a second that are handed on in time, without and with offload, as scenarios are reckoned.

    Those of the fastest run up to which all were valid. Where that is the fastest of all, nothing says where it ends
    but the processor, which may be taken to a share.
    """
    found = {}
    for name, offload in (("plain", False), ("offload", True)):
        best, last = up_to(measured, offload=offload), [each for each in measured if each.offload == offload][-1]
        able = 0.0 if best is None else of_rate(best.mbps * 1e6)
        if best is last and best.cpu_share > 0:
            able *= max(1.0, SHARE / best.cpu_share)
        found[name] = able
    return found


def keep(measured: Sequence[Measured]) -> None:
    """Have what was measured known to the runs that come (:func:`ackclock.host.pace`)."""
    if known := {name: packets for name, packets in able(measured).items() if packets}:
        host.keep_pace(known)


def as_json(measured: Sequence[Measured]) -> Mapping[str, Any]:
    """What ``ackclock doctor --measure --json`` has of it."""
    best = {name: up_to(measured, offload=offload) for name, offload in (("plain", False), ("offload", True))}
    return {
        "runs": [{name: getattr(item, name) for name in Measured.__slots__} for item in measured],
        "valid_up_to_mbps": {name: None if item is None else item.mbps for name, item in best.items()},
        "packets_per_s": able(measured),
    }
