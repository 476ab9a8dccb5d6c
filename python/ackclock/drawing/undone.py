"""What a figure says of transfers that were still under way when their run ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ackclock.drawing.remarks import Remark
from ackclock.drawing.selection import Selection
from ackclock.results import times, unfinished

_OF_PAGES = "_plt_s"
"""What the names of load times of pages end with."""


def said(selection: Selection, metric: str) -> None:
    """Say how many transfers were not done, and what a metric makes of them, if it is one of transfers."""
    if metric not in times.METRICS and not metric.endswith(unfinished.SLOWDOWNS):
        return
    parts = []
    for label, samples in selection.samples(selection.points).items():
        own, runs = selection.counted(label), [sample.run for sample in samples]
        if line := unfinished.said(label, own.left, runs):
            parts.append(f"{line}, {unfinished.part(own, runs, metric)}")
    if parts:
        selection.remarks.append(Remark("; ".join(parts)))


def pages(selection: Selection, metric: str) -> None:
    """Say how many pages a load time leaves out, as they were not completed."""
    if not metric.endswith(_OF_PAGES):
        return
    open_, every = 0, 0
    for sample in selection.samples_of_points():
        own = sample.metrics
        open_ += int(own.get("pages_unfinished") or 0)
        every += int((own.get("pages_unfinished") or 0) + (own.get("pages_completed") or 0))
    if open_:
        remedy = "--y mean_fct_s counts them" if selection.has("mean_fct_s") else ""
        selection.remarks.append(Remark(f"{open_} of {every} pages were not completed, left out", remedy))


@dataclass(frozen=True, slots=True)
class Open:
    """The transfers of a class of sizes in a panel: how many were not done, of how many, and whether that hides a time.

    A time is `hidden` where so many were not done that it is only known to be longer.
    """

    sizes: str
    open: int
    every: int
    hidden: bool


def of_classes(selection: Selection, found: Mapping[str, Sequence[Open]]) -> None:
    """Say of every candidate how many transfers were not done, and at which sizes times are only known to be longer.

    The figure has no room for the numbers of each size; beside it they are said.
    """
    totals, parts, longer = [], [], dict[str, None]()
    for label, own in found.items():
        if not (count := sum(each.open for each in own)):
            continue
        totals.append(f"{count} of {sum(each.every for each in own)}{f' of {label}' if label else ''}")
        for size in dict.fromkeys(each.sizes for each in own if each.open):
            there = [each for each in own if each.sizes == size]
            count, every = sum(each.open for each in there), sum(each.every for each in there)
            hidden = any(each.hidden for each in there)
            longer |= {size: None} if hidden else {}
            said = "\u2265 what is shown" if hidden else "counted"
            parts.append(f"{f'{label}, ' if label else ''}{size}: {count} of {every} not done at the end, {said}")
    if parts:
        more = f"; \u2265 what is shown for some of {', '.join(longer)}" if longer else ""
        words = f"transfers not done at the end are counted, {', '.join(totals)}{more}"
        selection.remarks.append(Remark(words, "; ".join(parts)))


def open_ends(selection: Selection) -> None:
    """Say how many transfers a distribution has no time of: its line ends below 1, or there is none."""
    parts = []
    for label, samples in selection.samples(selection.points).items():
        runs = [sample.run for sample in samples]
        if line := unfinished.said(label, selection.counted(label).left, runs):
            parts.append(line)
    if parts:
        selection.remarks.append(Remark(f"{'; '.join(parts)}: a line ends below 1"))
