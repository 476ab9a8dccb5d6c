"""The groups of flows of a scenario, and what tells one from another."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from ackclock.results.groups import Group
from ackclock.scenario.model import Scenario
from ackclock.scenario.traffic.application import Bulk, Cbr, OnOff
from ackclock.scenario.traffic.flow import Flow
from ackclock.scenario.traffic.layout import Route
from ackclock.scenario.values.units import DURATION, RATE, SIZE


def of(scenario: Scenario) -> list[Group]:
    """The groups of a scenario: application and controller, and where that is not enough what else tells them apart."""
    labels = [_label(flow) for flow in scenario.flows]
    routes = scenario.layout().routes
    for features in zip(*map(_features, scenario.flows, routes), strict=True):
        kinds: dict[str, set[str]] = defaultdict(set)
        for label, own in zip(labels, features, strict=True):
            kinds[label].add(own)
        labels = [
            f"{label}, {own}" if own and len(kinds[label]) > 1 else label
            for label, own in zip(labels, features, strict=True)
        ]
    alike = Counter(labels)
    found: list[Group] = []
    first = 0
    for flow, label in zip(scenario.flows, labels, strict=True):
        group = Group(first, flow.count, label)
        found.append(replace(group, label=f"{label}, no. {group.numbers}") if alike[label] > 1 else group)
        first += flow.count
    return found


def _features(flow: Flow, route: Route) -> tuple[str, ...]:
    """What may tell a group from another with the same application and controller, the most telling first."""
    return (
        DURATION.format(route.rtt),
        "" if flow.over is None else "hop " + " to ".join(map(str, dict.fromkeys(flow.over))),
        f"{route.out[0]}->{route.out[-1]}" if route.out else "",
        "" if flow.bytes is None else SIZE.format(flow.bytes),
        "" if flow.slow_start is None else str(flow.slow_start),
        flow.profile,
        f"class {flow.service}",
        f"from {DURATION.format(flow.start.latest)}",
    )


def _label(flow: Flow) -> str:
    app = _app(flow)
    return app if flow.datagrams else f"{app} {flow.cc}".lstrip()


def _app(flow: Flow) -> str:
    """What a source does; nothing of one that sends as much as it can."""
    app = flow.app
    if isinstance(app, Cbr | OnOff):
        return f"{app.kind} {RATE.format(app.rate)}"
    if isinstance(app, Bulk):
        return "" if app.read is None else f"read at {RATE.format(app.read)}"
    return app.kind
