"""A run that is driven from outside: stopped between events, asked, and told what its controllers shall do."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import engine
from ackclock.controllers import loading
from ackclock.controllers.agent import Decision
from ackclock.errors import InputError
from ackclock.results import percentiles
from ackclock.results.categories import in_categories
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Job, Plan, load
from ackclock.scenario.reading.override import Overrides
from ackclock.scenario.values.ids import place
from ackclock.series import SERIES

if TYPE_CHECKING:
    import polars as pl

    from ackclock._ackclock import Interval


_LATEST = 1e9
"""Seconds that a time may be: some thirty years, longer than a run can last."""


def _ns(seconds: float) -> int:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
        raise InputError(f"{seconds!r} is no time", "give seconds, as a number", key="time")
    if not 0 <= seconds <= _LATEST:
        raise InputError(f"{seconds} s is no time of a run", "give a number from 0 to the run's end", key="time")
    return round(seconds * 1e9)


class Simulation:
    """One run of a scenario, played step by step.

    However it is cut into steps, it gives the tables of the same run played at once, to the last byte, as long as
    nothing is decided. Times are seconds, sizes bytes. A flow or link is named by its id, or else by its number from
    0; ids of flows are their numbers.

    Parameters
    ----------
    scenario: as for :func:`ackclock.run`; with sweeps the first point is played.
    set, seed: as for :func:`ackclock.run`.
    replication: which one, from 0.

    Raises
    ------
    InputError: the scenario cannot be used.
    """

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | str | os.PathLike[str] | Plan,
        *,
        set: Overrides | None = None,
        seed: int | None = None,
        replication: int = 0,
    ) -> None:
        if isinstance(scenario, Plan) and (set is not None or seed is not None):
            raise InputError("a loaded plan cannot be changed", "give set and seed to load")
        given = Path(scenario) if isinstance(scenario, os.PathLike) else scenario
        plan = given if isinstance(given, Plan) else load(given, set=set, seed=seed)
        job = Job(0, plan.points[0], replication)
        classes = {name: loading.find(name, plan.folder).cls for name in job.controllers()}
        self._source = plan.source
        self._stepper = engine.stepper(job.text(), classes)
        self.flows: tuple[str, ...] = tuple(self._stepper.flows)
        """Ids of the flows, in the order of their numbers."""
        self.links: tuple[str, ...] = tuple(self._stepper.links)
        """Ids of the links."""

    @property
    def time(self) -> float:
        """The time that the run has come to, seconds."""
        return self._times()[0] * 1e-9

    @property
    def end(self) -> float:
        """When it ends, seconds."""
        return self._times()[1] * 1e-9

    def _times(self) -> tuple[int, int]:
        with engine.translated():
            times: tuple[int, int] = self._stepper.times
        return times

    @property
    def next_event(self) -> float | None:
        """When the next event is, seconds; None once the run is over."""
        with engine.translated():
            at: int | None = self._stepper.next_event
        return None if at is None else at * 1e-9

    def step(self) -> float | None:
        """Handle one event; when it was, or None once the run is over."""
        with engine.translated():
            at: int | None = self._stepper.step()
        return None if at is None else at * 1e-9

    def run_until(self, time: float) -> None:
        """Play up to and including a time, seconds."""
        end = _ns(time)
        with engine.translated():
            self._stepper.play(end, False)

    def run_to_wake(self, until: float | None = None) -> str | None:
        """Play until a controller is woken (``cc = "external"`` asks once per interval), and return its flow's id.

        What is decided then is in force before anything else leaves. None: the time `until` has come, or the run is
        over.
        """
        end = None if until is None else _ns(until)
        with engine.translated():
            while True:
                why, flow = self._stepper.play(end, True)
                if why == "wake":
                    return str(self.flows[flow])
                if why in ("time", "end"):
                    return None

    def decide(self, flow: int | str, decision: Decision, *, wake_at: float | None = None) -> None:
        """Decide for the controller of a flow, now; `wake_at` is when it is to be woken next, seconds.

        The controller ``external`` takes everything; any other takes a window and goes on from it.
        Raises :class:`EngineError` if it decides that itself, its connection is not open, or the run is over.
        """
        number = self._flow(flow)
        if not isinstance(decision, Decision):
            raise InputError(f"{decision!r} is no decision", "give an ackclock.Decision", key="decision")
        at = None if wake_at is None else _ns(wake_at)
        with engine.translated():
            self._stepper.decide(number, decision.cwnd, decision.ssthresh, decision.rate, at)

    def flow(self, flow: int | str) -> dict[str, Any]:
        """A flow as it stands.

        Counters since the start of the run (bytes `received`, `acknowledged`, `sent`, `retransmitted`, `lost`,
        `marked`; `recoveries`, `timeouts`, `rtt_samples`) and what is in force: `cwnd`, `ssthresh` (None: none yet),
        `pacing_rate` (bytes per second, None: not paced), `in_flight`, `srtt`, `min_rtt`, `mean_rtt`, `phase`,
        `established`, `completed`, `failed`.
        """
        number = self._flow(flow)
        with engine.translated():
            state: dict[str, Any] = self._stepper.flow_state(number)
        return state

    def link(self, link: int | str) -> dict[str, Any]:
        """A link as it stands: `queue` (packets) and `queue_bytes` as an arrival would find them; `sent`, `drops`."""
        number = self._number("link", link, self.links)
        with engine.translated():
            state: dict[str, Any] = self._stepper.link_state(number)
        return state

    def interval(self, flow: int | str) -> Interval | None:
        """What the controller of a flow measured up to its last waking; None before, and of those that do not."""
        number = self._flow(flow)
        with engine.translated():
            interval: Interval | None = self._stepper.interval(number)
        return interval

    def drain(self) -> pl.DataFrame:
        """The samples of the series recorded since the last call, in order. They are missing from :meth:`finish`."""
        import polars as pl

        with engine.translated():
            return in_categories(pl.DataFrame(self._stepper.drain()), SERIES)

    def finish(self) -> engine.Output:
        """Play the rest and return the tables. The simulation cannot be used after it."""
        with engine.translated():
            output = engine.output(self._stepper.finish())
        return dataclasses.replace(
            output,
            flows=percentiles.with_enough_values("flows", output.flows),
            links=percentiles.with_enough_values("links", output.links),
            legs=percentiles.with_enough_values("legs", output.legs),
            series=in_categories(output.series, SERIES),
        )

    def _flow(self, flow: int | str) -> int:
        return self._number("flow", flow, self.flows)

    def _number(self, what: str, given: int | str, ids: tuple[str, ...]) -> int:
        number = place(given, ids)
        if number is not None:
            return number
        raise InputError(f"there is no {what} {given}", f"known are {', '.join(ids[:20])}", source=self._source)
