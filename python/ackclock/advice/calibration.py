"""Calibration: the transfer of a capture is predicted on the path that the capture shows, before any advice.

A path that cannot reproduce the transfer in the file is no ground for advice about others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import stdev
from typing import Any

import polars as pl

from ackclock.advice.path import Path
from ackclock.errors import AckclockError
from ackclock.results.result import Result
from ackclock.scenario.plan import load
from ackclock.scenario.traffic.route import NO_RELAY
from ackclock.sweeps.run import run

TOLERANCE = 0.25
"""How far a predicted time or mean round trip may be from the observed one, as a share.

Where losses are random, the standard deviation of the runs' times is added to it.
"""
RETRANSMITTED = 0.03
"""How far the predicted share of retransmitted segments may be from the observed one."""
CONTROLLERS = ("cubic", "reno", "bbr1", "bbr3")
"""What a sender may run, if nobody says it."""
RECOGNISED, CLEARLY = 0.5, 2.0
"""A controller is recognised if it is off by the first at most, in tolerances, and each other by the second at least.

Captures of kernels that run others (Scalable, Vegas) or lose more fit one of the four by chance otherwise.
"""
REPLICATIONS = 10
"""Of a path with random losses."""


class RefusedError(AckclockError):
    """No advice: the file contradicts the path that would be its ground. ``problem`` and ``remedy`` are one line."""

    def __init__(self, problem: str, remedy: str, fits: Sequence[Fit] = ()) -> None:
        super().__init__(f"no advice: {problem}; {remedy}")
        self.problem, self.remedy, self.fits = problem, remedy, tuple(fits)

    def to_json(self) -> dict[str, Any]:
        """What ``ackclock advise split --json`` prints in place of advice."""
        return {
            "pays": None,
            "refused": {
                "problem": self.problem,
                "remedy": self.remedy,
                "calibration": [fit.to_json() for fit in self.fits],
            },
        }


@dataclass(frozen=True, slots=True)
class Transfer:
    """The transfer in a file: bytes; seconds from its first data to the last that arrived or was acknowledged.

    `beyond` is the round trip between the place of the capture and the receiver. Mean round trip, s, over the least,
    and share of retransmitted segments are None where the place does not show them.
    """

    size: int
    seconds: float
    beyond: float
    rtt_growth: float | None
    retransmitted: float | None


@dataclass(frozen=True, slots=True)
class Fit:
    """A prediction of the observed transfer with a controller."""

    cc: str
    observed_s: float
    predicted_s: float
    off_by: float

    @property
    def fits(self) -> bool:
        """Whether time, round trips and retransmissions are all within tolerance."""
        return self.off_by <= 1

    def to_json(self) -> dict[str, Any]:
        """An entry of the field ``calibration``; ``off_by`` is in tolerances."""
        off_by = self.off_by if self.off_by < math.inf else None
        predicted = self.predicted_s if self.predicted_s < math.inf else None
        return {"cc": self.cc, "observed_s": self.observed_s, "predicted_s": predicted, "off_by": off_by,
                "fits": self.fits}  # fmt: skip


def measure(result: Result, row: Mapping[str, Any], rtt: float) -> Transfer:
    """The transfer of a connection as the capture saw it; `rtt` is that of the whole path, s."""
    own = result.series.filter(pl.col("id") == row["id"])
    sent = own.filter(pl.col("metric") == "sent")["time_s"]
    done = own.filter(pl.col("metric") == "delivered")["time_s"]
    seconds = 0.0 if sent.is_empty() or done.is_empty() else float(str(done.max())) - float(str(sent.min()))
    at_receiver = row["vantage"] == "receiver"
    beyond = 0.0 if at_receiver else min(rtt, float(row["min_rtt_s"] or row["handshake_rtt_s"] or 0.0))
    before = rtt - beyond
    growth = None if at_receiver or not row["mean_rtt_s"] else (float(row["mean_rtt_s"]) + before) / rtt
    sent_segments = row["sent_segments"] or 0
    again = None if at_receiver or not sent_segments else (row["retransmitted_segments"] or 0) / sent_segments
    return Transfer(int(row["goodput_bytes"]), seconds, beyond, growth, again)


def calibrate(path: Path, transfer: Transfer, cc: str | None = None) -> list[Fit]:
    """Predict the transfer with a controller, or with each of :data:`CONTROLLERS`; the nearest first."""
    return sorted((_fit(path, transfer, name) for name in ((cc,) if cc else CONTROLLERS)), key=lambda fit: fit.off_by)


def choose(fits: Sequence[Fit], asked: str | None, *, at_receiver: bool) -> Fit:
    """The controller to predict with. Raises :class:`RefusedError` if none fits, or several do."""
    if at_receiver and not asked:
        problem = "the capture was taken at the receiver, so the sender's controller cannot be recognised"
        raise RefusedError(problem, "give --cc", fits)
    best = fits[0]
    off = f"the transfer in the file took {best.observed_s:.3g} s, and the estimated path"
    if not best.fits:
        guess = "" if asked else " at best"
        predicted = "does not finish it" if math.isinf(best.predicted_s) else f"predicts {best.predicted_s:.3g} s"
        raise RefusedError(
            f"{off} {predicted} with {best.cc}{guess}, off by {best.off_by:.2g} times the tolerance of "
            f"{100 * TOLERANCE:.0f} % in time and round trips and {100 * RETRANSMITTED:.0f} % in retransmissions",
            "give --rate, --window, --queue or --cc as they are known, or a capture of one download without pauses",
            fits,
        )
    if asked:
        return best
    close = [fit.cc for fit in fits if fit.off_by < CLEARLY]
    if len(close) > 1 or best.off_by > RECOGNISED:
        raise RefusedError(
            f"the capture could be of {', '.join(close)}, so the sender's controller cannot be recognised",
            "give --cc",
            fits,
        )
    return best


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What remains of a path after calibration: its readings that reproduce the transfer, and how well."""

    path: Path
    otherwise: Path | None
    fits: tuple[Fit, ...]
    fit: Fit
    notes: tuple[str, ...]


def settle(path: Path, otherwise: Path | None, transfer: Transfer, cc: str | None, *, at_receiver: bool) -> Calibrated:
    """Calibrate the readings of a path against the transfer, and drop one that does not reproduce it.

    Raises :class:`RefusedError` if none does, or if the sender's controller is neither known nor recognised.
    """
    readings = [(each, calibrate(each, transfer, cc)) for each in (path, otherwise) if each is not None]
    kept = [(each, fits) for each, fits in readings if fits[0].fits] or [
        min(readings, key=lambda one: one[1][0].off_by)
    ]
    every = sorted((min(same, key=lambda fit: fit.off_by) for same in zip(*(_by_name(fits) for _, fits in kept),
                   strict=True)), key=lambda fit: fit.off_by)  # fmt: skip
    fit = choose(every, cc, at_receiver=at_receiver)
    notes = [f"calibrated: with {fit.cc} the path gives {fit.predicted_s:.3g} s for the transfer in the file, which "
             f"took {fit.observed_s:.3g} s"]  # fmt: skip
    if not cc:
        notes.append(
            f"of {', '.join(CONTROLLERS)} the transfer clearly fits {fit.cc} alone: the sender is taken to run it"
        )
    if len(kept) < len(readings):
        notes.append("the other reading of the losses does not reproduce the transfer, and is dropped")
    ways = [replace(each, cc=fit.cc) for each, _ in kept]
    return Calibrated(ways[0], ways[1] if len(ways) > 1 else None, tuple(every), fit, tuple(notes))


def _by_name(fits: Sequence[Fit]) -> list[Fit]:
    return sorted(fits, key=lambda fit: fit.cc)


def _fit(path: Path, transfer: Transfer, cc: str) -> Fit:
    document = path.scenario([max(transfer.size, 1)], REPLICATIONS if any(piece.loss for piece in path.pieces) else 1)
    flow = document["flows"][0]
    document["relays"], flow["relay"], flow["cc"] = [], NO_RELAY, cc
    result = run(load(document), jobs=1, progress=_quiet)
    times = result.transfers["fct_s"].to_list()
    if not times or any(time is None for time in times):
        return Fit(cc, transfer.seconds, math.inf, math.inf)
    # Handshake, request and the way of the first byte come before the first data at the receiver.
    spans = [max(time - 2 * path.rtt + transfer.beyond, 1e-6) for time in times]
    logs = [math.log(span) for span in spans]
    mean_log = math.fsum(logs) / len(logs)
    predicted, spread = math.exp(mean_log), stdev(logs) if len(logs) > 1 else 0.0
    rows = result.flows
    off = [abs(math.log(predicted / max(transfer.seconds, 1e-6))) / (math.log1p(TOLERANCE) + spread)]
    if transfer.rtt_growth is not None and (mean := rows["mean_rtt_s"].mean()) is not None:
        off.append(abs(math.log(float(str(mean)) / path.rtt / transfer.rtt_growth)) / math.log1p(TOLERANCE))
    if transfer.retransmitted is not None and (sent := rows["sent_segments"].sum()):
        off.append(
            abs(float(rows["retransmitted_segments"].sum()) / float(sent) - transfer.retransmitted) / RETRANSMITTED
        )
    return Fit(cc, transfer.seconds, predicted, max(off))


def _quiet(_finished: int, _all: int) -> None:
    pass
