"""The answer: what a proxy makes of downloads, by the model and by runs of the simulator, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.advice.case import REPLICATIONS, SIZES, Case, Place, bounds, each
from ackclock.models import split
from ackclock.results.result import Result
from ackclock.scenario.traffic.route import NO_RELAY
from ackclock.scenario.values.units import SIZE
from ackclock.stats import Interval, ratio_interval
from ackclock.sweeps.run import run

WORTH = split.WORTH
"""A gain below it is none."""
NEAR = 0.15
"""How far the model is from the simulator at most where it applies (docs/split-tcp.md has the share of paths)."""
_LOSSY = 0.01
_MOST_BUFFERED = "relay_most_buffered_bytes"

Terms = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Download:
    """A download of `size` bytes without and with the proxy: seconds by the model and in runs, gains as shares.

    Times are geometric means, gains those of the rate: 0.5 is half more. `by` is what the gain is due to.
    """

    size: int
    off_s: float
    on_s: float
    by: str
    played_off_s: Interval
    played_on_s: Interval
    played_gain: Interval

    @property
    def gain(self) -> float:
        """By the model."""
        return self.off_s / self.on_s - 1

    @property
    def gains(self) -> bool:
        """Whether it gains more than nothing in runs, for sure: its whole interval."""
        found = self.played_gain
        least = found.value if found.low is None else found.low
        return least is not None and least >= WORTH

    @property
    def loses(self) -> bool:
        """Whether it is as much slower, for sure."""
        found = self.played_gain
        most = found.value if found.high is None else found.high
        return most is not None and most <= 1 / (1 + WORTH) - 1

    @property
    def off_by(self) -> float:
        """How far the model is from the runs, as a share of their times: the larger of both; 0 within the intervals."""
        pairs = ((self.off_s, self.played_off_s), (self.on_s, self.played_on_s))
        return max(_beyond(model, found) for model, found in pairs)


@dataclass(frozen=True, slots=True)
class At:
    """A place: what bounds a long download there, bit/s, the buffer that it needs, what it held at most in runs."""

    place: Place
    terms: Terms
    downloads: tuple[Download, ...]
    buffer_needed: float
    most_buffered: float | None

    @property
    def score(self) -> float:
        """The mean of the logarithms of all downloads' ratios, in runs."""
        known = [found.played_gain.value for found in self.downloads if found.played_gain.value is not None]
        return math.fsum(math.log1p(value) for value in known) / len(known) if known else -math.inf


@dataclass(frozen=True, slots=True)
class Advice:
    """Whether a proxy pays on a path, at `asked` if a place was asked about, and where it would be best.

    `otherwise` is the answer for another path that what is known fits as well. `capture` has the estimated rate of the
    link (`link`) and the calibration (`calibration`), where the path is that of a capture.
    """

    whole: Terms
    rtt_s: float
    places: tuple[At, ...]
    asked: str | None
    notes: tuple[str, ...]
    otherwise: Advice | None = None
    capture: Mapping[str, Any] | None = None

    @property
    def uncertain(self) -> bool:
        """Whether the other path that fits as well has another answer."""
        return self.otherwise is not None and self.otherwise.pays != self.pays

    @property
    def link_uncertain(self) -> bool:
        """Whether the rate of the link was estimated from a capture and is not certain."""
        link = None if self.capture is None else self.capture["link"]
        return link is not None and link["estimated"] and not link["certain"]

    @property
    def best(self) -> At:
        """Where downloads gain most."""
        return max(self.places, key=lambda at: at.score)

    @property
    def shown(self) -> At:
        """The place that was asked about, or else the best."""
        return next((at for at in self.places if at.place.name == self.asked), self.best)

    @property
    def pays(self) -> bool:
        """Whether some download gains more than nothing there, for sure, and none is as much slower."""
        return any(found.gains for found in self.shown.downloads) and not self.harms

    @property
    def harms(self) -> bool:
        """Whether some download is slower there, for sure, by as much as would be a gain."""
        return any(found.loses for found in self.shown.downloads)

    def to_json(self) -> dict[str, Any]:
        """What ``ackclock advise split --json`` prints."""
        return {
            "pays": self.pays,
            "refused": None,
            "harms": self.harms,
            "uncertain": self.uncertain or self.link_uncertain,
            "place": self.shown.place.name,
            "best": self.best.place.name,
            "rtt_s": self.rtt_s,
            "whole_bps": _finite(self.whole),
            "places": [_place(at) for at in self.places],
            "notes": list(self.notes),
            **(self.capture or {}),
        }


def advise(
    case: Case, sizes: Sequence[int] = SIZES, *, replications: int | None = None, jobs: int | None = None
) -> Advice:
    """Whether a proxy pays: by the model, and by runs of the simulator (``replications`` where something is random)."""
    result = run(case.plan(sizes, replications or (REPLICATIONS if case.random else 1)), jobs=jobs, progress=_quiet)
    places = tuple(_at(case, place, sizes, result) for place in case.places)
    advice = Advice(bounds(case.whole), case.whole.rtt, places, case.asked, case.notes)
    notes = (*case.notes, *_notes(case, advice, result))
    other = None if case.otherwise is None else advise(case.otherwise, sizes, replications=replications, jobs=jobs)
    return Advice(advice.whole, advice.rtt_s, places, case.asked, notes, other)


def _at(case: Case, place: Place, sizes: Sequence[int], result: Result) -> At:
    held = result.measures.filter((pl.col("name") == _MOST_BUFFERED) & (pl.col("value") > 0))
    if held.height:
        of = result.runs.filter(pl.col("relay") == place.relay)["run"]
        held = held.filter(pl.col("run").is_in(of.implode()))
    most = held["value"].max() if held.height else None
    return At(
        place,
        each(place, case.buffer),
        tuple(_download(case, place, size, _times(result, sizes, size)) for size in sizes),
        place.buffer_needed,
        None if most is None else float(str(most)),
    )


def _times(result: Result, sizes: Sequence[int], size: int) -> dict[str, dict[int, float]]:
    """Of each relay the seconds of a download by replication."""
    own = result.transfers.filter(pl.col("fct_s").is_not_null())
    if len(sizes) > 1:
        wanted = SIZE.format(size)
        own = own.filter(pl.col("app.size").map_elements(lambda text: SIZE.format(SIZE.parse(text)) == wanted,
                                                         return_dtype=pl.Boolean))  # fmt: skip
    found: dict[str, dict[int, float]] = {}
    for relay, replication, seconds in own.select("relay", "replication", "fct_s").iter_rows():
        found.setdefault(relay, {})[replication] = seconds
    return found


def _download(case: Case, place: Place, size: int, times: Mapping[str, Mapping[int, float]]) -> Download:
    off, on = times.get(NO_RELAY, {}), times.get(place.relay, {})
    pairs = [(off[number], on[number]) for number in off if number in on]
    ratio = ratio_interval(pairs)
    low, value, high = (None if end is None else end - 1 for end in (ratio.low, ratio.value, ratio.high))
    source, sink = place.source, place.sink
    window = case.whole.window
    return Download(
        size,
        split.download_time(size, case.whole),
        split.split_download_time(size, source, sink, case.buffer, case.opening),
        split.limited_by(size, source, sink, case.buffer, window=window, opening=case.opening),
        ratio_interval((seconds, 1.0) for seconds in off.values()),
        ratio_interval((seconds, 1.0) for seconds in on.values()),
        Interval(value, low, high, ratio.n),
    )


def _notes(case: Case, advice: Advice, result: Result) -> list[str]:
    """What weakens the answer."""
    notes = [*result.warnings]
    if case.whole.loss > _LOSSY:
        notes.append(f"{100 * case.whole.loss:.2g} % of the packets are lost: the model knows no timeouts, so that its "
                     "times are too short")  # fmt: skip
    if case.buffer < (needed := advice.shown.buffer_needed) < math.inf:
        notes.append(f"the buffer asked about, {case.buffer / 1e6:.3g} MB, is less than the {needed / 1e6:.3g} MB that "
                     "limit nothing")  # fmt: skip
    for same in zip(*(at.downloads for at in advice.places), strict=True):
        size = SIZE.format(same[0].size)
        if (off_by := max(found.off_by for found in same)) > NEAR:
            notes.append(
                f"{size}: the model's times are up to {100 * off_by:.0f} % from those of the runs; believe the runs"
            )
        if any(found.played_gain.value is None for found in same):
            notes.append(f"{size}: not finished in all runs")
    return notes


def _beyond(model: float, found: Interval) -> float:
    if found.value is None or (found.low is not None and found.high is not None and found.low <= model <= found.high):
        return 0.0
    return abs(model / found.value - 1)


def _finite(terms: Terms) -> dict[str, float]:
    return {name: value for name, value in terms.items() if value < math.inf}


def _place(at: At) -> dict[str, Any]:
    return {
        "name": at.place.name,
        "rtt_s": [at.place.source.rtt, at.place.sink.rtt],
        "bounds_bps": _finite(at.terms),
        "buffer_needed_bytes": at.buffer_needed if at.buffer_needed < math.inf else None,
        "most_buffered_bytes": at.most_buffered,
        "downloads": [
            {
                "bytes": found.size,
                "by": found.by,
                "model": {"off_s": found.off_s, "on_s": found.on_s, "gain": found.gain},
                "runs": {
                    "off_s": found.played_off_s.value,
                    "on_s": found.played_on_s.value,
                    "gain": found.played_gain.value,
                    "low": found.played_gain.low,
                    "high": found.played_gain.high,
                    "n": found.played_gain.n,
                },
            }
            for found in at.downloads
        ],
    }


def _quiet(_finished: int, _all: int) -> None:
    pass
