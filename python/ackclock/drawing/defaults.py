"""The metric of a figure that nobody named one for, and what a reader of a goodput must know."""

from __future__ import annotations

from typing import Any

from ackclock.drawing.remarks import Remark
from ackclock.drawing.selection import Selection
from ackclock.drawing.swept import GROUP, Key
from ackclock.metrics.capacity import rate_of
from ackclock.results import groups
from ackclock.results.legs import wholes
from ackclock.results.live import TOTAL, counts

GOODPUT = "goodput_bps"
SHARE = "utilisation"
SHARE_OF_GROUP = "goodput_share"
LOAD_TIME = "mean_plt_s"
_TIMES = ("p95_fct_s", "mean_fct_s")
_OF_LINE = (GOODPUT, TOTAL)
_ROUNDING = 1e-3


def metric(selection: Selection, *, share: bool = False) -> str:
    """What the y axis shows: goodput, or where everything that is sent comes to an end completion times, or load times.

    With `share`, where the rate of the line is swept, what of it is used, or of groups of flows the part that each has
    of the goodput: goodput would show little but the rate.
    """
    if _pages_only(selection) and selection.has(LOAD_TIME):
        return LOAD_TIME
    if _transfers_only(selection):
        times = next(filter(selection.has, _TIMES), None)
        if times is not None:
            return times
    by = selection.by
    if any(counts(selection.result.manifest, key.name) for key in selection.varying()) and selection.has(TOTAL):
        return TOTAL
    rates = [key for key in selection.varying() if _is_rate(key) and (by is None or key.name != by.name)]
    name = SHARE_OF_GROUP if selection.grouped else SHARE
    return name if share and rates and selection.has(name) else GOODPUT


def _is_rate(key: Key) -> bool:
    """Whether a key is the rate of links. Traffic with a rate of its own is something else."""
    return key.numeric and key.column.endswith("_bps") and key.name.startswith("topology")


def _transfers_only(selection: Selection) -> bool:
    """Whether all that is sent comes to an end, as the ranking has it."""
    endless = (
        app["kind"] == "captured" or (app["kind"] == "bulk" and app.get("bytes") is None) for app in _apps(selection)
    )
    return not any(endless)


def _pages_only(selection: Selection) -> bool:
    """Whether all that is sent are web pages."""
    return all(app["kind"] == "web" for app in _apps(selection))


def _apps(selection: Selection) -> list[dict[str, Any]]:
    return [flow["app"] for point in selection.points for flow in selection.result.resolved(point)["flows"]]


def of_all_flows(selection: Selection) -> None:
    """Say it if candidates are what one group was given, but the metrics are of the flows of other groups too."""
    by = selection.by
    if by is None or not by.name.startswith("flows."):
        return
    if all(len(groups.recorded(entry)) < 2 for entry in selection.entries):
        return
    part = "".join(by.name.split(".")[1:2])
    words = f"of all flows of a run, not of those of flows.{part} alone"
    selection.remarks.append(Remark(words, f"--by {GROUP} shows each group by itself"))


def beyond_the_line(selection: Selection, name: str) -> None:
    """Say it if a goodput is more than the line carries: data from before the warm-up can be in order after it."""
    if name not in _OF_LINE:
        return
    lines = {point: _line(selection.result.resolved(point), alone=name != GOODPUT) for point in selection.points}
    most = max(
        (
            sample.metrics[name] / rate
            for sample in selection.samples_of_points()
            if name in sample.metrics and (rate := lines[sample.point])
        ),
        default=0.0,
    )
    if most > 1 + _ROUNDING:
        words = (
            f"goodput up to {_percent(most - 1)} above the rate of the line: "
            "data from before the warm-up, in order only after it"
        )
        selection.remarks.append(Remark(words, f"--y {SHARE} has no such excess" if not selection.grouped else ""))


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"


def _line(resolved: dict[str, Any], *, alone: bool) -> float | None:
    """What a flow can get at most, bit/s: the slowest link on its way. `alone`: only where all have the same one.

    ``None`` where a rate varies: over a part of the run it may be more than its mean.
    """
    links = {link["id"]: link for link in resolved["links"]}
    slowest = []
    for flow in wholes(resolved):
        own = [links[hop["link"]] for hop in flow["forward"] if "link" in hop]
        if any(link.get("schedule") or link.get("trace") or link.get("shaper") for link in own):
            return None
        rates = {link["id"]: rate for link in own if (rate := rate_of(link, resolved["duration_ns"])) is not None}
        if not rates:
            return None
        name = min(rates, key=lambda each: rates[each])
        slowest.append((rates[name], name))
    if alone and len({name for _, name in slowest}) > 1:
        return None
    return max((rate for rate, _ in slowest), default=None)
