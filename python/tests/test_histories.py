"""The engine's controllers and their references in Python decide the same, whatever happens, with any parameters.

The draws are the same in every run; `ACKCLOCK_CASES` sets how many histories each controller plays, and draws others
every time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import ackclock
from ackclock import Control, engine, reference
from histories import STEPS, Beginning, History, Step

CASES = os.environ.get("ACKCLOCK_CASES")


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Of a range, of any magnitude."""
    magnitude = st.floats(0, 1).map(lambda u: min(max(low * (high / low) ** u, low), high))
    return st.one_of(st.sampled_from([low, high]), st.floats(low, high), magnitude)


@dataclass(frozen=True)
class Law:
    """A controller of the engine and its reference."""

    reference: Callable[..., ackclock.WindowBased | ackclock.CongestionControl]
    names: Mapping[str, str]
    """The reference's names of the engine's parameters."""
    parameters: Mapping[str, st.SearchStrategy[float]]
    own_start: bool = False
    """Slow start is the law's own."""
    whole: bool = False
    """It decides everything itself and takes no slow start."""
    rising: tuple[str, ...] = ()
    """Parameters none of which may be above the next."""

    def accepts(self, controller: Mapping[str, float]) -> bool:
        """Whether the engine takes these parameters together."""
        if not self.rising:
            return True
        known = engine.catalogue().controllers[str(controller["name"])].params
        values = [controller.get(name, known[name].default) for name in self.rising]
        return values == sorted(values)


LAWS = {
    "reno": Law(reference.Reno, {}, {}),
    "cubic": Law(reference.Cubic, {}, {"c": numbers(0.001, 100), "beta": numbers(0.01, 0.99)}),
    "westwood+": Law(reference.WestwoodPlus, {"filter": "alpha"}, {"filter": numbers(1e-6, 0.9999)}),
    "vegas": Law(
        reference.Vegas,
        {},
        {"alpha": numbers(0.01, 1e6), "beta": numbers(0.01, 1e6), "gamma": numbers(0.01, 1e6)},
        own_start=True,
        rising=("alpha", "beta"),
    ),
    "highspeed": Law(reference.HighSpeed, {}, {}),
    "prague": Law(
        reference.Prague,
        {},
        {"alpha_on_init": numbers(1e-6, 1), "shift_g": st.integers(0, 10), "transition": st.integers(0, 8)},
        whole=True,
    ),
}

SLOW_STARTS = st.one_of(
    st.just({"kind": "standard"}),
    st.builds(lambda n: {"kind": "standard", "abc_limit": n}, st.integers(0, 50)),
    st.sampled_from([{"kind": "limited"}, {"kind": "hystart"}, {"kind": "hystart++"}]),
)


def beginnings(name: str) -> st.SearchStrategy[Beginning]:
    """Connections of this controller with any parameters."""
    law = LAWS[name]
    return st.builds(
        Beginning,
        controller=st.fixed_dictionaries({"name": st.just(name)}, optional=dict(law.parameters)).filter(law.accepts),
        slow_start=st.none() if law.whole else st.just({"kind": "standard"}) if law.own_start else SLOW_STARTS,
        mss=st.sampled_from([1448, 88, 536, 8948]),
        initial=st.one_of(st.integers(1, 10), st.integers(1, 100), st.integers(1, 1_000_000)),
        measured=st.booleans(),
    )


LARGEST_WINDOW = 65535 << 14
"""Bytes (RFC 7323 §2.3)."""


def differing(engine: list[Control], ours: list[Control]) -> list[int]:
    """The events after which the decisions differ by more than a byte, or rounding where windows are huge.

    Above the largest window that a connection can use, whole segments of sums rounded in another order may differ.
    """

    def apart(a: int | None, b: int | None) -> bool:
        if a is None or b is None:
            return a != b
        return abs(a - b) > max(1.0, (1e-11 if min(a, b) <= LARGEST_WINDOW else 1e-6) * a)

    pairs = enumerate(zip(engine, ours, strict=True))
    return [n for n, (a, b) in pairs if apart(a.cwnd, b.cwnd) or apart(a.ssthresh, b.ssthresh)]


@pytest.mark.parametrize("name", LAWS)
def test_references_decide_as_the_engine_does(name: str) -> None:
    @settings(max_examples=int(CASES or 20), derandomize=CASES is None, suppress_health_check=[HealthCheck.too_slow])
    @given(beginnings(name), STEPS)
    def plays(beginning: Beginning, steps: list[Step]) -> None:
        history = History(beginning)
        for step in steps:
            history.play(step)
        law = LAWS[name]
        given = {law.names.get(key, key): value for key, value in beginning.controller.items() if key != "name"}
        start = beginning.slow_start
        ours = ackclock.replay(history.events, beginning.controller, slow_start=start, profile="rfc")
        theirs = ackclock.replay(history.events, law.reference(**given), slow_start=start, profile="rfc")
        found = differing(ours, theirs)
        for number in range(max(found[0] - 3, 0), found[0] + 1) if found else ():
            note(f"{number} {history.events[number].line()}\n  {ours[number]}\n  {theirs[number]}")
        assert found == [], history.events[found[0]].call

    plays()
