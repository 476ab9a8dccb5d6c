"""The section of a report with every statement of the paper, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ackclock.study import tables
from ackclock.study.model import Statement
from ackclock.study.runner import NOT_JUDGED, Judged, Report
from ackclock.study.wording import NO_EVIDENCE

REPRODUCED, SOME, REFUTED, OPEN = "reproduced", "under some readings only", "refuted", "open"
UNJUDGED = "unjudged"


def report_lines(report: Report) -> list[str]:
    """A table of all statements with a line of counts; nothing for a study without `expected/statements.toml`."""
    found = report.study.statements
    if found is None:
        return []
    judged = {item.claim.id: item for item in report.claims}
    names = [reading.id for reading in report.study.readings]
    header = ["statement", "where", "claims, or why none"]
    rows = [header, *([each.text, each.where, _cell(each, judged, quick=report.quick)] for each in found.statements)]
    lines = ["## Every statement of the paper", "", tables.markdown(rows, numbers=False)]
    if found.beyond:
        lines += [f"Beyond the paper: {', '.join(found.beyond)}.", ""]
    counts = _count_line([conclude(each, judged, names) for each in found.statements])
    return [*lines, f"{counts} ({NO_EVIDENCE.capitalize()}.)" if report.quick else counts, ""]


def conclude(statement: Statement, judged: Mapping[str, Judged], readings: Sequence[str]) -> str:
    """What became of a statement: it holds under a reading where all of its claims do.

    So two claims that hold under different readings only do not support a statement together.
    """
    if statement.unjudged:
        return UNJUDGED
    items = [judged[name] for name in statement.claims if name in judged]
    if len(items) < len(statement.claims) or not all(item.judged for item in items):
        return NOT_JUDGED
    found = [_outcome(items, name) for name in readings or [""]]
    if all(outcome == "pass" for outcome in found):
        return REPRODUCED
    if "pass" in found:
        return SOME
    return REFUTED if all(outcome == "fail" for outcome in found) else OPEN


def _outcome(items: Sequence[Judged], reading: str) -> str:
    """The worst outcome of several claims under a reading."""
    found = {_under(item, reading) for item in items}
    return next(outcome for outcome in ("fail", "inconclusive", "pass") if outcome in found)


def _under(item: Judged, reading: str) -> str:
    """The outcome of a claim under a reading: that of the first one, if the claim does not depend on it."""
    if not item.under:
        return item.verdict.outcome
    first = next(iter(item.under.values()))
    return item.under.get(reading, first).outcome


def _cell(statement: Statement, judged: Mapping[str, Judged], *, quick: bool) -> str:
    """The claims with their conclusions, or the reason why there is none."""
    if statement.unjudged:
        return f"Not judged: {statement.unjudged}"
    parts = []
    for name in statement.claims:
        item = judged.get(name)
        if item is None:
            parts.append(f"{name}: judged with `--measured` only")
            continue
        note = f" ({NO_EVIDENCE})" if quick and item.judged else ""
        parts.append(f"{name}: {item.conclusion}{note}")
    return "; ".join(parts)


def _count_line(conclusions: Sequence[str]) -> str:
    """How many statements there are, and how many came to what."""
    unjudged, undecided = conclusions.count(UNJUDGED), conclusions.count(NOT_JUDGED)
    total = len(conclusions)
    kinds = [f"{conclusions.count(kind)} {kind}" for kind in (REPRODUCED, SOME, REFUTED, OPEN)]
    noun = "statement" if total == 1 else "statements"
    rest = f"; {undecided} not judged by this run" if undecided else ""
    return f"{total} {noun}: {total - unjudged - undecided} judged ({', '.join(kinds)}), {unjudged} unjudged{rest}."
