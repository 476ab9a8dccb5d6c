"""The readings of a study beside each other: which claim holds under which, and which one supports most of them."""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.study import tables
from ackclock.study.runner import Judged, Report
from ackclock.study.verdict import Verdict, number, span


def lines(report: Report) -> list[str]:
    """A section of the report: each reading with its reason, the table readings by claims, and what it comes to.

    Nothing, where the study has no readings or a quick run judges nothing.
    """
    found = report.study.readings
    judged = [item for item in report.claims if item.under]
    if not found or not judged or report.quick:
        return []
    said = ["## Readings", "", "What the paper leaves open was chosen in several ways.", ""]
    for reading in found:
        chosen = f" Found by search for what fits; it costs: {reading.price}" if reading.found else ""
        said.append(f"- **{reading.id}**: {reading.title}. {reading.reason}{chosen}")
    header = ["claim", *(reading.id for reading in found), "conclusion"]
    rows = [header, *([item.claim.id, *_cells(item, header[1:-1]), item.conclusion] for item in judged)]
    return [*said, "", tables.markdown(rows), *_most(report, judged), ""]


def support(report: Report) -> dict[str, int]:
    """How many claims hold under each reading: those that depend on it, and those that depend on none."""
    alone = sum(item.verdict.outcome == "pass" for item in report.claims if not item.under)
    found = {reading.id: alone for reading in report.study.readings}
    for item in report.claims:
        for name in found if item.under else ():
            under = item.under.get(name, next(iter(item.under.values())))
            found[name] += under.outcome == "pass"
    return found


def _most(report: Report, judged: Sequence[Judged]) -> list[str]:
    counted = support(report)
    most = max(counted.values())
    best = [name for name, count in counted.items() if count == most]
    each = ", ".join(f"{name} {count}" for name, count in counted.items())
    total, kinds = len(report.claims), conclusions(report)
    said = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return [
        f"Of {total} claims hold together: {each}. Most hold under {' and '.join(best)}.",
        f"In all: {said}. {len(judged)} claims depend on the reading.",
    ]


def conclusions(report: Report) -> dict[str, int]:
    """How many claims came to what, whichever reading it is that one needs."""
    found: dict[str, int] = {}
    for item in report.claims:
        kind = "reproduced under some readings only" if item.conclusion.endswith("only") else item.conclusion
        found[kind] = found.get(kind, 0) + 1
    return found


def _cells(item: Judged, names: Sequence[str]) -> list[str]:
    """A verdict under each reading, with its value; one on which the claim does not depend is that of the first."""
    first = next(iter(item.under.values()))
    return [_cell(item.under.get(name, first)) for name in names]


def _cell(verdict: Verdict) -> str:
    if verdict.value is None:
        return verdict.outcome
    ends = span(verdict.interval, ".3g")
    return f"{verdict.outcome}: {number(verdict, 3)}{f' ({ends})' if ends else ''}"
