"""A cell of a resolved run in words, and as something to draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.scenario.values.units import DURATION, RATE, SIZE

Document = Mapping[str, Any]


def band(cell: Document) -> str:
    """The band of a cell: ``LTE 20 MHz at 2120 MHz, up at 1930 MHz``."""
    params = cell["params"]
    return f"LTE {params['bandwidth_mhz']:g} MHz at {params['down_mhz']:g} MHz, up at {params['up_mhz']:g} MHz"


def power(cell: Document) -> str:
    """Power and path loss: ``30 dBm, cost231_lena``."""
    params = cell["params"]
    area = "" if params["path_loss"] == "cost231_lena" else f" {params['area']}"
    faded = f", {params['fading']['profile']} fading" if "fading" in params else ""
    shadowed = f", shadowing {params['shadowing_db']:g} dB" if params["shadowing_db"] else ""
    return f"{params['base_power_dbm']:g} dBm, {params['path_loss']}{area}{shadowed}{faded}"


def users(cell: Document) -> str:
    """Who is in it: ``30 within 500 m``."""
    found, first = cell["users"], cell["users"][0]
    if "disc_m" in first:
        return f"{len(found)} within {first['disc_m']:g} m"
    distances = [user["distance_m"] for user in found if "distance_m" in user]
    levels = [user["down_db"] for user in found if "down_db" in user]
    parts = [_span(values, unit) for values, unit in ((distances, "m"), (levels, "dB")) if values]
    return f"{len(found)} at {' and '.join(parts)}"


def service(cell: Document) -> str:
    """How they are served: ``pf, rlc um``."""
    params = cell["params"]
    others = f", {100 * params['down_background']:g} % for others" if params["down_background"] else ""
    return f"{params['scheduler']}, rlc {params['rlc']['mode']}{others}"


def queue(cell: Document) -> str:
    """The queue of each user at the base station: ``droptail unlimited, 300 ms at most``."""
    held = cell["params"]["down_queue"]
    limit = "unlimited"
    if held["limit_packets"] is not None:
        limit = f"{held['limit_packets']} packets"
    elif held["limit_bytes"] is not None:
        limit = SIZE.format(held["limit_bytes"])
    age = held.get("params", {}).get("max_age")
    return f"{held['kind']} {limit}" + (f", {DURATION.format(age)} at most" if age else "")


def hspa(cell: Document) -> tuple[str, ...]:
    """A cell of HSPA: its rates, its users, their delays and queues."""
    late = f", up to {DURATION.format(cell['jitter_ns'])} more" if cell["jitter_ns"] else ""
    rates = f"HSPA {RATE.format(cell['down_bps'])}, up {RATE.format(cell['up_bps'])}"
    queue_of = queue({"params": cell})
    return rates, f"{cell['users']}", f"{DURATION.format(cell['delay_ns'])}{late}", queue_of


def _span(values: list[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{low:g} {unit}" if low == high else f"{low:g} to {high:g} {unit}"
