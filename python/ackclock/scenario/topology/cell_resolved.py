"""From a cell of a scenario to the cell of the resolved run."""

from __future__ import annotations

from typing import Any

from ackclock.errors import Problem
from ackclock.scenario.topology.cell import LteCell, Rlc
from ackclock.scenario.topology.queue import Queue
from ackclock.scenario.topology.resolved import Key

Document = dict[str, Any]

NAME = "cell"
"""Of the cell of a scenario."""


def resolve_cell(cell: LteCell, packet: int) -> Document:
    """The cell as the engine reads it; `packet` are the bytes of a full-size packet."""
    up, cqi, harq = cell.uplink, cell.cqi, cell.harq
    optional: Document = {}
    if cell.fading is not None:
        optional["fading"] = {"profile": cell.fading.profile, "speed_kmh": cell.fading.speed}
    if up.power_control is not None:
        optional["power_control"] = {"alpha": up.power_control.alpha, "p0_dbm": up.power_control.p0}
    if cell.promotion is not None:
        optional["promotion"] = {"after_ns": cell.promotion.after, "delay_ns": cell.promotion.delay}
    return {
        "id": NAME,
        "kind": "lte",
        "params": {
            "bandwidth_mhz": cell.bandwidth,
            "down_mhz": cell.carrier,
            "up_mhz": up.carrier,
            "path_loss": cell.path_loss,
            "area": cell.area,
            "base_m": cell.base_height,
            "user_m": cell.user_height,
            "min_distance_m": cell.min_distance,
            "base_power_dbm": cell.power,
            "user_power_dbm": up.power,
            "gain_db": cell.gain,
            "user_noise_db": cell.noise,
            "base_noise_db": up.noise,
            "shadowing_db": cell.shadowing,
            "thresholds": cell.thresholds,
            "cqi_quantised": cqi.quantised,
            "cqi_period_ns": cqi.period,
            "cqi_delay_ns": cqi.delay,
            "cqi_subband": cqi.subband,
            "effective_penalty_db": cqi.penalty,
            "min_mcs0": cqi.min_mcs0,
            "uplink_64qam": up.qam64,
            "errors": {"geometric": [harq.first, harq.further]} if harq.errors == "fixed" else harq.errors,
            "bler_slope_db": harq.slope,
            "max_retransmissions": harq.retransmissions,
            "rlc": _rlc(cell.rlc),
            "scheduler": cell.scheduler,
            "fair_ttis": cell.fair_ttis,
            "fit": cell.fit,
            "down_queue": queue_of_user(cell.queue, packet, "topology", "queue"),
            "up_queue": queue_of_user(up.queue, packet, "topology", "uplink", "queue"),
            "down_delay_ns": cell.delay,
            "up_delay_ns": up.delay,
            "sr_period_ns": up.sr_period,
            "grant_delay_ns": up.grant_delay,
            "min_grant_rbs": up.min_grant,
            "down_background": cell.background,
            "up_background": up.background,
            **optional,
        },
        "users": _users(cell, packet),
    }


def _users(cell: LteCell, packet: int) -> list[Document]:
    if not cell.places:
        return [{"disc_m": cell.radius} for _ in range(cell.count)]
    found = []
    for index, place in enumerate(cell.places):
        given = {
            "distance_m": place.distance,
            "down_db": place.snr,
            "up_db": place.up_snr,
            "speed_kmh": place.speed,
            "down_queue": None
            if place.queue is None
            else queue_of_user(place.queue, packet, "topology", "places", index, "queue"),
        }
        found.append({name: value for name, value in given.items() if value is not None})
    return found


def _rlc(rlc: Rlc) -> Document:
    times = {
        "reordering_ns": rlc.reordering,
        "status_prohibit_ns": rlc.status_prohibit,
        "poll_retransmit_ns": rlc.poll_retransmit,
    }
    return {
        "mode": rlc.mode,
        **{name: value for name, value in times.items() if value is not None},
        "block_overhead": rlc.block_overhead,
        "packet_overhead": rlc.packet_overhead,
    }


def queue_of_user(queue: Queue, packet: int, *key: str | int) -> Document:
    """The queue of a user, written at `key`, as the engine reads it; it holds a packet of `packet` bytes."""
    limit, above = queue.limit, queue.mark_above
    if limit.unit == "bytes" and limit.amount < packet:
        problem = f"a queue of {int(limit.amount)} B never holds a full-size packet of {packet} B"
        raise Problem(problem, f'give at least "{packet} B"', *key, "limit")
    return {
        "kind": queue.kind,
        "limit_packets": int(limit.amount) if limit.unit == "packets" else None,
        "limit_bytes": int(limit.amount) if limit.unit == "bytes" else None,
        "limit_includes_service": queue.limit_includes_service,
        "packet_bytes": packet,
        **({"weights": list(queue.weights)} if queue.weights else {}),
        **({"params": queue.params} if queue.params else {}),
        **({} if above is None else {f"mark_above_{above.unit}": int(above.amount)}),
    }


_OF_PARAMS: dict[str, Key] = {
    "bandwidth": ("bandwidth",),
    "down": ("carrier",),
    "up": ("uplink", "carrier"),
    "base": ("base_height",),
    "user": ("user_height",),
    "min_distance": ("min_distance",),
    "base_power": ("power",),
    "user_power": ("uplink", "power"),
    "gain": ("gain",),
    "user_noise": ("noise",),
    "base_noise": ("uplink", "noise"),
    "power_control": ("uplink", "power_control"),
    "cqi_quantised": ("cqi", "quantised"),
    "cqi_period": ("cqi", "period"),
    "cqi_delay": ("cqi", "delay"),
    "cqi_subband": ("cqi", "subband"),
    "effective_penalty": ("cqi", "penalty"),
    "min_mcs0": ("cqi", "min_mcs0"),
    "uplink_64qam": ("uplink", "qam64"),
    "errors": ("harq",),
    "bler_slope": ("harq", "slope"),
    "max_retransmissions": ("harq", "retransmissions"),
    "down_queue": ("queue",),
    "up_queue": ("uplink", "queue"),
    "down_delay": ("delay",),
    "up_delay": ("uplink", "delay"),
    "sr_period": ("uplink", "sr_period"),
    "grant_delay": ("uplink", "grant_delay"),
    "min_grant_rbs": ("uplink", "min_grant"),
    "down_background": ("background",),
    "up_background": ("uplink", "background"),
}
"""Where a scenario has what the engine calls so, without units."""

_UNITS = ("_mhz", "_dbm", "_db", "_m", "_ns", "_kmh")


def written_at(place: list[str]) -> Key:
    """The key of a scenario that a part of the resolved cell is written at, as the engine names it in messages."""
    head, *rest = place or [""]
    if head == "users":
        names = {"disc_m": ("radius",)}
        if rest[1:] and rest[1] in names:
            return ("topology", *names[rest[1]])
        number = (int(rest[0]),) if rest and rest[0].isdecimal() else ()
        own = {"down_db": "snr", "up_db": "up_snr", "down_queue": "queue"}
        return ("topology", "places", *number, *(own.get(part, _bare(part)) for part in rest[1:]))
    if head != "params" or not rest:
        return ("topology",)
    first, *inner = rest
    inner = [part for part in inner if part != "params"]
    return ("topology", *_OF_PARAMS.get(_bare(first), (_bare(first),)), *map(_bare, inner))


def _bare(name: str) -> str:
    unit = next((unit for unit in _UNITS if name.endswith(unit)), "")
    return name.removesuffix(unit)
