"""Measures of the study of parallel connections: what a run comes to."""

from __future__ import annotations

import csv
import functools
import statistics
from pathlib import Path

from ackclock.metrics import synchronisation
from ackclock.models import cubic_fluid_utilisation, parallel_utilisation
from ackclock.study import Run, measure

CUBIC, RENO = 0.7, 0.5
"""What each keeps of its rate at a loss."""

RECORD = Path(__file__).parent / "expected" / "lines.csv"
"""What a campaign over the lines of `lines/campaign.toml` came to, with tests of 2 s."""


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
def formula_keeping_8(run: Run) -> float:
    """The share by the formula for connections that keep 0.8."""
    return parallel_utilisation(len(run.flows), 0.8)


@measure(kind="share")
def fluid_cubic(run: Run) -> float:
    """The share by the fluid of CUBIC, one connection cut per overflow, in proportion to its rate."""
    return _fluid_cubic(len(run.flows))


@functools.cache
def _fluid_cubic(number: int) -> float:
    return cubic_fluid_utilisation(number, "proportional", overflows=3000)


@measure(kind="share")
def line_mobile_a(run: Run) -> float | None:
    """The share of the most seen that as many connections got on the line mobile A, as recorded."""
    return recorded("mobile A").get(len(run.flows))


@measure(kind="share")
def line_mobile_b(run: Run) -> float | None:
    """The share of the most seen that as many connections got on the line mobile B, as recorded."""
    return recorded("mobile B").get(len(run.flows))


@measure(kind="share")
def line_mobile_b_moving(run: Run) -> float | None:
    """The share of the most seen that as many connections got on the line mobile B, moving, as recorded."""
    return recorded("mobile B moving").get(len(run.flows))


@measure(kind="share")
def line_mobile_c(run: Run) -> float | None:
    """The share of the most seen that as many connections got on the line mobile C, as recorded."""
    return recorded("mobile C").get(len(run.flows))


@measure(kind="share")
def line_fibre_a(run: Run) -> float | None:
    """The share of the most seen that as many connections got on the line fibre A, as recorded."""
    return recorded("fibre A").get(len(run.flows))


@measure(kind="share")
def line_fibre_b(run: Run) -> float | None:
    """The share of the most seen that as many connections got on the line fibre B, as recorded."""
    return recorded("fibre B").get(len(run.flows))


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


@functools.cache
def recorded(line: str) -> dict[int, float]:
    """The mean goodput of each number of connections on a recorded line, over the most of any test, as in the paper."""
    tests: dict[int, list[float]] = {}
    with RECORD.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["line"] == line:
                tests.setdefault(int(row["connections"]), []).append(float(row["goodput_kbps"]))
    most = max(max(found) for found in tests.values())
    return {number: statistics.fmean(found) / most for number, found in tests.items()}
