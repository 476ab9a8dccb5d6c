"""A summary as the cells of tables, for the terminal and the notebook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ackclock.results import bounds, replications
from ackclock.results.summary import GroupSummary, PointSummary
from ackclock.stats import Estimate

Line = TypeVar("Line")
Rows = list[list[str]]
"""A header, then rows of cells. Cells may have several lines."""


@dataclass(frozen=True, slots=True)
class Column:
    """A metric as a column: its title, and the factor to the unit in it. A `count` that is whole in a single run is
    shown so.

    One that only `compares` flows is left out where each point has a single flow.
    """

    metric: str
    title: str
    factor: float = 1.0
    count: bool = False
    compares: bool = False

    def cell(self, metrics: Mapping[str, Estimate], digits: int) -> str:
        """The metric as text."""
        value = metrics.get(self.metric, Estimate(None, None, 0))
        if self.count and value.mean is not None and value.ci95 is None and value.mean.is_integer():
            return f"{value.mean:.0f}"
        return number(value, self.factor, digits, self.metric)


@dataclass(frozen=True, slots=True)
class Section:
    """A table. With `each`, a row has a line for each group of flows that has one of the metrics; with `of`, only
    groups that have this one.

    Columns without a value in any row are left out; so are those of zeros only with `zeros` false.
    """

    title: str
    columns: tuple[Column, ...]
    each: bool = False
    zeros: bool = True
    of: str = ""


_FLOWS = ("flows", "goodput per flow\nMbit/s")

_MAIN = Section(
    "",
    (
        Column("utilisation", "utilisation\n%", 100.0),
        Column("jain", "Jain"),
        Column("loss_percent", "loss\n%"),
        Column("retransmitted_percent", "retrans.\n%"),
        Column("mean_queue_delay_s", "mean queue\nms", 1e3),
        Column("p95_queue_delay_s", "p95 queue\nms", 1e3),
    ),
)

_BRIEF = Section(
    "",
    (Column("p95_queue_delay_s", "p95 queue\nms", 1e3), Column("jain", "Jain"), Column("p95_fct_s", "FCT p95\ns")),
)
"""Besides the goodput what is looked at first: the metrics that are compared and ranked without being asked for."""


def _spread(metric: str, title: str, unit: str, factor: float = 1.0) -> Iterator[Column]:
    """A metric's mean and percentiles."""
    for part, word in (("mean", "mean"), ("p50", "median"), ("p95", "p95"), ("p99", "p99")):
        yield Column(f"{part}_{metric}", f"{title} {word}\n{unit}".rstrip("\n"), factor)


_TRANSFERS = Section(
    "transfers",
    (
        Column("transfers_completed", "completed", count=True),
        Column("transfers_unfinished", "unfinished", count=True),
        *_spread("fct_s", "FCT", "s"),
        *_spread("slowdown", "slowdown", ""),
    ),
    each=True,
)
_PAGES = Section(
    "pages: load time, and the mean of what it was spent with",
    (
        *_spread("plt_s", "PLT", "s"),
        Column("mean_page_handshake_s", "handshake\ns"),
        Column("mean_page_queueing_s", "queueing\ns"),
        Column("mean_page_first_byte_s", "first byte\ns"),
        Column("mean_page_transfer_s", "transfer\ns"),
        Column("mean_page_parse_s", "parse\ns"),
        Column("mean_page_connections", "connec-\ntions"),
    ),
    each=True,
    of="mean_plt_s",
)
_DATAGRAMS = Section(
    "datagrams",
    (Column("datagram_loss_percent", "lost\n%"), *_spread("delay_s", "delay", "ms", 1e3)),
    each=True,
    of="datagram_loss_percent",
)
_APPLICATIONS = Section(
    "what applications measured, mean over their flows",
    (
        Column("stalls", "stalls", count=True),
        Column("stalled_s", "stalled\ns"),
        Column("startup_s", "start-up\ns"),
        Column("bitrate_bps", "bitrate\nMbit/s", 1e-6),
        Column("switches", "switches", count=True),
    ),
    each=True,
)
_DROPS = Section(
    "drops and marks at the bottleneck, % of arrivals",
    (
        Column("drops_full_percent", "full"),
        Column("drops_threshold_percent", "threshold"),
        Column("drops_early_percent", "early"),
        Column("drops_delay_percent", "delay"),
        Column("drops_age_percent", "age"),
        Column("drops_policed_percent", "policed"),
        Column("lost_percent", "lost at output"),
        Column("marks_percent", "marked"),
    ),
    zeros=False,
)
_LOW_LATENCY = Section(
    "low-latency queue of the bottleneck (ECT(1))",
    (
        Column("mean_l_queue_delay_s", "mean queue\nms", 1e3),
        Column("p99_l_queue_delay_s", "p99 queue\nms", 1e3),
    ),
)
_OTHERS = Section(
    "fairness and loss events",
    (
        Column("max_min_index", "max-min\nindex", compares=True),
        Column("proportional_fairness", "sum of\nln(bit/s)", compares=True),
        Column("loss_events", "loss events\nper run", count=True),
        Column("loss_event_rate", "loss events\nper 1000 segments", 1e3),
        Column("timeouts_per_mb", "timeouts\nper MB"),
        Column("synchronisation", "synchro-\nnisation", compares=True),
        Column("smoothness", "smooth-\nness"),
    ),
    zeros=False,
)

_PLAIN = {"drops_full_percent", "lost_percent"}  # each alone is the loss of the main table again
_DOTS = re.compile(r"\.(?=\w)")  # between the parts of a key
_INTERVAL = re.compile(r" (?=± |\(-?[\d.]+ to )")  # between a mean and its interval
_SHORT = {"utilisation": "util.", "completed": "done", "unfinished": "open", "slowdown": "slow-\ndown"}
_LEAST = ("retrans.", "mean queue", "Jain", "FCT median", "FCT p99", "slow- down", "slowdown", "open", "delay median")
"""What is left out first where there is no room: what another column nearly says."""
_EACH = 4  # so many flows get a line each; more have one for their group
_MOST = 20  # lines of groups
_SHARE = 0.02  # more unfinished transfers than this are spoken of: the slowest are missing


def tables(
    points: Sequence[PointSummary], params: Sequence[str], *, narrow: bool = False, brief: bool = False
) -> list[tuple[str, Rows]]:
    """The tables of a summary with their titles: the main one, without a title, then those that have anything to say.

    With `narrow` they fit a terminal of 80 columns for the usual one or two swept keys: a digit less, intervals under
    their means, long titles in several lines. With `brief` there is the main one only, with the metrics that are looked
    at first and a line for each group of flows.
    """
    found = [("", rows(points, params, narrow=narrow, brief=brief))]
    if brief:
        return found
    for section in (_TRANSFERS, _PAGES, _DATAGRAMS, _APPLICATIONS, _LOW_LATENCY, _DROPS, _OTHERS):
        columns = _columns(section, points)
        if not columns or (section is _DROPS and {column.metric for column in columns} < _PLAIN):
            continue
        shown = [point for point in points if _lines(section, point, columns)]
        header = [*params, *(["flows"] if section.each else []), *(column.title for column in columns)]
        body = [_row(section, point, columns, params, 1 if narrow else 2) for point in shown]
        found.append((section.title, _fitted(header, body, narrow=narrow)))
    return found


def rows(points: Sequence[PointSummary], params: Sequence[str], *, narrow: bool = False, brief: bool = False) -> Rows:
    """The main table: a row per point with the goodput of its flows and the metrics of all of them."""
    columns = _columns(_BRIEF if brief else _MAIN, points)
    digits = 1 if narrow else 2
    body = []
    for point in points:
        names, goodputs = zip(*_shares(point, digits, each=0 if brief else _EACH), strict=True)
        cells = [column.cell(point.metrics, digits) for column in columns]
        body.append([*_values(point, params), "\n".join(names), "\n".join(goodputs), *cells])
    return _fitted([*params, *_FLOWS, *(column.title for column in columns)], body, narrow=narrow)


def least(header: Sequence[str], words: int) -> list[int]:
    """The columns in the order in which they are left out where there is no room; never the first `words`.

    First those of :data:`_LEAST`, then the others from the right.
    """
    titles = [" ".join(title.split()) for title in header]
    named = [at for name in _LEAST for at, title in enumerate(titles) if at >= words and title.startswith(name)]
    others = [at for at in range(len(header) - 1, words, -1) if at not in named]
    return [*dict.fromkeys(named), *others]


def notes(points: Sequence[PointSummary], *, captured: bool = False) -> list[str]:
    """What a reader must know about the tables, of runs or of what was `captured`."""
    return [*_repeated(points, captured=captured), *_unfinished(points)]


def _repeated(points: Sequence[PointSummary], *, captured: bool) -> list[str]:
    same = [point for point in points if point.repeated]
    most = max((point.n for point in same), default=0)
    return [replications.note(len(same), len(points), most, captured=captured)] if same else []


def _unfinished(points: Sequence[PointSummary]) -> list[str]:
    found = {}
    pages = True
    for point in points:
        done, missing = (_mean(point.metrics, f"transfers_{state}") for state in ("completed", "unfinished"))
        if missing > _SHARE * (done + missing):
            found[", ".join(f"{key} = {value}" for key, value in point.params.items())] = missing / (done + missing)
            # A page is a transfer.
            pages = pages and _mean(point.metrics, "pages_unfinished") == missing
    if not found:
        return []
    percent = 100 * max(found.values())
    share = f"{percent:.{_decimals(percent, 2)}f} % of the {'pages' if pages else 'transfers'}"
    times = "load times" if pages else "completion times and slowdowns"
    what = f"{share} were unfinished" if len(found) == 1 else f"up to {share} were unfinished in {len(found)} points"
    where = next(iter(found)) if len(found) == 1 else ""
    return [f"{f'{where}: ' if where else ''}{what}; {times} leave them out"]


def number(value: Estimate, factor: float = 1.0, digits: int = 2, metric: str = "") -> str:
    """``mean ± half-width`` with so many significant digits of the interval, or two more of a lone mean.

    The mean has two at least, however wide its interval is. An interval that goes on where `metric` has no values is
    cut there, and is its two ends: ``0.91 (0.70 to 1)``.
    """
    if value.mean is None:
        return "-"
    mean = value.mean * factor
    if value.ci95 is None:
        return f"{mean:.{_decimals(mean, digits + 2)}f}"
    half = value.ci95 * factor
    most = _decimals(mean or half, max(4, 2 * digits + 1))
    places = min(most, max(_decimals(half, digits), _decimals(mean, 2) if mean else 0)) if half else most
    if round(half, places) == 0 < round(half, 6):
        places = _decimals(half, 1)
    if metric and (cut := _cut_off(value, metric, factor, places)):
        return f"{mean:.{places}f} ({cut})"
    return f"{mean:.{places}f} ± {half:.{places}f}"


def _cut_off(value: Estimate, metric: str, factor: float, places: int) -> str:
    """The ends of an interval of which one is where the metric ends; empty where none is."""
    ends, limits = bounds.ends(value, metric), bounds.bounds(metric)
    if ends is None or not any(end == limit for end, limit in zip(ends, limits, strict=True)):
        return ""
    words = (
        f"{end * factor:g}" if end == limit else f"{end * factor:.{places}f}"
        for end, limit in zip(ends, limits, strict=True)
    )
    return " to ".join(words)


def _fitted(header: list[str], body: Rows, *, narrow: bool) -> Rows:
    if not narrow:
        return [header, *body]
    return [[_DOTS.sub(".\n", _shorter(title)) for title in header], *(_stacked(row) for row in body)]


def _shorter(title: str) -> str:
    for long, short in _SHORT.items():
        title = title.replace(long, short)
    return title.replace(" ", "\n")


def _stacked(row: Sequence[str]) -> list[str]:
    """A row with intervals under means; every line of a cell takes two then, so that the cells keep in step."""
    if not any(_INTERVAL.search(cell) for cell in row):
        return list(row)
    return ["\n".join(_two(line) for line in cell.split("\n")).removesuffix("\n") for cell in row]


def _two(line: str) -> str:
    """A line as two: an interval below its mean, what tells flows apart below their name; a terminal that broke it
    there would put what follows out of step.
    """
    if _INTERVAL.search(line):
        return _INTERVAL.sub("\n", line)
    name, comma, rest = line.partition(", ")
    return f"{name}{comma.rstrip()}\n{rest}"


def _columns(section: Section, points: Sequence[PointSummary]) -> list[Column]:
    """The columns of a section that have something in them."""
    every: list[Mapping[str, Estimate]] = []
    alone = True
    for point in points:
        alone = alone and len(point.flows) == 1
        every.extend([each.metrics for each in _groups(section, point)] if section.each else [point.metrics])

    def has_value(column: Column) -> bool:
        if column.compares and alone:
            return False
        means = (metrics[column.metric].mean for metrics in every if column.metric in metrics)
        return any(mean is not None and (section.zeros or mean != 0) for mean in means)

    return [column for column in section.columns if has_value(column)]


def _groups(section: Section, point: PointSummary) -> list[GroupSummary]:
    return [each for each in point.groups if not section.of or section.of in each.metrics]


def _lines(
    section: Section, point: PointSummary, columns: Sequence[Column]
) -> list[tuple[str, Mapping[str, Estimate]]]:
    """The lines of a point's row, with the name of each."""
    if not section.each:
        return [("", point.metrics)] if any(column.metric in point.metrics for column in columns) else []
    names = {column.metric for column in columns}
    return [
        (_name(point, each), each.metrics) for each in _groups(section, point) if not names.isdisjoint(each.metrics)
    ]


def _row(
    section: Section, point: PointSummary, columns: Sequence[Column], params: Sequence[str], digits: int
) -> list[str]:
    lines = _cut(_lines(section, point, columns), lambda more: (f"and {more} more", {}))
    cells = ["\n".join(column.cell(metrics, digits) for _, metrics in lines) for column in columns]
    return [*_values(point, params), *(["\n".join(name for name, _ in lines)] if section.each else []), *cells]


def _values(point: PointSummary, params: Sequence[str]) -> list[str]:
    return [str(point.params[name]) for name in params]


def _shares(point: PointSummary, digits: int, each: int) -> list[tuple[str, str]]:
    """The lines of the goodput cell: each flow, or the mean flow of each group when there are more than `each`."""
    if point.flows and len(point.flows) <= each:
        labels = [each.group.label for each in point.groups]
        return [
            (f"{flow.id} {labels[flow.group]}", number(flow.metrics["goodput_bps"], 1e-6, digits, "goodput_bps"))
            for flow in point.flows
        ]
    lines = [
        (_name(point, own), number(own.metrics["goodput_bps"], 1e-6, digits, "goodput_bps")) for own in point.groups
    ]
    return _cut(lines, lambda more: (f"and {more} more", ""))


def _name(point: PointSummary, each: GroupSummary) -> str:
    group = each.group
    alone = group.count == 1 and len(point.flows) <= _EACH
    return f"{group.first} {group.label}" if alone else f"{group.count} x {group.label}"


def _cut(lines: list[Line], rest: Callable[[int], Line]) -> list[Line]:
    """The first lines; the last says how many more there are."""
    return lines if len(lines) <= _MOST else [*lines[: _MOST - 1], rest(len(lines) - _MOST + 1)]


def _mean(metrics: Mapping[str, Estimate], name: str) -> float:
    return (metrics[name].mean or 0.0) if name in metrics else 0.0


def _decimals(value: float, significant: int) -> int:
    """Decimals that show so many significant digits of `value`, within 0 and 6."""
    if value == 0:
        return 0
    exponent = int(f"{abs(value):e}".split("e")[1])
    return min(6, max(0, significant - 1 - exponent))
