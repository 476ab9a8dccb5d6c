"""A comparison as the cells of a table, for the terminal and the notebook."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Literal

from ackclock.comparison.agreement import Ranks
from ackclock.comparison.rows import EQUAL, Row

Cells = list[list[str]]
Shown = Literal["d", "p", "counts"]
"""What a table has besides A, B and what separates them: `d` and `p`, only `p`, or counts of verdicts."""

_DOTS = re.compile(r"\.(?=[a-z_])")  # between the parts of a key, not of a number
_METRIC = "metric\nunit"
_VERDICT = 14  # characters of a line of a verdict in a narrow table
_UNITS = (("_bps", "Mbit/s", 1e-6), ("_fct_s", "s", 1.0), ("_s", "ms", 1e3), ("_percent", "%", 1.0))


def table(rows: Sequence[Row], *, narrow: bool = False) -> Cells:
    """A header, then a row for each but those of metrics that are zero everywhere.

    A narrow one has the unit below the metric, the interval below the value, and no column `d`.
    """
    nothing = set(zeros(rows))
    rows = [row for row in rows if row.metric not in nothing]
    cells = _cells_of(rows, several=len({row.b for row in rows}) > 1)
    return _narrowed(cells, left(rows) - 1) if narrow else cells


def _cells_of(rows: Sequence[Row], *, several: bool) -> Cells:
    keys = list(rows[0].params)
    head = [*keys, *(["B is"] if several else []), "metric", "runs", "A", "B", "unit", "B against A", "95 % interval"]
    return [
        [*head, "effect", "d", "p", "verdict"],
        *([*(str(row.params[key]) for key in keys), *([row.b] if several else []), *_cells(row)] for row in rows),
    ]


def by_metric(rows: Sequence[Row]) -> list[tuple[str, Cells]]:
    """The narrowest: for each metric its name with the unit, and a table with the ends of intervals in lines."""
    nothing = set(zeros(rows))
    found = []
    for metric in dict.fromkeys(row.metric for row in rows if row.metric not in nothing):
        own = [row for row in rows if row.metric == metric]
        several = len({row.b for row in rows}) > 1
        words = len(own[0].params) + several
        head, *body = _narrowed(_cells_of(own, several=several), words)
        at = head.index(_METRIC)
        name = ", ".join(body[0][at].split("\n"))
        lines = [[part.replace(" to ", "\nto ") for part in (*line[:at], *line[at + 1 :])] for line in body]
        found.append((name, [[*head[:at], *head[at + 1 :]], *lines]))
    return found


def counts(rows: Sequence[Row]) -> Cells:
    """Of each metric at how many points B is lower and higher than A, and how far: for more points than are read."""
    nothing, several = set(zeros(rows)), len({row.b for row in rows}) > 1
    margins = any(row.margin is not None for row in rows)
    alike = any(map(_equal, rows))
    head = [*(["B is"] if several else []), "metric", "points", *(["equal"] if alike else []), "lower", "higher"]
    head.append("not shown")
    cells = [[*head, *(["within margin"] if margins else []), "B against A,\nleast to most"]]
    for b in dict.fromkeys(row.b for row in rows):
        for metric in dict.fromkeys(row.metric for row in rows if row.metric not in nothing):
            own = [row for row in rows if (row.b, row.metric) == (b, metric)]
            told = [sum(row.verdict.startswith(word) for row in own) for word in ("lower", "higher")]
            same = sum(map(_equal, own))
            numbers = [len(own), *([same] if alike else []), *told, len(own) - same - sum(told)]
            numbers += [sum(bool(row.equivalent) for row in own)] if margins else []
            if own:
                cells.append([*([b] if several else []), metric, *map(str, numbers), _extent(own)])
    return cells


def _equal(row: Row) -> bool:
    """Whether B is A to the last digit."""
    return row.verdict == EQUAL


def _extent(rows: Sequence[Row]) -> str:
    """The least and the largest of what B is against A."""
    known = [row for row in rows if row.value is not None]
    of, factor = unit(rows[0].metric)
    if not known or len({row.kind for row in known}) > 1:
        return "-"
    values = [row.value for row in known if row.value is not None]
    if all(map(_equal, known)):
        return "equal"
    if known[0].kind == "ratio":
        return f"× {min(values):.4g} to {max(values):.4g}"
    return f"{factor * min(values):+.3g} to {factor * max(values):+.3g} {of}".rstrip()


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
    return [
        *keys,
        parts[0].rstrip(),
        runs,
        a,
        b,
        parts[1].rstrip(),
        effect,
        p,
        "\n".join(textwrap.wrap(verdict, _VERDICT)),
    ]


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


def footing(rows: Sequence[Row], family: int, *, agreement: bool = False, shown: Shown = "d") -> list[str]:
    """What the p-values are, and what is not shown, beside a table that has `d` and `p`, only `p`, or counts."""
    if shown == "counts" and all(map(_equal, rows)):
        return ["A and B are equal in every run, to the last digit: there is nothing to test"]
    nothing = zeros(rows)
    p = "of the tests that B is within its margin of A" if agreement else _adjusted(rows, family)
    welch = "" if all(row.paired for row in rows if row.n) else "; NOT PAIRED: Welch's test"
    by = "shown by tests " if family or agreement else ""
    what = {"d": "d: difference in standard deviations; p: ", "p": "p: ", "counts": f"lower, higher: {by}"}
    lines = [f"{what[shown]}{p}{welch}"]
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
        _more(row.more_a, _number(row.mean_a, factor)),
        _more(row.more_b, _number(row.mean_b, factor)),
        of,
        *_effect(row, factor),
        "-" if row.percent is None else f"{_sign(row)}{row.percent:+.3g} %",
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
        return f"{_sign(row)}× {row.value:.4g}", ends
    ends = "" if low is None or high is None else f"{factor * low:+.3g} to {factor * high:+.3g}"
    return f"{_sign(row)}{factor * row.value:+.3g}", ends


def _more(more: bool, number: str) -> str:
    """A mean that is only known to be larger."""
    return f"≥ {number}" if more and number != "-" else number


def _sign(row: Row) -> str:
    """Whether B against A is only known to be larger, or smaller; of bounds on both sides nothing is known."""
    return {(False, True): "≥ ", (True, False): "≤ ", (True, True): "? "}.get((row.more_a, row.more_b), "")


def _p(row: Row) -> str:
    p = row.p_holm if row.p_holm is not None else row.p_margin
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _number(value: float | None, factor: float = 1.0) -> str:
    return "-" if value is None else f"{factor * value:.4g}"
