"""Measures of the study of parallel connections: what a run comes to."""

from __future__ import annotations

from ackclock.metrics import synchronisation
from ackclock.models import parallel_utilisation
from ackclock.study import Run, measure

CUBIC, RENO = 0.7, 0.5
"""What each keeps of its rate at a loss."""


@measure
def connections(run: Run) -> int:
    """How many connections there are."""
    return len(run.flows)


@measure(kind="amount")
def goodput(run: Run) -> float:
    """Payload that all connections delivered in order, from the beginning to the end of the run, bit/s."""
    return 8 * sum(float(flow["goodput_bytes"]) for flow in run.flows) / run.duration


@measure(kind="share")
def share(run: Run) -> float:
    """The same as a share of the payload that the line can carry, or that its policer lets pass."""
    return goodput(run) / payload_rate(run)  # type: ignore[operator]


@measure(kind="share")
def share_1(run: Run) -> float | None:
    """The share of the line that one connection gets."""
    return share(run) if connections(run) == 1 else None


@measure(kind="share")
def share_2(run: Run) -> float | None:
    """The share of the line that two connections get."""
    return share(run) if connections(run) == 2 else None


@measure(kind="share")
def share_4(run: Run) -> float | None:
    """The share of the line that four connections get."""
    return share(run) if connections(run) == 4 else None


@measure(kind="share")
def share_10(run: Run) -> float | None:
    """The share of the line that ten connections get."""
    return share(run) if connections(run) == 10 else None


@measure(kind="share")
def share_25(run: Run) -> float | None:
    """The share of the line that 25 connections get."""
    return share(run) if connections(run) == 25 else None


@measure(kind="share")
def formula_reno(run: Run) -> float:
    """The share by the formula for connections that keep half, as Reno does."""
    return parallel_utilisation(len(run.flows), RENO)


@measure(kind="share")
def formula_cubic(run: Run) -> float:
    """The share by the formula for connections that keep 0.7, as CUBIC does."""
    return parallel_utilisation(len(run.flows), CUBIC)


@measure(kind="share")
def together(run: Run) -> float | None:
    """Share of the connections that lose in the same round trip, of round trips with a loss; none for one."""
    flows = [flow["id"] for flow in run.flows]
    losses = [[*run.series("recoveries", flow).time[1:], *run.series("timeouts", flow).time[1:]] for flow in flows]
    return synchronisation(losses, max(float(flow["mean_rtt_s"] or 0.0) for flow in run.flows))


@measure(kind="percent")
def retransmitted(run: Run) -> float:
    """Payload sent again, % of what was sent."""
    sent = sum(float(flow["sent_bytes"]) for flow in run.flows)
    return 100 * sum(float(flow["retransmitted_bytes"]) for flow in run.flows) / sent


# --- What they are made of ---


def payload_rate(run: Run) -> float:
    """Payload in full segments that the line can carry, or that its policer lets pass, bit/s."""
    link = next(link for link in run.resolved["links"] if link["id"] == "bottleneck")
    policer = link.get("policer")
    rate = float(policer["rate_bps"] if policer else run.bottleneck["rate_bps"])
    return rate * int(run.resolved["flows"][0]["mss"]) / int(link["queue"]["packet_bytes"])
