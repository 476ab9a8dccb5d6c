"""What links of a resolved run can carry, and which of them a run is summarised by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def rate_of(link: Mapping[str, Any], duration_ns: int) -> float | None:
    """The rate of a link of a resolved run, bit/s.

    Of one that varies it is the mean over the run, or over its period or trace; a shaper's rate bounds it.
    """
    rate: float | None = link["rate_bps"]
    if (trace := link.get("trace")) is not None:
        rate = 8e3 * len(trace["times_ms"]) * float(trace["opportunity_bytes"]) / float(trace["times_ms"][-1])
    elif (schedule := link.get("schedule")) is not None:
        rate = _mean_rate(schedule["steps"], schedule["period_ns"] or duration_ns)
    if rate is not None and (shaper := link.get("shaper")) is not None:
        rate = min(rate, shaper["rate_bps"])
    return rate


def _mean_rate(steps: list[list[int]], until: int) -> float:
    """The mean of steps (time in ns, rate) from 0 until a time."""
    ends = [*(at for at, _ in steps[1:]), until]
    spent = sum(rate * max(0, min(end, until) - at) for (at, rate), end in zip(steps, ends, strict=True))
    return spent / until


def bottleneck(resolved: Mapping[str, Any]) -> str | None:
    """The id of the link that a resolved run is summarised by: the slowest on the first flow's way out.

    The first of several equally slow ones; ``None`` if no link on that way has a rate.
    """
    rates = {
        link["id"]: rate for link in resolved["links"] if (rate := rate_of(link, resolved["duration_ns"])) is not None
    }
    route = [hop["link"] for hop in resolved["flows"][0]["forward"] if "link" in hop]
    return min((name for name in route if name in rates), key=lambda name: rates[name], default=None)
