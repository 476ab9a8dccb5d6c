"""``ackclock show``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.cli import console, pcap
from ackclock.cli.exit_codes import OK
from ackclock.drawing import users
from ackclock.errors import InputError
from ackclock.files import figures_of, unwritable
from ackclock.metrics.capacity import rate_of
from ackclock.pcaps.analyse import opened as captures_of
from ackclock.results import warnings
from ackclock.results.result import Result
from ackclock.results.store import MANIFEST
from ackclock.scenario.compile import full_packet
from ackclock.scenario.display import description, radio, sketch
from ackclock.scenario.plan import Beginning, Plan, Point, begin, load
from ackclock.scenario.topology.resolved import bdp_packets
from ackclock.scenario.traffic import splitting
from ackclock.scenario.traffic.flow import Flow
from ackclock.scenario.traffic.relay import LEGS
from ackclock.scenario.values.units import DURATION, SIZE

_MOST = 12  # points printed in full
_CHECKED = 1000  # points that are looked at where no more are printed: a second or two


def show(file: Path, changes: Sequence[str], *, as_json: bool, plot: Sequence[Path] | None = None) -> int:
    """Print the runs of a scenario: their resolved documents as JSON, or links and flows as tables.

    With `plot`, the topology of the first point is drawn into these files, or, if there are none, into an SVG and a
    PNG in the directory where ``run --plot`` puts its figures: ``NAME-plots``, where NAME is that of `file`.
    """
    if (done := captures_of(file)) is not None:
        pcap.show(done, as_json=as_json)
        return OK
    if (file / MANIFEST).is_file():
        problem = "is a result, and show is of scenarios"
        live = Result.load(file).manifest["engine"]["name"] == "live"
        ways = "measure why, plot or query" if live else "rank, plot or query, or give the file of the scenario"
        remedy = f"see it with ackclock {ways}"
        raise InputError(problem, remedy, source=str(file))
    if as_json:
        plan = load(file, set=changes)
        found = Beginning(plan, len(plan.points), len(plan))
    else:
        found = begin(file, set=changes, most=_CHECKED)
        plan = found.plan
    drawn = _draw(plan, plot or _own(file)) if plot is not None else []
    _print(found, drawn, as_json=as_json)
    for warning in _warnings(plan):
        console.warn(warning)
    return OK


def _print(found: Beginning, drawn: Sequence[Path], *, as_json: bool) -> None:
    plan = found.plan
    if as_json:
        runs = [{"run": job.index, "params": job.point.params, "resolved": job.document()} for job in plan.jobs()]
        console.print_json({"runs": runs})
        return
    out = console.stdout()
    console.say(out, _heading(found))
    shown: dict[str, int] = {}
    for point in plan.points[:_MOST]:
        out.print()
        tables = list(_tables(plan, point))
        known = {name: shown[repr(rows)] for name, rows, _ in tables if repr(rows) in shown}
        if point.params:
            said = "; ".join(f"{' and '.join(names)} as in point {at}" for at, names in _by_point(known).items())
            console.say(out, f"point {point.index}: {_params(point)}{f' ({said})' if said else ''}")
        for name, rows, sides in tables:
            if name not in known:
                out.print(console.table(rows, sides))
                shown[repr(rows)] = point.index
    if found.points > _MOST:
        console.say(out, f"\nand {found.points - _MOST} more points; --json prints all of them")
    if found.points > len(plan.points):
        checked = f"the first {len(plan.points)} points were checked; run and sweep check all before they begin"
        console.say(out, checked)
    if drawn:
        which = " of point 0" if len(plan.points) > 1 else ""
        console.say(out, f"\ntopology{which}: {', '.join(map(str, drawn))}")


def _tables(plan: Plan, point: Point) -> Iterator[tuple[str, list[list[str]], list[console.Justify]]]:
    """The tables of a point with what they are of."""
    document = next(job for job in Plan(plan.source, "", (point,)).jobs()).document()
    if document["links"]:
        yield "links", _links(point, document), ["left"]
    if cells := document.get("cells"):
        yield "cells", _cells(cells), ["left"] * 6
    if cells := document.get("hspa"):
        words = [[cell["id"], *radio.hspa(cell)] for cell in cells]
        yield "HSPA cells", [["cell", "rate", "users", "delay", "queue of each"], *words], ["left"] * 5
    yield "flows", _flows(point, document), ["left", "left", "left", "left", "left", "right", "left"]
    yield "ways", _ways(point, document), ["left"] * 3
    if any(split is not None for split in point.scenario.splits()):
        yield "relays", _relays(point), ["left"] * 8
        yield "legs", _legs(point, document), ["left"] * 7


def _by_point(known: Mapping[str, int]) -> dict[int, list[str]]:
    """What was printed before, by the point that it was printed for."""
    found: dict[int, list[str]] = {}
    for name, at in known.items():
        found.setdefault(at, []).append(name)
    return found


def _warnings(plan: Plan) -> list[str]:
    """What a run of the plan would warn of, as far as that is known before."""
    points = [
        {"run": point.index, "point": point.index, "warnings": [*point.warnings, *point.foreseen]}
        for point in plan.points
    ]
    return warnings.of({"runs": points})


def _own(file: Path) -> list[Path]:
    """The files of a figure that nobody named a place for, in a directory of their own."""
    folder = figures_of(file)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    return [folder / f"topology.{ending}" for ending in ("svg", "png")]


def _draw(plan: Plan, files: Sequence[Path]) -> list[Path]:
    for file in files:
        if not file.parent.is_dir():
            problem = "cannot write a figure there: no such directory"
            raise InputError(problem, "make it, or choose another", source=str(file.parent))
    from ackclock.drawing import topology  # takes longer than everything else here

    picture = sketch.sketch(plan.points[0].scenario)
    return [topology.save(picture, file) for file in files]


def _heading(found: Beginning) -> str:
    plan, points, runs = found.plan, found.points, found.runs
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
    rows = [["link", "rate", "delay", "queue", "BDP", "overhead", "loss", "besides"]]
    layout = point.scenario.layout()
    packet, shared = full_packet(point.scenario.flows[0]), len(layout.links)
    for link in [*document["links"][:shared], *_of_first_flows(point, document["links"][shared:])]:
        rate = rate_of(link, document["duration_ns"])
        bdp = f"{bdp_packets(int(rate), layout.rtt, packet + link['overhead_bytes'])} packets" if rate else "-"
        rows.append(
            [
                link["id"],
                description.rate(link) or "unlimited",
                DURATION.format(link["delay_ns"]),
                description.queue(link) or "unlimited",
                bdp,
                SIZE.format(link["overhead_bytes"]),
                description.loss(link) or "none",
                ", ".join(description.others(link)),
            ]
        )
    if not any(row[-1] for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    return rows


def _cells(cells: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    rows = [["cell", "band", "power", "users", "served", "queue of each"]]
    for cell in cells:
        own = (radio.band(cell), radio.power(cell), radio.users(cell), radio.service(cell), radio.queue(cell))
        rows.append([cell["id"], *own])
    return rows


def _of_first_flows(point: Point, own: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The access links of the first flow of each group; those of the others are equal."""
    counts = (flow.count for flow in point.scenario.flows)
    firsts = set(map(str, itertools.accumulate(counts, initial=0)))
    return [link for link in own if re.sub(r"\D", "", link["id"]) in firsts]


def _flows(point: Point, document: Mapping[str, Any]) -> list[list[str]]:
    rows = [["flows", "cc", "slow start", "profile", "start", "RTT", "sends", "MSS", "ECN"]]
    first = 0
    for flow, route in zip(point.scenario.flows, point.scenario.layout().routes, strict=True):
        last = first + flow.count - 1
        start = flow.start
        rows.append(
            [
                str(first) if flow.count == 1 else f"{first} to {last}",
                *(("none", "-", "-") if flow.datagrams else _algorithms(flow)),
                " to ".join(map(DURATION.format, start.uniform)) if start.uniform else DURATION.format(start.at or 0),
                DURATION.format(route.rtt) + (f" ± {DURATION.format(route.spread)}" if route.spread else ""),
                description.sends(document["flows"][first]),
                "-" if flow.datagrams else SIZE.format(flow.mss),
                description.marking(document["flows"][first]) or "",
            ]
        )
        first = last + 1
    if not any(row[-1] for row in rows[1:]):
        return [row[:-1] for row in rows]
    return [rows[0], *([*row[:-1], row[-1] or "off"] for row in rows[1:])]


def _relays(point: Point) -> list[list[str]]:
    rows = [["relay", "position", "flows", "buffer", "opening", "delay", "per segment", "connections"]]
    splits = list(zip(sketch.numbers(point.scenario), point.scenario.splits(), strict=True))
    for number, relay in enumerate(point.scenario.relays):
        flows = [numbers for numbers, split in splits if split is not None and split.number == number]
        if flows:
            times = [DURATION.format(time) if time else "none" for time in (relay.delay, relay.per_segment)]
            most = "any number" if relay.connections is None else f"at most {relay.connections}"
            place = splitting.CORE if relay.position is None else str(relay.position)
            rows.append([relay.name, place, ", ".join(flows), SIZE.format(relay.buffer), relay.opening, *times, most])
    return rows


def _legs(point: Point, document: Mapping[str, Any]) -> list[list[str]]:
    """The legs of the first flow of each group that is split."""
    rows = [["leg", "cc", "slow start", "profile", "MSS", "way out", "way back"]]
    flows = {flow["id"]: flow for flow in document["flows"]}
    first = 0
    for group, split in zip(point.scenario.flows, point.scenario.splits(), strict=True):
        for name, leg in zip(LEGS, split.legs if split is not None else (), strict=False):
            own = flows[f"{first}/{name}"]
            ways = (description.route(own[way]) for way in ("forward", "reverse"))
            rows.append([own["id"], *_algorithms(leg), SIZE.format(leg.mss), *ways])
        first += group.count
    return rows


def _algorithms(flow: Flow) -> tuple[str, str, str]:
    return str(flow.cc), str(flow.slow_start or "by profile"), flow.profile


def _ways(point: Point, document: Mapping[str, Any]) -> list[list[str]]:
    """The first flow of each group with what it crosses; of a cell all of their users."""
    rows = [["flows", "way out", "way back"]]
    places = users.places(document)
    of = {number: places[flow["id"]][1] for number, flow in enumerate(document["flows"]) if flow["id"] in places}
    first = 0
    for flow, numbers in zip(point.scenario.flows, sketch.numbers(point.scenario), strict=True):
        route = document["flows"][first]
        whose = users.named([of[each] for each in range(first, first + flow.count) if each in of])
        ways = (description.route(route[name], whose) for name in ("forward", "reverse"))
        rows.append([numbers, *ways])
        first += flow.count
    return rows
