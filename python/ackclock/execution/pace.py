"""Whether runs in real time have more packets than this computer hands on in time: said before they begin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ackclock import host
from ackclock.scenario.plan import Job, Plan

SHARE = 0.7
"""Of a processor that the path may take: what comes in bursts needs the rest."""
CPU_S = {False: 10e-6, True: 5e-6}
"""Time of a processor that a packet takes at the path where nothing was measured, s, without and with `offload`."""
_PACKET = 1500
_ACKS = 0.5
"""For every packet of TCP, as receivers acknowledge every second one."""


@dataclass(frozen=True, slots=True)
class Strain:
    """A plan with more packets a second, in its busiest point, than this computer hands on in time."""

    source: str
    packets_per_s: float
    able_per_s: float
    measured: bool
    offload: bool

    def __str__(self) -> str:
        asked = f"{self.source}: up to {_rounded(self.packets_per_s)} packets a second are to pass the path"
        how = "as measured" if self.measured else "as reckoned; ackclock doctor --measure measures it"
        offload = "" if self.offload else "offload (docs/engines.md), "
        remedy = f"take {offload}a lower rate or engine kernel-vt"
        return f"{asked}, and this computer hands on about {_rounded(self.able_per_s)} in time ({how}); {remedy}"


def _rounded(number: float) -> str:
    digits = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return f"{round(number / digits) * digits:,.0f}".replace(",", " ")


def strains(plans: Iterable[Plan]) -> list[Strain]:
    """Of the plans with runs in real time those that ask for too much, each with its busiest point."""
    found = []
    for plan in plans:
        busiest: Strain | None = None
        for point in plan.points:
            run = point.scenario.run
            if run.engine != "kernel" or run.allow_late:
                continue
            asked = packets_per_s(Job(0, point, 0).document())
            able, measured = able_per_s(offload=run.offload)
            if asked > able and (busiest is None or asked / able > busiest.packets_per_s / busiest.able_per_s):
                busiest = Strain(plan.source, asked, able, measured, run.offload)
        if busiest is not None:
            found.append(busiest)
    return found


def of_rate(rate: float) -> float:
    """Packets a second that pass the path when TCP fills one link of `rate`, bit/s, as :func:`packets_per_s` has it."""
    return rate / 8 / _PACKET * (1 + _ACKS)


def able_per_s(*, offload: bool) -> tuple[float, bool]:
    """Packets a second that this computer hands on in time, and whether that was measured."""
    measured = host.pace().get("offload" if offload else "plain", 0.0)
    return (measured, True) if measured > 0 else (SHARE / CPU_S[offload], False)


def packets_per_s(document: Mapping[str, Any]) -> float:
    """Packets a second that pass the path of a resolved run when all bottlenecks are busy.

    Of every flow with data the slowest link of its way counts, and a link once however many flows share it. Flows over
    ways without a rate, or with a cell, are not counted.
    """
    rates = {link["id"]: fastest(link) for link in document["links"]}
    sizes = {link["id"]: (link.get("queue") or {}).get("packet_bytes") or _PACKET for link in document["links"]}
    offered: dict[str, float] = {}
    acked: dict[str, bool] = {}
    for flow in document["flows"]:
        on_way = [
            (rates[hop["link"]], hop["link"]) for hop in flow["forward"] if rates.get(hop.get("link")) is not None
        ]
        if not on_way:
            continue
        rate, bottleneck = min((rate, name) for rate, name in on_way if rate is not None)
        app = flow["app"]
        most: float = min(rate, app.get("rate_bps") or rate)
        offered[bottleneck] = min(rate, offered.get(bottleneck, 0.0) + most)
        acked[bottleneck] = acked.get(bottleneck, False) or "packet_bytes" not in app
    packets = {name: rate / 8 / sizes[name] for name, rate in offered.items()}
    return sum(count * (1 + _ACKS * acked[name]) for name, count in packets.items())


def fastest(link: Mapping[str, Any]) -> float | None:
    """The highest rate of a link, bit/s; of a trace the mean. None where it has none."""
    shaper = (link.get("shaper") or {}).get("rate_bps")
    line: float | None = link.get("rate_bps")
    if line is None and (steps := (link.get("schedule") or {}).get("steps")):
        line = max(rate for _, rate in steps)
    elif line is None and (trace := link.get("trace")) and trace["times_ms"][-1] > 0:
        line = len(trace["times_ms"]) * trace.get("opportunity_bytes", _PACKET) * 8000 / trace["times_ms"][-1]
    known = [rate for rate in (line, shaper) if rate is not None]
    return min(known, default=None)
