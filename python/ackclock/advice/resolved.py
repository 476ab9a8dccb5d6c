"""A scenario as a case: what a proxy would make of downloads on the way of its first flows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.advice.case import Case, Place
from ackclock.advice.path import HEADERS, MSS
from ackclock.errors import InputError
from ackclock.models.split import Leg
from ackclock.scenario.plan import Job, Plan, load
from ackclock.scenario.topology.cell import LteCell
from ackclock.scenario.topology.hspa import HspaCell
from ackclock.scenario.topology.network import Network
from ackclock.scenario.traffic.relay import LEGS
from ackclock.scenario.traffic.route import NO_RELAY
from ackclock.scenario.traffic.splitting import CORE
from ackclock.sweeps.run import run

_WIDE = "6 MB"
"""What a relay that the scenario does not have offers the server."""
_TEST_S, _TEST_CONNECTIONS = 10, 4
_INITIAL = 10

Flow = Mapping[str, Any]


def case(file: Path, changes: Sequence[str] = (), buffer: int | None = None) -> Case:
    """The downloads of the first group of flows, over each relay of the scenario, or the places that it leaves open.

    Other flows stay as they are. Raises :class:`InputError`.
    """
    alone = [*changes, "flows.0.relay=none", "flows.0.count=1"]
    plan = load(file, set=[*alone, _app([MSS])])
    if len(plan.points) > 1:
        keys = ", ".join(plan.params)
        raise InputError(f"it sweeps {keys}", f"choose one value with --set {plan.params[0]}=", source=str(file))
    scenario = plan.points[0].scenario
    added = "" if scenario.relays else _added(scenario.topology, buffer, str(file))
    known = [*alone, *([added] if added else [])]
    if scenario.relays and buffer is not None:
        known += [f"relays.{number}.buffer={buffer} B" for number, _ in enumerate(scenario.relays)]
    relays = load(file, set=[*known, _app([MSS])]).points[0].scenario.relays
    whole = _document(load(file, set=[*known, _app([MSS])]))
    rate, air = _measured(file, alone, whole)
    base = _leg(whole["flows"][0], whole, rate, air)
    notes = [] if math.isinf(rate) else ["rate and round trip of the air are those of a test in the simulator: "
                                         f"{_TEST_CONNECTIONS} connections for {_TEST_S} s"]  # fmt: skip
    if len(whole["flows"]) > 1:
        notes.append("the model knows nothing of the other flows of the scenario: believe the runs")
    places = tuple(_place(file, known, relay.name, rate, air) for relay in relays)
    names = ", ".join(f"flows.0.relay={relay.name}" for relay in relays)
    held = {relay.buffer for relay in relays} | {relay.opening for relay in relays}
    if len(held) > 2:
        raise InputError("its relays differ in buffer or opening", f"leave one of {names}", source=str(file))
    opening = relays[0].opening

    def played(sizes: Sequence[int], replications: int) -> Plan:
        several = ", ".join(f'"{name}"' for name in (NO_RELAY, *(relay.name for relay in relays)))
        options = [f"flows.0.relay=[{several}]", _app(sizes), "run.duration=10 min"]
        own = [option for option in known if not option.startswith("flows.0.relay")]
        return load(file, set=[*own, *options], replications=max(replications, scenario.run.replications))

    return Case(base, places, relays[0].buffer, "lazy" if opening == "syn_forward" else opening, played,
                relays[0].name if len(relays) == 1 else None, tuple(notes))  # fmt: skip


def _app(sizes: Sequence[int]) -> str:
    size = ", ".join(f'"{size} B"' for size in sizes)
    listed = f"[{size}]" if len(sizes) > 1 else size
    once = 'arrivals = { every = "1000 s" }, request = "200 B", most = 1'
    return f'flows.0.app={{ kind = "files", size = {listed}, {once} }}'


def _added(topology: Any, buffer: int | None, source: str) -> str:
    """Relays at the places that a topology has for them, as a change."""
    places: list[str | int]
    if isinstance(topology, LteCell | HspaCell):
        places = [CORE]
    elif isinstance(topology, Network):
        raise InputError("a network has many places", "write a [[relays]] with a position", source=source)
    else:
        places = list(range(1, len(getattr(topology, "hops", ()))))
    if not places:
        remedy = "write a chain with several hops, or give numbers: --rtt-core, --rtt-access, --rate"
        raise InputError("there is no place for a relay between its links", remedy, source=source)
    tables = []
    for place in places:
        name, position = (f"hop-{place}", str(place)) if isinstance(place, int) else (place, f'"{place}"')
        tables.append(f'{{ name = "{name}", position = {position}, buffer = "{buffer or 4_000_000} B", '
                      f'source = {{ tcp = {{ receive_buffer = "{_WIDE}" }} }} }}')  # fmt: skip
    return f"relays=[{', '.join(tables)}]"


def _document(plan: Plan) -> dict[str, Any]:
    return Job(0, plan.points[0], 0).document()


def _place(file: Path, known: Sequence[str], relay: str, rate: float, air: float) -> Place:
    own = [option for option in known if not option.startswith("flows.0.relay")]
    document = _document(load(file, set=[*own, f"flows.0.relay={relay}", _app([MSS])]))
    by_name = {flow["id"]: flow for flow in document["flows"]}
    source, sink = (_leg(by_name[f"0/{leg}"], document, rate, air) for leg in LEGS)
    held = by_name["0"]["relay"]["buffer_bytes"]
    return Place(relay, relay, Leg(source.rtt, source.rate, min(source.window, held), source.initial, source.mss,
                                   source.loss), sink, source.window)  # fmt: skip


def _leg(flow: Flow, document: Mapping[str, Any], rate: float, air: float) -> Leg:
    """The connection of a flow. `rate` and `air` are those of the cell, if it passes one."""
    links = {link["id"]: link for link in document["links"]}
    mss = int(flow["mss"])
    payload = mss / (mss + HEADERS)
    delay, rates, kept = 0.0, [math.inf], 1.0
    for way in ("forward", "reverse"):
        for hop in flow[way]:
            if "link" in hop:
                link = links[hop["link"]]
                delay += link["delay_ns"]
                if way == "forward":
                    rates.append((link["rate_bps"] or math.inf) * payload)
                    loss = link["loss"] or {}
                    kept *= 1 - (loss["p"] if loss.get("kind") == "bernoulli" else 0.0)
            elif "uniform_ns" in hop:
                delay += sum(hop["uniform_ns"]) / 2
            elif "delay_ns" in hop:
                delay += hop["delay_ns"]
    if _in_cell(flow):
        delay += air * 1e9
        rates.append(rate)
    window = flow["tcp"].get("receive_buffer", math.inf)
    return Leg(delay / 1e9, min(rates), window, flow["tcp"].get("iw", _INITIAL), mss, 1 - kept)


def _in_cell(flow: Flow) -> bool:
    return any("element" in hop for hop in flow["forward"])


def _measured(file: Path, alone: Sequence[str], whole: Mapping[str, Any]) -> tuple[float, float]:
    """Rate, bit/s of payload, and round trip of the air, s, where a flow passes a cell."""
    if not _in_cell(whole["flows"][0]):
        return math.inf, 0.0
    own = [change for change in alone if not change.startswith("flows.0.count")]
    test = ["flows.0.app=bulk", f"flows.0.count={_TEST_CONNECTIONS}", f"run.duration={_TEST_S} s",
            "flows.0.tcp.receive_buffer=6 MB", "flows.0.user=0", "run.warmup=2 s"]  # fmt: skip
    rows = run(load(file, set=[*own, *test], replications=1), jobs=1, progress=_quiet).flows.head(_TEST_CONNECTIONS)
    known = Leg(_leg(whole["flows"][0], whole, math.inf, 1e-9).rtt)
    return float(rows["goodput_bps"].sum()), max(0.0, float(str(rows["min_rtt_s"].min())) - known.rtt)


def _quiet(_finished: int, _all: int) -> None:
    pass
