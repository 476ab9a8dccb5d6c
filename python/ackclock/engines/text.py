"""An agreement in words: what a terminal and a page have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ackclock.comparison.rows import CONSTANT
from ackclock.engines.agree import Agreement, Pair
from ackclock.engines.divergence import LEAST, SHARE, Divergence

_UNITS = {"cwnd": "segments", "queue": "packets"}
_DRAW = 'draw them, as start = { uniform = ["0 s", "1 s"] }, with --replications 10'
_OF = {"cwnd": "window of flow", "queue": "queue of link"}


def verdict(pair: Pair) -> str:
    """Whether an engine agrees with the first, in a line."""
    if pair.comparison is None:
        return pair.why
    rows = pair.comparison.rows
    shown = sum(bool(row.equivalent) for row in rows)
    if not pair.tested and any(row.verdict.endswith(CONSTANT) for row in rows):
        word = "is within the margins of" if pair.agrees else "is not within all margins of"
        what = f"{pair.b.name} {word} {pair.a.name} in one run each: {shown} of {len(rows)} rows"
        return (
            f"{what}, of which none was tested, as nothing is drawn: no interval, and other starts may differ; {_DRAW}"
        )
    word = "agrees" if pair.agrees else "is not shown to agree"
    return f"{pair.b.name} {word} with {pair.a.name}: {shown} of {len(rows)} rows within their margin{_untested(pair)}"


def _untested(pair: Pair) -> str:
    """How many of the rows within their margins no test has shown to be there."""
    rows = () if pair.comparison is None else pair.comparison.rows
    alone = sum(bool(row.equivalent) and row.p_margin is None for row in rows)
    return f", {alone} of them by values that are the same in every run, which are not tested" if alone else ""


def margins(found: Agreement) -> str:
    """Within which margins, in a line."""
    parts = ", ".join(f"{name} {100 * share:g} %" for name, share in found.margins.items())
    shown = "each must be shown by two one-sided tests at 5 %" if any(pair.tested for pair in found.pairs) else ""
    how = shown or "one run each is compared by its value, and nothing is shown of others"
    return f"margins, of the first engine's value: {parts}; {how}"


def divergences(pair: Pair) -> Iterator[str]:
    """Of each point where the engines begin to differ over time, in a line."""
    for point, found in pair.divergences.items():
        where = _where(pair, point)
        if not found:
            least = " and ".join(f"{value:g} {_UNITS[name]}" for name, value in LEAST.items())
            yield f"{where}windows and queues stay within {100 * SHARE:g} %, or {least}, of each other"
        else:
            yield f"{where}{differs(pair, found[0])}"


def differs(pair: Pair, item: Divergence) -> str:
    """A divergence in words."""
    a, b = pair.a.name, pair.b.name
    return (
        f"{_OF[item.metric]} {item.what} differs from {item.time_s:.3f} s: {a} {item.a:.1f}, {b} {item.b:.1f} "
        f"{_UNITS[item.metric]}; around then {a} {item.did_a}; {b} {item.did_b}"
    )


def name_of(params: Mapping[str, object]) -> str:
    """A point by its swept values."""
    return ", ".join(f"{key}={value}" for key, value in params.items())


def _where(pair: Pair, point: int) -> str:
    entry = next(entry for entry in pair.a.result.manifest["points"] if entry["point"] == point)
    name = name_of(entry["params"])
    return f"{name}: " if name else ""
