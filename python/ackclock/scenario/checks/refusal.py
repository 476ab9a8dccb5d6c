"""What the engine refuses, said of the scenario's own key: some mistakes only the engine can see."""

from __future__ import annotations

import itertools
import re

from ackclock import kernel
from ackclock.errors import EngineError, InputError, Problem
from ackclock.scenario import compile as compiler
from ackclock.scenario.model import Scenario
from ackclock.scenario.topology import cell_resolved, hspa
from ackclock.scenario.traffic.flow import TCP_KEYS, Flow
from ackclock.virtual import guest

_OF_LINKS = {"burst_bytes": "burst", "rate_bps": "rate", "delay_ns": "delay", "schedule": "rate", "trace": "rate"}
_OF_FLOWS = {
    "packet_bytes": "packet",
    "header_bytes": "headers",
    "rate_bps": "rate",
    "request_bytes": "request",
    "count": "most",
    "chunks": "most",
    "chunk_ns": "chunk",
    "bitrates_bps": "bitrates",
    "startup_ns": "startup",
    "buffer_ns": "buffer",
    "safety_percent": "safety",
    "read_bps": "read",
    "read_every_ns": "read_every",
    "until_ns": "until",
    "stop_ns": "stop",
    "schedule": "active",
}
_OF_RELAYS = {"buffer_bytes": "buffer", "delay_ns": "delay", "per_segment_ns": "per_segment"}
_OF_RUNS = {"duration_ns": "run.duration", "warmup_ns": "run.warmup", "engine": "run.engine"}
"""Keys of the resolved run that have another name in a scenario."""

Key = tuple[str | int, ...]


def problem(scenario: Scenario, refusal: str) -> Problem:
    """What to say of `refusal`, which the engine gives for the resolved run of `scenario`."""
    place, colon, message = refusal.partition(": ")
    head, *inner = place.split(".")
    if not colon or not re.fullmatch(r"[\w.]+", place):
        return Problem(f"the engine refuses it: {refusal}", "see docs/scenario.md")
    numbered = bool(inner) and inner[0].isdecimal()
    if head == "links" and numbered:
        key, guide = _link_key(scenario, inner), "docs/queues.md and docs/links.md"
    elif head == "cells" and numbered:
        key, guide = cell_resolved.written_at(inner[1:]), "docs/topologies.md"
    elif head == "hspa" and numbered:
        key, guide = hspa.written_at(inner[1:]), "docs/topologies.md"
    elif head == "flows":
        key, guide = _flow_key(scenario, inner) if numbered else _most_flows(scenario), _guide(inner)
    elif head == "capture":
        key, guide = ("run", *(int(part) if part.isdecimal() else part for part in (head, *inner))), "docs/captures.md"
    elif place in _OF_RUNS or head == "probes":
        key, guide = tuple(_OF_RUNS.get(place, place).split(".")), "docs/scenario.md"
    else:
        return Problem(f"the engine refuses it: {refusal}", "see docs/scenario.md")
    return _worded(key, message, guide)


def of_kernel(scenario: Scenario, document: str) -> None:
    """Raise :class:`Problem` if this computer's kernel would not play the resolved run `document` of `scenario`."""
    try:
        kernel.check_pin(scenario.run.pin, "run.pin")
    except InputError as error:
        raise Problem(error.problem, error.remedy, "run", "pin") from None
    try:
        why = kernel.refusal(document)
    except EngineError as error:
        raise _lacking(error) from None
    if why is not None:
        raise problem(scenario, why)


def of_built_kernel(scenario: Scenario, document: str) -> None:
    """As :func:`of_kernel`, of the kernel in virtual time that the run is for. No guest is begun to find out."""
    if (lacking := guest.unable()) is not None:
        what, *rest = lacking.split("; ", 1)
        raise Problem(what, rest[0] if rest else "take engine sim", "run", "engine")
    try:
        kernel.program()
        why = guest.refusal(document)
    except EngineError as error:
        raise _lacking(error) from None
    if why is not None:
        raise problem(scenario, why)


def _lacking(error: EngineError) -> Problem:
    """What to say of an engine that is not there."""
    what, *rest = str(error).removeprefix("engine kernel: ").split("; ", 1)
    return Problem(what, rest[0] if rest else "see ackclock doctor", "run", "engine")


def _worded(key: Key, message: str, guide: str) -> Problem:
    """The engine's words in two parts; a parameter that they begin with belongs to the key."""
    named = re.fullmatch(r"'(\w+)'(?:: | (?=is |must ))(.*)", message, re.DOTALL)
    if named is not None:
        message = named[2]
        key = key if key and key[-1] == named[1] else (*key, named[1])
    bounds = re.fullmatch(r"is (\S+), outside (\S+)\.\.(\S+)", message)
    if bounds is not None:
        return Problem(f"{bounds[1]} is out of range", f"give {bounds[2]} to {bounds[3]}", *key)
    what, *rest = re.split(r"[:;] ", message, maxsplit=1)
    return Problem(what, rest[0] if rest else f"see {guide}", *key)


def _link_key(scenario: Scenario, inner: list[str]) -> Key:
    number, *rest = inner
    if "events" in rest:  # their numbers in the resolved run are not those in the scenario
        rest = rest[: rest.index("events") + 1]
    return (
        *compiler.link_key(scenario, int(number)),
        *(_OF_LINKS.get(part, part) for part in rest if part != "params"),
    )


def _guide(inner: list[str]) -> str:
    pages = {"app": "applications", "cc": "controllers", "slow_start": "controllers", "tcp": "tcp"}
    return f"docs/{pages.get(inner[1] if len(inner) > 1 else '', 'scenario')}.md"


def _most_flows(scenario: Scenario) -> Key:
    """What to make less of where there are too many flows: the largest count, if any stands for several."""
    counts = [flow.count for flow in scenario.flows]
    return ("flows", counts.index(max(counts)), "count") if max(counts) > 1 else ("flows",)


def _flow_key(scenario: Scenario, inner: list[str]) -> Key:
    number, *rest = inner
    if (of_relay := compiler.leg(scenario, int(number))) is not None:
        relay, which = of_relay
        return ("relays", relay, which, *(part for part in rest if part not in ("params", "forward", "reverse")))
    ends = itertools.accumulate(flow.count for flow in scenario.flows)
    group = next(index for index, end in enumerate(ends) if int(number) < end)
    if rest[:1] in (["forward"], ["reverse"]):
        rest = []
    if rest[:1] == ["relay"]:
        names = {relay.name: place for place, relay in enumerate(scenario.relays)}
        own = (_OF_RELAYS.get(part, part) for part in rest[1:])
        return ("relays", names[scenario.flows[group].relay], *own)
    if rest[:1] == ["tcp"] and len(rest) > 1:
        rest = _tcp_key(scenario.flows[group], rest[1])
    return ("flows", group, *(_OF_FLOWS.get(part, part) for part in rest if part != "params"))


def _tcp_key(flow: Flow, name: str) -> list[str]:
    """Where a TCP option is written: some stand beside the other keys of a flow."""
    return [name] if name in TCP_KEYS and getattr(flow, name) is not None else ["tcp", name]
