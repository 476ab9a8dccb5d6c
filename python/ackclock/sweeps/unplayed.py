"""The result of a plan of which nothing was played, for one reason."""

from __future__ import annotations

from ackclock.assembly import manifest, tables
from ackclock.assembly.ledger import Ledger
from ackclock.results.result import Result
from ackclock.scenario.plan import Plan


def result(plan: Plan, problem: str) -> Result:
    """Tables without a row, and a manifest in which each run failed with this problem."""
    error = {"problem": problem, "traceback": ""}
    record = manifest.build(plan, [], {job.index: error for job in plan.jobs()})
    return Result(tables.in_memory(plan, Ledger(), lambda _: {}), record)
