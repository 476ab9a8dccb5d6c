"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ackclock.measure import amounts

if TYPE_CHECKING:
    from ackclock.measure.causes.verdict import Verdict


def lines_of(verdict: Verdict) -> Iterator[str]:
    """A verdict: what it is, why, and what could not be seen."""
    name = ", ".join(f"{key} {value}" for key, value in verdict.params.items()) or "the line"
    yield f"{name}: {'none (saturated)' if verdict.mechanism == 'none' else verdict.mechanism}"
    yield f"  {verdict.evidence}"
    count = "1 connection" if verdict.connections == 1 else f"{verdict.connections} connections"
    tests = "1 test" if verdict.tests == 1 else f"{verdict.tests} tests"
    known = verdict.share is not None and verdict.capacity_bps is not None
    of = f": {verdict.share:.0%} of {amounts.rate(verdict.capacity_bps or 0.0)}" if known else ""
    yield f"  {count}, {tests}{of}"
    yield f"  of the time: {', '.join(f'{each.mechanism} {each.time:.0%}' for each in verdict.candidates)}"
    if verdict.caution is not None:
        yield f"  little to go by: {verdict.caution}"
    if verdict.missing:
        parts = [f"{tells} (without {name})" for name, tells in verdict.missing.items()]
        yield f"  cannot be told: {'; '.join(parts)}"
