"""The simulations behind an environment: one or many, of the points of a scenario."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import engine
from ackclock.errors import InputError, Problem
from ackclock.gym.measures import Array, Interval
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Job, Plan, load, resolved_text
from ackclock.scenario.reading.override import Overrides
from ackclock.scenario.values import units
from ackclock.scenario.values.ids import place

RUNNING, ENDED, COMPLETED, FAILED = range(4)
"""What has become of a run."""

DEFAULT: Mapping[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": [f"{rate} Mbit/s" for rate in (5, 10, 20, 40)],
        "rtt": ["20 ms", "40 ms", "80 ms"],
        "queue": {"kind": "droptail", "limit": ["0.5 BDP", "2 BDP"]},
    },
    "flows": [{"cc": "external", "profile": "linux"}],
    "run": {"duration": "10 s"},
}
"""What an environment plays when it is given no scenario: an agent alone, on one of 24 paths."""

Begin = tuple[int, int]
"""A point of the scenario, and a seed."""


class Runs:
    """`size` simulations, each a run of a point of `scenario` in which an agent decides for one flow."""

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | str | os.PathLike[str] | Plan | None,
        *,
        set: Overrides | None,
        flow: int | str | None,
        interval: str | None,
        size: int,
        threads: int,
    ) -> None:
        given = DEFAULT if scenario is None else Path(scenario) if isinstance(scenario, os.PathLike) else scenario
        if isinstance(given, Plan) and set is not None:
            raise InputError("a loaded plan cannot be changed", "give set to load")
        plan = given if isinstance(given, Plan) else load(given, set=set)
        length = _interval(interval)
        documents = [Job(0, point, 0).document() for point in plan.points]
        prepared = [_prepared(document, plan.source, flow, length) for document in documents]
        self.source = plan.source
        self.points = tuple(point.params for point in plan.points)
        """The swept values of each point."""
        self.size = size
        self._fleet = engine.fleet(prepared, size, threads)
        names = [field.name for field in dataclasses.fields(Interval)]
        assert engine.fleet_columns() == ["state", *names]
        self._nothing = np.full((size, 3), np.nan)

    def begin(self, which: Mapping[int, Begin]) -> tuple[NDArray[np.int64], Interval]:
        """Begin these simulations anew and leave the others alone; see :meth:`step`."""
        return self.step(self._nothing, which, [i for i in range(self.size) if i not in which])

    def step(
        self, decisions: Array, begins: Mapping[int, Begin] = {}, idle: Iterable[int] = ()
    ) -> tuple[NDArray[np.int64], Interval]:
        """Play every simulation up to its next decision: what became of each, and the intervals that ended with it.

        `decisions` has a row of window, threshold and rate for each; those in `begins` begin anew instead.
        Raises :class:`InputError` for one that begins and is over before there is anything to decide.
        """
        told = np.ascontiguousarray(decisions, np.float64).tobytes()
        orders = [(i, (point, seed, 0)) for i, (point, seed) in begins.items()]
        with engine.translated():
            raw = self._fleet.step(told, orders, list(idle))
        table = np.frombuffer(raw, np.float64).reshape(self.size, -1).T
        state = table[0]
        for i in begins:
            if state[i] != RUNNING:
                problem = "the agent's flow is over before there is anything to decide"
                remedy = "let it start earlier or run longer: the first decision comes a round trip after the start"
                raise InputError(problem, remedy, source=self.source, key="run.duration")
        return np.nan_to_num(state).astype(np.int64), Interval.of(table[1:])


def _interval(given: str | None) -> int | None:
    """The length of an interval, ns; 0 is a round trip, None what the scenario says."""
    if given is None or given == "rtt":
        return None if given is None else 0
    try:
        return units.DURATION.parse(given, zero=False)
    except Problem as error:
        raise InputError(error.problem, f'{error.remedy}, or "rtt"', key="interval") from None


def _prepared(document: dict[str, Any], source: str, flow: int | str | None, length: int | None) -> tuple[str, int]:
    """A resolved run as it is stepped, and the number of the agent's flow."""
    flows = document["flows"]
    # A flow that a relay splits has no connection to decide for: its legs have.
    own = (number for number, item in enumerate(flows) if "relay" not in item)
    agents = [number for number in own if flows[number]["cc"]["name"] == "external"]
    if not agents:
        raise InputError(
            "no flow has the controller external", 'write cc = "external" for the agent', source=source, key="flows"
        )
    if flow is None and len(agents) > 1:
        ids = ", ".join(flows[number]["id"] for number in agents)
        raise InputError(f"the flows {ids} have the controller external", "name the agent's: flow=...", source=source)
    number = agents[0]
    if flow is not None:
        chosen = place(flow, [item["id"] for item in flows])
        if chosen not in agents:
            ids = ", ".join(flows[i]["id"] for i in agents)
            raise InputError(f"no agent's flow is {flow}", f"with the controller external are {ids}", source=source)
        number = chosen
    agent = flows[number]
    if (kind := agent["app"]["kind"]) in ("files", "web"):
        raise InputError(
            f"an agent cannot decide for the application {kind}",
            "give its flow one that sends over a connection of its own, such as bulk",
            source=source,
            key="flows.app",
        )
    if length is not None:
        agent["cc"]["params"] = {**agent["cc"]["params"], "interval": length}
    # Nobody looks at series here, and a run that lasts would fill the memory with them.
    return resolved_text({**document, "probes": {}}), number
