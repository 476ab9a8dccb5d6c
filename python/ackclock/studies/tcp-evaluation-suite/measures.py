"""Measures of the Common TCP Evaluation Suite: what the draft asks for of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ackclock.stats import jain as index
from ackclock.study import Censored, Run, measure

CHANGE = 60.0
"""When the transients begin, s."""

Row = dict[str, Any]


# --- The congested link ---


@measure(kind="share")
def utilisation(run: Run) -> float:
    """Share of the time in which the congested link transmits."""
    return float(link(run)["utilisation"])


@measure(kind="amount")
def throughput(run: Run) -> float:
    """Bits per second on the congested link."""
    return 8 * float(link(run)["sent_bytes"]) / (run.duration - warmup(run))


@measure(kind="share")
def drop_rate(run: Run) -> float | None:
    """Share of the packets that the queue of the congested link refuses."""
    row = link(run)
    return float(row["drops"]) / row["arrived_packets"] if row["arrived_packets"] else None


@measure(kind="amount")
def mean_delay(run: Run) -> float:
    """Mean time in the queue of the congested link, s."""
    return float(link(run)["mean_queue_delay_s"])


@measure(kind="amount")
def p95_delay(run: Run) -> float | None:
    """95th percentile of the time in the queue of the congested link, s."""
    found = link(run)["p95_queue_delay_s"]
    return None if found is None else float(found)


# --- Transfers ---


@measure(kind="amount")
def mean_fct(run: Run) -> float | None:
    """Mean time of the transfers through the congested link that were completed, s."""
    return transfer_time(run, lambda index: index not in against(run))


@measure(kind="amount")
def fct_a(run: Run) -> float | None:
    """Mean time of the transfers of camp A, s."""
    return transfer_time(run, lambda index: index < len(run.flows) // 2)


@measure(kind="amount")
def fct_b(run: Run) -> float | None:
    """Mean time of the transfers of camp B, s."""
    return transfer_time(run, lambda index: index >= len(run.flows) // 2)


@measure(kind="amount")
def fct_single(run: Run) -> float | None:
    """Mean time of the transfers over one of the links, s."""
    return transfer_time(run, lambda index: index >= len(run.flows) // 4)


@measure(kind="amount")
def fct_multiple(run: Run) -> float | None:
    """Mean time of the transfers over all links, s."""
    return transfer_time(run, lambda index: index < len(run.flows) // 4)


# --- Ramp-up and transients ---


@measure(kind="time")
def to_150_kb(run: Run) -> float:
    """Time from the start of the newcomer until it has 150 kB, s; censored if it never has."""
    return received(run, 1500 * 10**2)


@measure(kind="time")
def to_1500_kb(run: Run) -> float:
    """Time from the start of the newcomer until it has 1.5 MB, s; censored if it never has."""
    return received(run, 1500 * 10**3)


@measure(kind="time")
def to_15_mb(run: Run) -> float:
    """Time from the start of the newcomer until it has 15 MB, s; censored if it never has."""
    return received(run, 1500 * 10**4)


@measure(kind="time")
def to_150_mb(run: Run) -> float:
    """Time from the start of the newcomer until it has 150 MB, s; censored if it never has."""
    return received(run, 1500 * 10**5)


@measure(kind="time")
def to_60(run: Run) -> float:
    """Time from the release until the window is 60 % of the bandwidth-delay product, s; else censored."""
    return opened(run, 0.6)


@measure(kind="time")
def to_80(run: Run) -> float:
    """Time from the release until the window is 80 % of the bandwidth-delay product, s; else censored."""
    return opened(run, 0.8)


@measure(kind="time")
def to_90(run: Run) -> float:
    """Time from the release until the window is 90 % of the bandwidth-delay product, s; else censored."""
    return opened(run, 0.9)


@measure(kind="amount")
def largest_step(run: Run) -> float | None:
    """Largest change of the window in a round trip until it is 90 % of the bandwidth-delay product, segments."""
    end = opened(run, 0.9)
    if isinstance(end, Censored):
        return None
    window, rtt = run.series("cwnd"), 0.1
    times = [CHANGE + index * rtt for index in range(round(end / rtt) + 1)]
    return max((abs(window.between(time - rtt, time)) for time in times), default=0.0) / mss(run)


@measure(kind="time")
def to_rate(run: Run) -> float:
    """Time from the release until a second with 90 % of the link's payload, s; else censored."""
    delivered, wanted = run.series("delivered"), 0.9 * payload_rate(run) / 8
    for step in range(int((run.duration - CHANGE - 1.0) * 10)):
        begin = CHANGE + step / 10
        if delivered.between(begin, begin + 1.0) >= wanted:
            return step / 10
    return Censored(run.duration - CHANGE)


@measure(kind="amount")
def cross_lost(run: Run) -> float:
    """Datagrams lost; all come after the transient began."""
    return float(sum(row["lost_packets"] or 0 for row in run.flows))


# --- Shares ---


@measure(kind="amount")
def camp_a(run: Run) -> float:
    """Goodput of camp A, the first half of the flows, bit/s."""
    return goodput(run.flows[: len(run.flows) // 2])


@measure(kind="amount")
def camp_b(run: Run) -> float:
    """Goodput of camp B, the second half of the flows, bit/s."""
    return goodput(run.flows[len(run.flows) // 2 :])


@measure(kind="share")
def jain(run: Run) -> float | None:
    """Jain's index of the long transfers."""
    return index(rates(run))


@measure(kind="inequality")
def larger(run: Run) -> float | None:
    """Goodput of the faster of two long transfers over that of the slower one."""
    first, second = rates(run)
    return max(first, second) / min(first, second) if min(first, second) else None


@measure(kind="ratio")
def other_over_160(run: Run) -> float | None:
    """Goodput of the second long transfer over that of the first, whose round-trip time is 160 ms."""
    first, second = rates(run)
    return second / first if first else None


@measure(kind="ratio")
def single_over_multiple(run: Run) -> float | None:
    """Mean goodput over one link to that over all three."""
    quarter = len(run.flows) // 4
    multiple = goodput(run.flows[:quarter])
    return goodput(run.flows[quarter:]) / 3 / multiple if multiple else None


# --- What they are made of ---


def link(run: Run) -> Row:
    """The row of the congested link: the central one from right to left, or the bottleneck."""
    return next((row for row in run.links if row["id"] == "r2->r1"), None) or run.bottleneck


def against(run: Run) -> range:
    """The flows from left to right in the basic scenarios: the last quarter of them."""
    count = len(run.flows)
    return range(count * 3 // 4, count) if any(row["id"] == "r2->r1" for row in run.links) else range(0)


def transfer_time(run: Run, chosen: Callable[[int], bool]) -> float | None:
    """Mean completion time over the transfers of the chosen flows."""
    rows = [row for index, row in enumerate(run.flows) if chosen(index) and row["transfers_completed"]]
    number = sum(row["transfers_completed"] for row in rows)
    return sum(row["mean_fct_s"] * row["transfers_completed"] for row in rows) / number if number else None


def received(run: Run, size: int) -> float:
    """When the newcomer, flow 1, has so many bytes, from its start; censored if it never has."""
    delivered = run.series("delivered", "1")
    at = next((float(t) for t, v in zip(delivered.time, delivered.value, strict=True) if v >= size), None)
    start = float(run.flow("1")["start_s"])
    return Censored(run.duration - start) if at is None else at - start


def opened(run: Run, part: float) -> float:
    """When the window is so much of the bandwidth-delay product, from the change; censored if it never is."""
    window, wanted = run.series("cwnd"), part * payload_rate(run) * 0.1 / 8
    points = zip(window.time, window.value, strict=True)
    at = next((float(time) for time, value in points if time >= CHANGE and value >= wanted), None)
    return Censored(run.duration - CHANGE) if at is None else at - CHANGE


def payload_rate(run: Run) -> float:
    """Payload in full segments that the bottleneck can carry, bit/s."""
    found = next(link for link in run.resolved["links"] if link["id"] == run.bottleneck["id"])
    return float(found["rate_bps"]) * mss(run) / int(found["queue"]["packet_bytes"])


def mss(run: Run) -> int:
    """Payload of a full segment, bytes."""
    return int(run.resolved["flows"][0]["mss"])


def warmup(run: Run) -> float:
    """When the measurement begins, s."""
    return float(run.resolved["warmup_ns"]) * 1e-9


def rates(run: Run) -> list[float]:
    """Goodputs of the long transfers, bit/s."""
    return [float(row["goodput_bps"]) for row in run.flows if row["app"] == "bulk"]


def goodput(rows: Iterable[Row]) -> float:
    """The sum of goodputs, bit/s."""
    return sum(float(row["goodput_bps"]) for row in rows)
