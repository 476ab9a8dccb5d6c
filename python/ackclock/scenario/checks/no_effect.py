"""Settings without effect: nothing is wrong with them, but whoever wrote them expected something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from ackclock import engine
from ackclock.scenario.compile import Document
from ackclock.scenario.model import Scenario
from ackclock.scenario.reading.expansion import Path, dotted
from ackclock.scenario.settings import Run
from ackclock.scenario.topology.queue import WEIGHTED
from ackclock.scenario.topology.rate import VaryingRate
from ackclock.scenario.topology.resolved import Link
from ackclock.scenario.traffic.application import Bulk, Cbr, Files, OnOff, RequestResponse
from ackclock.scenario.traffic.flow import Flow
from ackclock.scenario.traffic.layout import around
from ackclock.scenario.values.units import DURATION, PACKETS, SIZE

_OF_CONNECTIONS = ("cc", "slow_start", "recovery", "profile", "mss", "iw", "min_rto", "delayed_ack", "tcp")
"""Keys of a flow that datagrams do not know."""
OF_ENGINES = {
    "kernel": ("kernel-vt",),
    "wall_limit": ("kernel-vt",),
    "pin": ("kernel",),
    "allow_late": ("kernel",),
    "offload": ("kernel", "kernel-vt"),
    "ip": ("kernel", "kernel-vt"),
}
"""Keys of `run` that only some engines take notice of, and which."""
_OF_DATAGRAMS = ("headers", "ect")
"""Keys of a source of packets that writes into a connection do not know."""


_NOBODY = (
    "nobody decides in a plain run: it holds its first window; drive it with ackclock.Simulation or ackclock.gym, or "
    "choose another controller"
)
_KEEPS_ITS_WINDOW = ("bbr1", "bbr3", "copa")
"""Controllers that a loss does not make smaller: what they send again is often lost again."""


def warnings(scenario: Scenario, document: Document, changed: Set[str] = frozenset()) -> list[str]:
    """What has no effect in `scenario`, whose resolved run is `document`: a line each, with key and remedy.

    `changed` are the keys that ``--set`` gave: one that was meant for all flows may well not be for each.
    """
    return [f"{dotted(key)}: {text}" for key, text in _found(scenario, document, changed)]


def idle_relays(scenarios: Sequence[Scenario], changed: Set[str] = frozenset()) -> list[str]:
    """Of a sweep's points: the relays that no flow has in any of them.

    Whoever changes the relay of a flow from outside knows that others are left over.
    """
    if any(key.rpartition(".")[2] == "relay" for key in changed):
        return []
    used = {flow.relay for scenario in scenarios for flow in scenario.flows}
    return [
        f'relays.{number}: no flow has it, and it splits nothing; write relay = "{relay.name}" in a flow, or remove it'
        for number, relay in enumerate(scenarios[0].relays)
        if relay.name not in used
    ]


def _found(scenario: Scenario, document: Document, changed: Set[str]) -> Iterator[tuple[Path, str]]:
    end = scenario.run.duration
    for link in _links(scenario):
        yield from _too_late(link, end)
        queue = link.keys.queue
        if queue.weights and queue.kind not in WEIGHTED:
            text = f"'{queue.kind}' does not share by weight; remove weights, or use one of {', '.join(WEIGHTED)}"
            yield (*link.key, "queue", "weights"), text
    names = {link["id"]: link for link in document["links"]}
    for link in _links(scenario):
        if (early := _never_early(names.get(link.name))) is not None:
            yield (*link.key, "queue"), early
    flows = _by_number(document)
    first = 0
    for index, flow in enumerate(scenario.flows):
        # Whatever says so, these runs are not what they seem to be.
        if flow.cc.name == engine.catalogue().outside.name and not flow.datagrams:
            yield ("flows", index, "cc"), _NOBODY
        if (distorted := _distorted(flow)) is not None:
            yield ("flows", index, "profile"), distorted
        if (bounded := _bounded(flow, flows[first].get("mss", 0))) is not None:
            yield ("flows", index, "tcp", "iw"), bounded
        if (idle := _never_slow(flow, flows[first], names, end)) is not None:
            yield ("flows", index, "app", "read"), idle
        first += flow.count
        for key, text in _of_flow(flow, end):
            if dotted(("flows", index, *key)) not in changed:
                yield ("flows", index, *key), text


def _by_number(document: Document) -> dict[int, Document]:
    """The flows of a resolved run by the number of the first that each stands for."""
    found: dict[int, Document] = {}
    first = 0
    for flow in document["flows"]:
        found[first] = flow
        first += flow.get("count", 1)
    return found


def of_engines(scenarios: Sequence[Scenario], changed: Set[str] = frozenset()) -> list[list[str]]:
    """Keys of `run` that the engine of a point takes no notice of, a list for each of a sweep's points.

    One that the engine of another point takes notice of is none: it is there for that. Who chose another engine from
    outside knows that the file was made for its own, unless the key was given from outside, too.
    """
    engines = {scenario.run.engine for scenario in scenarios}
    used = {key for key, knowing in OF_ENGINES.items() if not engines.isdisjoint(knowing)}
    kept = {f"run.{key}" for key in OF_ENGINES.keys() - used if "run.engine" not in changed or f"run.{key}" in changed}
    return [[line for line in of_engine(scenario) if line.partition(":")[0] in kept] for scenario in scenarios]


def of_engine(scenario: Scenario) -> list[str]:
    """Keys of `run` that only another engine takes notice of, a line each."""
    run = scenario.run
    return [
        f"run.{key}: engine {run.engine} takes no notice of it; choose engine {' or '.join(engines)}, or remove it"
        for key, engines in OF_ENGINES.items()
        if getattr(run, key) != Run.model_fields[key].default and run.engine not in engines
    ]


def _links(scenario: Scenario) -> list[Link]:
    """Every link that has keys of its own, once."""
    layout = scenario.layout()
    found: dict[Path, Link] = {}
    for link in layout.links:
        found.setdefault(link.key, link)
    first = 0
    for group, route in zip(scenario.flows, layout.routes, strict=True):
        for steps in around(route, str(first)):
            for step in steps:
                if isinstance(step, Link):
                    found.setdefault(step.key, step)
        first += group.count
    return list(found.values())


def _too_late(link: Link, end: int) -> Iterator[tuple[Path, str]]:
    for index, event in enumerate(link.keys.events):
        if event.at >= end:
            yield (*link.key, "events", index), _late("comes", event.at, end)
    if isinstance(link.rate, VaryingRate):
        late = [at for at, _ in link.rate.document.get("schedule", {}).get("steps", ()) if at >= end]
        if late:
            yield (*link.key, "rate"), _late("changes", late[0], end)


def _late(what: str, at: int, end: int) -> str:
    ends = f"the run ends at {DURATION.format(end)}"
    remedy = "give an earlier time, or a longer run.duration"
    return f"it {what} at {DURATION.format(at)} and {ends}: it has no effect; {remedy}"


def _never_early(link: Mapping[str, Any] | None) -> str | None:
    """Of a RED queue that is full before its average can reach the lower threshold."""
    if link is None or link["queue"]["kind"] != "red":
        return None
    queue = link["queue"]
    params, packet = queue.get("params", {}), queue["packet_bytes"]
    packets, size = queue["limit_packets"], queue["limit_bytes"]
    preset, mode = params.get("preset", "ns2"), params.get("mode", "preset")
    lengths = mode == "bytes" or (mode == "preset" and preset == "ns2-auto")
    least = params.get("min", 0)
    if not least:
        if params.get("thresholds_from") == "link" or preset in ("ns2-auto", "ared"):
            return None  # it follows from the link
        least = 5 * (params.get("mean_packet") or 500) if lengths else 5
    if lengths:
        most = size if size is not None else packets and packets * packet
    else:
        most = packets if packets is not None else size and size // packet
    if most is None or most >= least:
        return None
    held = SIZE.format(most) if lengths else PACKETS.format(most)
    begin = f"{least:g} {'B' if lengths else 'packets'}"
    problem = f"RED acts from an average of {begin} on (min) and the queue holds {held}: it never does"
    return f"{problem}; raise the limit or lower min"


def _never_slow(flow: Flow, resolved: Document, links: Mapping[str, Mapping[str, Any]], end: int) -> str | None:
    """Of a receiver that reads slowly and whose buffer takes all the same whatever comes."""
    if not isinstance(flow.app, Bulk) or flow.app.read is None:
        return None
    ways = (links[hop["link"]] for hop in resolved["forward"] if "link" in hop)
    rates = [way["rate_bps"] for way in ways if way["rate_bps"] and not way.get("schedule") and not way.get("trace")]
    if not rates or min(rates) <= flow.app.read:
        return None
    left = (min(rates) - flow.app.read) * max(0, min(end, flow.stop or end) - (flow.start.at or 0)) // (8 * 10**9)
    if flow.bytes is not None:
        left = min(left, flow.bytes)
    buffer = engine.tcp_options(flow.profile, flow.tcp_options, flow.cc.name)["receive_buffer"]
    if 2 * left > buffer:  # in Linux a packet takes up to twice its size
        return None
    problem = f"the receiver leaves at most {SIZE.format(left)} unread and its buffer holds {SIZE.format(buffer)}"
    return f'{problem}: it is never full; give tcp = {{ receive_buffer = "64 kB" }}, or what it has'


def _distorted(flow: Flow) -> str | None:
    """Of a controller that its profile's loss detection makes look worse than it is."""
    name = flow.cc.name
    if flow.datagrams or name not in _KEEPS_ITS_WINDOW:
        return None
    options = engine.tcp_options(flow.profile, flow.tcp_options, name)
    if options["loss_detection"] != "dupack":
        if name != "bbr1" or options["app_limited"] != "exhausted" or not isinstance(flow.app, RequestResponse):
            return None
        problem = (
            f"'{flow.profile}' takes what leaves once an answer has run out for limited by the application, and 'bbr1' "
            "may never end its start-up: it goes on at nearly three times the rate"
        )
        return f'{problem}; take profile = "linux", or tcp = {{ app_limited = "write" }}'
    problem = (
        f"'{flow.profile}' finds a retransmission that is lost again by the timeout only, and '{name}', which keeps "
        "its window through losses, meets that often: what is measured is timeouts more than its own law"
    )
    return f'{problem}; take profile = "linux", or tcp = {{ loss_detection = "rack", tlp = true }}'


def _bounded(flow: Flow, mss: int) -> str | None:
    """Of an initial window that its bound makes smaller (RFC 6928 §2, RFC 5681 §3.1)."""
    if flow.datagrams or "iw" not in flow.tcp_options:
        return None
    options = engine.tcp_options(flow.profile, flow.tcp_options, flow.cc.name)
    segments = 2 if mss > 2190 else 3 if mss > 1095 else 4
    most = {"rfc6928": max(2 * mss, 14_600), "rfc5681": segments * mss}.get(str(options["iw_bound"]))
    if most is None or int(options["iw"]) * mss <= most:
        return None
    problem = f"iw_bound {options['iw_bound']} of '{flow.profile}' makes {options['iw']} segments {most} bytes"
    return f'{problem}; write tcp = {{ iw_bound = "none" }}, or give at most {most // mss}'


def _of_flow(flow: Flow, end: int) -> Iterator[tuple[Path, str]]:
    app = flow.app
    if flow.datagrams:
        for name in _OF_CONNECTIONS:
            if name in flow.model_fields_set and getattr(flow, name) not in (None, {}):
                yield (name,), 'datagrams take no notice of it; remove it, or give the app transport = "tcp"'
        if isinstance(app, Cbr | OnOff) and app.transfers:
            yield ("app", "transfers"), 'it is for writes; remove it, or give the app transport = "tcp"'
    elif isinstance(app, Cbr | OnOff):
        for name in _OF_DATAGRAMS:
            if name in app.model_fields_set:
                yield ("app", name), 'it is for datagrams; remove it, or give the app transport = "udp"'
    if isinstance(app, Files) and app.until is not None and app.until > end:
        yield ("app", "until"), _late("is", app.until, end)
    if flow.stop is not None and flow.stop > end:
        yield ("stop",), _late("is", flow.stop, end)
    for index, interval in enumerate(flow.active):
        if interval.begin >= end:
            yield ("active", index), _late("begins", interval.begin, end)
