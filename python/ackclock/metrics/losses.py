"""When flows lose, and whether they lose together."""

from __future__ import annotations

from collections.abc import Sequence


def loss_events(times: Sequence[float], rtt: float) -> list[float]:
    """The begins of loss events: losses up to a round trip after the last begin belong to it (RFC 5348 §5.2)."""
    begins: list[float] = []
    for time in sorted(times):
        if not begins or time - begins[-1] > rtt:
            begins.append(time)
    return begins


def synchronisation(events: Sequence[Sequence[float]], rtt: float) -> float | None:
    """The mean share of the flows that lose in the same overflow, of all overflows: 1 if they always lose together.

    `events` has the times of each flow's losses. An overflow is a loss of any flow with all losses up to `rtt` after
    it. With ``n`` flows the least is 1/n. ``None`` with fewer than two flows or without losses.
    """
    if len(events) < 2:
        return None
    marked = sorted((time, flow) for flow, times in enumerate(events) for time in times)
    overflows: list[tuple[float, set[int]]] = []
    for time, flow in marked:
        if overflows and time - overflows[-1][0] <= rtt:
            overflows[-1][1].add(flow)
        else:
            overflows.append((time, {flow}))
    if not overflows:
        return None
    return sum(len(flows) for _, flows in overflows) / len(overflows) / len(events)
