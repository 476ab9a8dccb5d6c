"""What the runs of a study warn of: each kind once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ackclock.results import warnings
from ackclock.results.result import Result

_NUMBERS = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")
"""Warnings that differ in nothing but these are of a kind."""


def kinds(results: Mapping[str, Result]) -> Iterator[str]:
    """A line for each kind of warning: the first of it, and how many runs of which scenarios have one."""
    found: dict[str, tuple[str, dict[str, set[int]]]] = {}
    for scenario, result in results.items():
        for run, text in warnings.worded(result.manifest):
            _, about = found.setdefault(_NUMBERS.sub("#", text), (f"{scenario}: {text}", {}))
            about.setdefault(scenario, set()).add(run)
    for text, about in found.values():
        runs = sum(map(len, about.values()))
        where = f", in {len(about)} scenarios" if len(about) > 1 else ""
        yield text if runs == 1 else f"{text} ({runs} runs have one of this kind{where})"


def every(results: Mapping[str, Result]) -> list[str]:
    """All of them, as `report.md` lists them."""
    return [f"{scenario}: {warning}" for scenario, result in results.items() for warning in result.warnings]
