"""``ackclock show``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.cli import console
from ackclock.cli.app import OK
from ackclock.scenario.compile import full_packet
from ackclock.scenario.links import bdp_packets
from ackclock.scenario.plan import Plan, Point, load
from ackclock.scenario.units import DURATION, RATE, SIZE

_MOST = 12  # points printed in full


def show(file: Path, changes: Sequence[str], *, as_json: bool) -> int:
    """Print the runs of a scenario: their resolved documents as JSON, or links and flows as tables."""
    plan = load(file, set=changes)
    if as_json:
        runs = [{"run": job.index, "params": job.point.params, "resolved": job.document()} for job in plan.jobs()]
        console.print_json({"runs": runs})
        return OK
    out = console.stdout()
    out.print(_heading(plan), soft_wrap=True)
    for point in plan.points[:_MOST]:
        out.print()
        if point.params:
            out.print(f"point {point.index}: {_params(point)}", soft_wrap=True)
        document = next(job for job in Plan(plan.source, "", (point,)).jobs()).document()
        out.print(console.table(_links(point, document), ["left"]))
        out.print(console.table(_flows(point), ["left"] * 5))
    if len(plan.points) > _MOST:
        out.print(f"\nand {len(plan.points) - _MOST} more points; --json prints all of them")
    return OK


def _heading(plan: Plan) -> str:
    points, runs = len(plan.points), len(plan)
    first = plan.points[0].scenario.run
    length = (
        f"{DURATION.format(first.duration)} each"
        if first.warmup == 0
        else (f"{DURATION.format(first.duration)} each, the first {DURATION.format(first.warmup)} left out")
    )
    return f"{plan.source}: {points} point{'s'[: points > 1]}, {runs} run{'s'[: runs > 1]}, {length}"


def _params(point: Point) -> str:
    return ", ".join(f"{key} = {value}" for key, value in point.params.items())


def _links(point: Point, document: Mapping[str, Any]) -> list[list[str]]:
    rows = [["link", "rate", "delay", "queue", "BDP", "overhead", "loss"]]
    packet, rtt = full_packet(point.scenario.flows[0]), point.scenario.layout().rtt
    for link in document["links"]:
        rate = link["rate_bps"]
        bdp = f"{bdp_packets(rate, rtt, packet + link['overhead_bytes'])} packets" if rate else "-"
        rows.append(
            [
                link["id"],
                RATE.format(rate) if rate else "unlimited",
                DURATION.format(link["delay_ns"]),
                _limit(link["queue"]),
                bdp,
                SIZE.format(link["overhead_bytes"]),
                _loss(link["loss"]),
            ]
        )
    return rows


def _limit(queue: Mapping[str, Any]) -> str:
    if queue["limit_packets"] is not None:
        return f"{queue['kind']} {queue['limit_packets']} packets"
    if queue["limit_bytes"] is not None:
        return f"{queue['kind']} {SIZE.format(queue['limit_bytes'])}"
    return "unlimited"


def _loss(loss: Mapping[str, Any] | None) -> str:
    if loss is None:
        return "none"
    if loss["kind"] == "bernoulli":
        return f"{100 * loss['p']:g} %"
    return f"every {loss['n']} packets" if loss["kind"] == "every" else f"{len(loss['drops'])} chosen packets"


def _flows(point: Point) -> list[list[str]]:
    rows = [["flows", "cc", "slow start", "profile", "start", "RTT", "sends", "MSS"]]
    first = 0
    for flow, way in zip(point.scenario.flows, point.scenario.layout().ways, strict=True):
        last = first + flow.count - 1
        start = flow.start
        rows.append(
            [
                str(first) if flow.count == 1 else f"{first} to {last}",
                str(flow.cc),
                str(flow.slow_start or "by profile"),
                flow.profile,
                " to ".join(map(DURATION.format, start.uniform)) if start.uniform else DURATION.format(start.at or 0),
                DURATION.format(way.rtt),
                SIZE.format(flow.bytes) if flow.bytes else "without end",
                SIZE.format(flow.mss),
            ]
        )
        first = last + 1
    return rows
