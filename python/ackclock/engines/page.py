"""An agreement as one page that needs nothing else: verdicts, table, where engines differ over time, figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import ackclock.comparison.page as comparisons
from ackclock.comparison import text as comparison_text
from ackclock.engines import divergence, text
from ackclock.engines.agree import Agreement, Pair
from ackclock.engines.panel import panel
from ackclock.engines.variants import Played
from ackclock.notebook import html
from ackclock.notebook.html import Markup
from ackclock.results import validity

_POINTS, _FLOWS, _LINKS, _DIFFER = 6, 4, 2, 8
_STYLE = (
    "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 8px;text-align:right}"
    "th{border-bottom:1px solid currentColor}svg{display:block;max-width:100%;margin:.5em 0}"
)


def of(found: Agreement) -> str:
    """The whole page."""
    title = f"Engines on {found.source}"
    parts = [
        f"<h1>{html.escaped(title)}</h1>",
        html.paragraphs([*_verdicts(found), text.margins(found), *found.notes]),
        html.table(_engines(found.played), words=2),
    ]
    for pair in found.pairs:
        parts.append(f"<h2>{html.escaped(f'{pair.b.name} against {pair.a.name}')}</h2>")
        if pair.comparison is not None:
            rows = pair.comparison.rows
            footing = comparison_text.footing(rows, 0, agreement=True)
            parts.append(comparisons.of(rows, pair.comparison.ranks, footing))
        parts.append(_differing(pair))
    parts += ["<h2>Over time</h2>", *_figures(found)]
    head = f'<meta charset="utf-8"/><title>{html.escaped(title)}</title><style>{_STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _verdicts(found: Agreement) -> Iterator[Markup]:
    for pair in found.pairs:
        yield html.badge(text.verdict(pair), "good" if pair.agrees else "open")


def _engines(played: Iterable[Played]) -> list[list[str]]:
    """A row for each engine: what it is, and what became of its runs."""
    rows = [["engine", "played by", "runs", "not valid", "not played"]]
    for item in played:
        manifest = item.result.manifest
        kernels = {run["emulation"]["kernel"] for run in manifest["runs"] if "emulation" in run}
        version = f"ackclock {manifest['engine']['version']} {manifest['engine']['commit']}"
        by = ", ".join([version, *(f"Linux {kernel}" for kernel in sorted(kernels))])
        bad = len(validity.runs(item.result))
        rows.append([item.name, by, str(item.result.runs.height), str(bad), str(len(manifest["failed"]))])
    return rows


def _differing(pair: Pair) -> Markup:
    """The series that differ, the first of each point in front."""
    a, b = pair.a.name, pair.b.name
    rows: list[list[str]] = [["point", "series", "from, s", a, b, f"what {a} did", f"what {b} did"]]
    for point, found in pair.divergences.items():
        name = _named(pair.a, point) or "all"
        for item in found[:_DIFFER]:
            series = f"{item.metric} {item.what}"
            rows.append([name, series, f"{item.time_s:.3f}", f"{item.a:.1f}", f"{item.b:.1f}", item.did_a, item.did_b])
    if len(rows) == 1:
        return html.paragraphs(text.divergences(pair))
    least = f"{100 * divergence.SHARE:g} % and two segments or packets, for an RTT"
    return html.table(rows, f"from where a window or a queue differs by more than {least}", words=2)


def _figures(found: Agreement) -> Iterator[Markup]:
    """Windows and queues of the first runs of each point, over each other."""
    able = [item for item in found.played if item.able]
    points = sorted(set().union(*(item.able for item in able))) if able else []
    for point in points[:_POINTS]:
        runs = [(item, run) for item in able if (run := _run(item, point)) is not None]
        every = [(item, divergence.tracks(item.result, run)) for item, run in runs]
        keys = list(dict.fromkeys(key for _, tracks in every for key in tracks))
        if name := _named(found.played[0], point):
            yield Markup(f"<h3>{html.escaped(name)}</h3>")
        for metric, unit, most in (("cwnd", "bytes", _FLOWS), ("queue", "packets", _LINKS)):
            own = [key for key in keys if key[0] == metric]
            for key in own[:most]:
                lines = [(item.name, tracks[key]) for item, tracks in every if key in tracks]
                yield panel(f"{metric} {key[1]}", unit, lines, _mark(found.pairs, point, key))
            if len(own) > most:
                yield html.paragraphs([f"and {len(own) - most} more series of {metric}"])
    if len(points) > _POINTS:
        yield html.paragraphs([f"and {len(points) - _POINTS} more points"])


def _mark(pairs: Sequence[Pair], point: int, key: tuple[str, str]) -> float | None:
    times = [
        item.time_s for pair in pairs for item in pair.divergences.get(point, ()) if (item.metric, item.what) == key
    ]
    return min(times, default=None)


def _run(item: Played, point: int) -> int | None:
    """The first valid run of a point, or the first."""
    runs = [run for run, at in item.result.runs.select("run", "point").iter_rows() if at == point]
    good = [run for run in runs if run not in validity.runs(item.result)]
    return min(good or runs, default=None)


def _named(item: Played, point: int) -> str:
    entry = next(entry for entry in item.result.manifest["points"] if entry["point"] == point)
    return text.name_of(entry["params"])
