"""A comparison as the cells of a table, for the terminal and the notebook."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ackclock.comparison.agreement import Ranks
from ackclock.comparison.rows import EQUAL, Row

Cells = list[list[str]]

_DOTS = re.compile(r"\.(?=[a-z_])")  # between the parts of a key, not of a number
_UNITS = (("_bps", "Mbit/s", 1e-6), ("_fct_s", "s", 1.0), ("_s", "ms", 1e3), ("_percent", "%", 1.0))


def table(rows: Sequence[Row], *, narrow: bool = False) -> Cells:
    """A header, then a row for each but those of metrics that are zero everywhere.

    A narrow one has the unit below the metric, the interval below the value, and no column `d`.
    """
    nothing = set(zeros(rows))
    rows = [row for row in rows if row.metric not in nothing]
    keys, several = list(rows[0].params), len({row.b for row in rows}) > 1
    head = [*keys, *(["B is"] if several else []), "metric", "runs", "A", "B", "unit", "B against A", "95 % interval"]
    cells = [
        [*head, "effect", "d", "p", "verdict"],
        *([*(str(row.params[key]) for key in keys), *([row.b] if several else []), *_cells(row)] for row in rows),
    ]
    return _narrowed(cells, left(rows) - 1) if narrow else cells


def _narrowed(cells: Cells, keys: int) -> Cells:
    """The same narrow. Several columns that say of which point a row is are one, with a line for each."""
    titles = [key.rpartition(".")[2] for key in cells[0][:keys]]
    head, *body = map(_narrow, cells)
    if keys < 2:
        return [head, *body]
    points = ("\n".join(_said(title, value) for title, value in zip(titles, line, strict=False)) for line in cells[1:])
    return [["point", *head[keys:]], *([point, *line[keys:]] for point, line in zip(points, body, strict=True))]


def _said(title: str, value: str) -> str:
    return value if title == "B is" else f"{title} {value}"


def _narrow(cells: list[str]) -> list[str]:
    *keys, metric, runs, a, b, unit, value, interval, effect, _, p, verdict = cells
    keys = [_DOTS.sub(".\n", key) for key in keys]
    parts = (f"{metric}\n{unit}", f"{value}\n{interval}")
    return [*keys, parts[0].rstrip(), runs, a, b, parts[1].rstrip(), effect, p, verdict.replace(", ", ",\n")]


def zeros(rows: Sequence[Row]) -> list[str]:
    """The metrics that are zero in every run, unless all are."""
    names = dict.fromkeys(row.metric for row in rows)
    found = [
        name for name in names if all(row.verdict == EQUAL and row.mean_a == 0 for row in rows if row.metric == name)
    ]
    return found if len(found) < len(names) else []


def left(rows: Sequence[Row], *, narrow: bool = False) -> int:
    """How many columns in front hold words."""
    keys = len(rows[0].params) + (len({row.b for row in rows}) > 1)
    return (min(keys, 1) if narrow else keys) + 1


def order(ranks: Sequence[Ranks]) -> Cells:
    """The agreement in order."""
    return [
        ["B", "order of", "metric", "n", "Spearman", "Kendall"],
        *(
            [item.b, item.over, item.metric, str(item.n), _number(item.spearman), _number(item.kendall)]
            for item in ranks
        ),
    ]


def heading(a: str, b: str) -> str:
    """What is compared with what."""
    return f"A: {a}; B: {b}"


def footing(rows: Sequence[Row], family: int, *, agreement: bool = False) -> list[str]:
    """What the p-values are, and what is not shown."""
    nothing = zeros(rows)
    p = "of the tests that B is within its margin of A" if agreement else _adjusted(rows, family)
    welch = "" if all(row.paired for row in rows if row.n) else "; NOT PAIRED: Welch's test"
    lines = [f"d: difference in standard deviations; p: {p}{welch}"]
    return [f"zero in every run: {', '.join(nothing)}", *lines] if nothing else lines


def _adjusted(rows: Sequence[Row], family: int) -> str:
    if not family:
        return "none, as there is nothing to test"
    same = "; rows with the same numbers count once" if family < sum(row.p is not None for row in rows) else ""
    both = "; so are the intervals" if family > 1 else ""
    return f"of no difference, adjusted for {family} test{'' if family == 1 else 's'} (Holm){both}{same}"


def _cells(row: Row) -> list[str]:
    of, factor = unit(row.metric)
    return [
        row.metric,
        str(row.n),
        _number(row.mean_a, factor),
        _number(row.mean_b, factor),
        of,
        *_effect(row, factor),
        "-" if row.percent is None else f"{row.percent:+.3g} %",
        "-" if row.d is None else f"{row.d:+.2f}",
        _p(row),
        row.verdict,
    ]


def unit(metric: str) -> tuple[str, float]:
    """The unit that a metric is printed in, and the factor to it."""
    return next(((name, factor) for end, name, factor in _UNITS if metric.endswith(end)), ("", 1.0))


def _effect(row: Row, factor: float) -> tuple[str, str]:
    """B against A, and its interval: the one that says what the verdict says."""
    if row.value is None:
        return "-", ""
    low, high = row.ends
    if row.kind == "ratio":
        ends = "" if low is None or high is None else f"{low:.4g} to {high:.4g}"
        return f"× {row.value:.4g}", ends
    ends = "" if low is None or high is None else f"{factor * low:+.3g} to {factor * high:+.3g}"
    return f"{factor * row.value:+.3g}", ends


def _p(row: Row) -> str:
    p = row.p_holm if row.p_holm is not None else row.p_margin
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _number(value: float | None, factor: float = 1.0) -> str:
    return "-" if value is None else f"{factor * value:.4g}"
