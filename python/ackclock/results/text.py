"""A summary as the cells of a table, for the terminal and the notebook."""

from __future__ import annotations

import html as html_escape
import re
from collections.abc import Sequence

from ackclock.results.summary import FlowSummary, PointSummary
from ackclock.stats import Estimate

_COLUMNS = (
    ("utilisation", "utilisation\n%", 100.0),
    ("jain", "Jain", 1.0),
    ("loss_percent", "loss\n%", 1.0),
    ("retransmitted_percent", "retrans.\n%", 1.0),
    ("mean_queue_delay_s", "mean queue\nms", 1e3),
    ("p95_queue_delay_s", "p95 queue\nms", 1e3),
)
_DOTS = re.compile(r"\.(?=\w)")  # between the parts of a key
_EACH = 4  # so many flows get a line each; more are averaged per controller


def rows(points: Sequence[PointSummary], params: Sequence[str], *, narrow: bool = False) -> list[list[str]]:
    """A header and one row per point. Cells may have several lines.

    With `narrow` the table fits a terminal of 80 columns for the usual one or two swept keys: a digit less, intervals
    under their means, long titles in several lines.
    """
    header = [*params, "flows", "goodput per flow\nMbit/s", *(title for _, title, _ in _COLUMNS)]
    body = [_row(point, params, 1 if narrow else 2) for point in points]
    if not narrow:
        return [header, *body]
    short = [title.replace("utilisation", "util.").replace(" ", "\n") for title in header]
    return [[_DOTS.sub(".\n", title) for title in short], *(_stacked(row) for row in body)]


def _stacked(row: Sequence[str]) -> list[str]:
    """A row with intervals under means; a line for each flow keeps step with the goodputs, which take two each."""
    if not any(" ± " in cell for cell in row):
        return list(row)
    return [cell.replace(" ± ", "\n± ") if " ± " in cell else cell.replace("\n", "\n\n") for cell in row]


def html(cell: str) -> str:
    """A cell as HTML."""
    return html_escape.escape(cell).replace("\n", "<br>")


def number(value: Estimate, factor: float = 1.0, digits: int = 2) -> str:
    """``mean ± half-width`` with so many significant digits of the interval, or two more of a lone mean."""
    if value.mean is None:
        return "-"
    mean = value.mean * factor
    if value.ci95 is None:
        return f"{mean:.{_decimals(mean, digits + 2)}f}"
    half = value.ci95 * factor
    most = _decimals(mean or half, 2 * digits + 1)
    places = min(most, _decimals(half, digits)) if half else most
    return f"{mean:.{places}f} ± {half:.{places}f}"


def _row(point: PointSummary, params: Sequence[str], digits: int) -> list[str]:
    names, goodputs = [], []
    for name, value in _shares(point):
        names.append(name)
        goodputs.append(number(value, 1e-6, digits))
    cells = [number(point.metrics[metric], factor, digits) for metric, _, factor in _COLUMNS]
    return [*(str(point.params[name]) for name in params), "\n".join(names), "\n".join(goodputs), *cells]


def _shares(point: PointSummary) -> list[tuple[str, Estimate]]:
    """The lines of the goodput cell: each flow, or each controller's mean flow when there are many."""
    if len(point.flows) <= _EACH:
        return [(f"{flow.id} {flow.cc}", flow.metrics["goodput_bps"]) for flow in point.flows]
    groups: dict[str, list[FlowSummary]] = {}
    for flow in point.flows:
        groups.setdefault(flow.cc, []).append(flow)
    if len(groups) == 1:
        return [(f"{len(point.flows)} x {next(iter(groups))}", point.metrics["goodput_bps"])]
    return [(f"{len(flows)} x {cc}", _mean(flows)) for cc, flows in groups.items()]


def _mean(flows: Sequence[FlowSummary]) -> Estimate:
    """The mean flow of a group; its interval is left out, because the flows of a run are not independent."""
    known = [mean for flow in flows if (mean := flow.metrics["goodput_bps"].mean) is not None]
    return Estimate(sum(known) / len(known) if known else None, None, len(known))


def _decimals(value: float, significant: int) -> int:
    """Decimals that show so many significant digits of `value`, within 0 and 6."""
    if value == 0:
        return 0
    exponent = int(f"{abs(value):e}".split("e")[1])
    return min(6, max(0, significant - 1 - exponent))
