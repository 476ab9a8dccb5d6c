"""A shell behind the path of a scenario: what of the scenario it takes, and the result of what passed."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ackclock import engine, kernel
from ackclock.assembly import manifest
from ackclock.assembly import tables as assembly
from ackclock.assembly.ledger import Ledger
from ackclock.errors import InputError
from ackclock.execution import batch, behind
from ackclock.results import store
from ackclock.results.warnings import render_warning
from ackclock.scenario.compile import compile_run
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Job, Plan, Point, resolved_text
from ackclock.scenario.settings import Probes
from ackclock.scenario.traffic.application import Bulk
from ackclock.scenario.traffic.flow import Flow, Start
from ackclock.sweeps.captures import scenario_hash
from ackclock.virtual import programs

End = Literal["client", "server"]

_WITHOUT_END = 10**17
"""Nanoseconds that no shell lasts: three years."""
_SERVER_WAIT = 2 * 10**9
_EVERY = 100_000_000
_MTU = 1500


@dataclass(frozen=True, slots=True)
class Virtual:
    """Programs in a guest. kernel: which one. write: the folder that they may write to as it is outside."""

    kernel: str | None = None
    write: Path | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What runs behind the path, and where.

    command: the program and its arguments. end: where it runs. server: a command line for the other end.
    flow: the number of the flow whose way the shell has; its source is the server. with_flows: the scenario's flows are
    played as well. duration: when the programs are ended, ns; None: when the program ends. nat: whether what is around
    the shell can be reached from behind the path. capture: whether packets are kept in a result. virtual: it is all
    in virtual time, and how.
    """

    command: Sequence[str]
    end: End = "client"
    server: str | None = None
    flow: int = 0
    with_flows: bool = False
    duration: int | None = None
    nat: bool = False
    capture: bool = True
    status: bool = True
    virtual: Virtual | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a shell went: what is said of the programs, of the links (by name) and of the path, and the warnings."""

    shell: Mapping[str, Any]
    links: Sequence[Mapping[str, Any]]
    emulation: Mapping[str, Any]
    warnings: Sequence[str]


def single(plan: Plan) -> Plan:
    """The plan, if it is one path. Raises :class:`InputError`."""
    if len(plan.points) > 1:
        keys = ", ".join(plan.params)
        remedy = f"give each of these one value, as with --set: {keys}"
        raise InputError(f"a shell is behind one path, not {len(plan.points)}", remedy, source=plan.source)
    return plan


def play(
    plan: Plan,
    request: Request,
    out: str | os.PathLike[str] | None = None,
    begins: Callable[[], None] = lambda: None,
) -> Ended:
    """Let programs run behind the path of a plan with one point; the tables of what passed go to `out`.

    `begins` is called when all that was asked for has been looked at, before the program starts; in virtual time as
    soon as it writes something, or has run for a while.
    Raises :class:`InputError` for what cannot be had, and :class:`ackclock.execution.behind.NotStartedError`.
    """
    (point,) = single(plan).points
    if request.virtual is not None:
        _checked(request, request.virtual, point.scenario.run.kernel)
    else:
        kernel.check_pin(point.scenario.run.pin, "run.pin", plan.source)
    scenario = _with_shell(point.scenario, request, recorded=out is not None)
    document = _document(point.scenario, scenario)
    place = store.OutputDirectory(out) if out is not None else None
    try:
        wanted = _wanted(request, place.partial if place is not None else None, plan)
        begun = time.monotonic()
        played = _played(document, wanted, request, scenario, begins)
        if place is not None:
            _keep(plan, point, scenario, played, request, place, time.monotonic() - begun)
    finally:
        if place is not None:
            place.discard()
    links = [_link(row) for row in played["output"]["links"]]
    return Ended(played["shell"], links, played["emulation"], list(map(render_warning, played["output"]["warnings"])))


def kernel_of(plan: Plan, name: str | None) -> tuple[str, str]:
    """Name and digest of the kernel that plays programs behind a path in virtual time: this, its own, or the only one.

    Raises :class:`EngineError` where there is none, :class:`InputError` where there are several or none of this name.
    """
    found = programs.usable(name or plan.points[0].scenario.run.kernel)
    return found.name, found.digest


def _checked(request: Request, virtual: Virtual, kernel: str | None) -> None:
    """Raise :class:`InputError` or :class:`EngineError` for what programs in virtual time cannot have."""
    behind.level()
    if behind.LEVEL in os.environ:
        problem = "a shell in a shell needs real time, for the outer one has it"
        raise InputError(problem, "leave the outer shell, or leave --virtual out", key="--virtual")
    if request.nat:
        problem = "in virtual time there is no network around the shell, for that has real time"
        raise InputError(problem, "leave out one of --nat and --virtual", key="--nat")
    programs.writable(virtual.write)
    programs.usable(virtual.kernel or kernel)


def _played(
    document: dict[str, Any],
    wanted: dict[str, Any],
    request: Request,
    scenario: Scenario,
    begins: Callable[[], None],
) -> dict[str, Any]:
    if request.virtual is None:
        return behind.play(resolved_text(document), wanted, begins)
    capture = wanted["capture"]
    if capture is not None:
        wanted = {**wanted, "capture": programs.PACKETS}
    asked = programs.Asked(
        write=programs.writable(request.virtual.write),
        limit_s=programs.limit_s(scenario.run.wall_limit, request.duration, document),
        capture=None if capture is None else Path(capture),
    )
    return behind.play_virtual(resolved_text(document), wanted, asked, begins)


def _with_shell(scenario: Scenario, request: Request, *, recorded: bool) -> Scenario:
    """The scenario with the shell as its last flow."""
    flows = [flow for flow in scenario.flows for _ in range(flow.count)]
    if not 0 <= request.flow < len(flows):
        known = "the only one is 0" if len(flows) == 1 else f"they are numbered from 0 to {len(flows) - 1}"
        raise InputError(f"there is no flow {request.flow}", known, key="--flow")
    plain: dict[str, Any] = {"app": Bulk(), "bytes": None, "start": Start(at="0 s"), "stop": None, "active": ()}
    own: Flow = flows[request.flow].model_copy(update=plain | {"count": 1, "slow_start": None, "tcp": {}})
    who: dict[str, Any] = {"engine": "kernel"}
    if request.virtual is not None:
        who = {"engine": "kernel-vt", "kernel": request.virtual.kernel or scenario.run.kernel, "pin": None}
    run = scenario.run.model_copy(update={**who, "warmup": 0, "capture": (), "replications": 1})
    return scenario.model_copy(
        update={
            "flows": (*scenario.flows, own) if request.with_flows else (own,),
            "run": run,
            "probes": _probes(scenario.probes) if recorded else Probes(),
        }
    )


def _probes(probes: Probes) -> Probes:
    """What is recorded: as the scenario says, and of links everything."""
    links = {name: _EVERY for name in ("queue", "queue_bytes", "link_sent", "drops") if not getattr(probes, name)}
    return probes.model_copy(update=links)


def _document(original: Scenario, scenario: Scenario) -> dict[str, Any]:
    """The resolved run. Queues are as long as without the shell, whatever their length follows from."""
    document = compile_run(scenario)
    rows = {row["id"]: row for row in compile_run(original)["links"]}
    shared = {link.name for link in original.layout().links}
    links = [rows[row["id"]] if row["id"] in shared and row["id"] in rows else row for row in document["links"]]
    return {**document, "links": links, "duration_ns": _WITHOUT_END}


def _wanted(request: Request, folder: Path | None, plan: Plan) -> dict[str, Any]:
    """What the program is asked for, as it reads it."""
    capture = str(folder / store.PACKETS) if folder is not None and request.capture else None
    comment = {"scenario": scenario_hash(Job(0, plan.points[0], 0)), "version": engine.catalogue().version}
    return {
        "end": request.end,
        "command": list(request.command),
        "server": None if request.server is None else ["/bin/sh", "-c", request.server],
        "server_wait_ns": _SERVER_WAIT,
        "limit_ns": request.duration,
        "with_flows": request.with_flows,
        "nat": request.nat,
        "level": behind.level(),
        "mtu": _MTU,
        "capture": capture,
        "comment": json.dumps(comment, separators=(",", ":")),
        "status": request.status and request.virtual is None,
    }


def _keep(
    plan: Plan,
    point: Point,
    scenario: Scenario,
    played: Mapping[str, Any],
    request: Request,
    place: store.OutputDirectory,
    wall_s: float,
) -> None:
    """Write the tables of a shell: those of a run that lasted as long."""
    run = scenario.run.model_copy(update={"duration": played["shell"]["duration_ns"]})
    point = dataclasses.replace(point, scenario=scenario.model_copy(update={"run": run}), foreseen=())
    plan = dataclasses.replace(plan, points=(point,))
    (job,) = plan.jobs()
    text = json.dumps({"output": played["output"], "emulation": played["emulation"]})
    payload = batch.played("shell", text, wall_s)
    entry, ledger = batch.header(payload).runs[0], Ledger()
    ledger.add(job, entry["info"], rows=entry["rows"])
    tables = assembly.in_memory(plan, ledger, lambda _: batch.tables(payload))
    record = manifest.build(plan, list(ledger.records(plan)))
    record["points"][0]["groups"][-1]["label"] = "shell"
    record["runs"][0]["shell"] = {**played["shell"], "command": list(request.command), "server_command": request.server}
    place.write(tables, record)


def _link(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("id", "utilisation", "arrived_packets", "drops", "marks", "lost", "queue_delay_s")
    return {name: row[name] for name in names}
