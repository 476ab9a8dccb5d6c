"""Studies: published evaluations as scenarios, figures and claims that can be checked (docs/studies.md).

What the `claims.py` of a study needs is here, and :func:`load` and :func:`run` to use a study from Python.
"""

from __future__ import annotations

from ackclock.stats import Interval, mean_interval, median_interval, ratio_interval
from ackclock.study.code import Claim, Measure, claim, measure
from ackclock.study.kinds import clipped
from ackclock.study.locate import names
from ackclock.study.model import Study
from ackclock.study.runner import Report, load, run
from ackclock.study.runs import Results, Run, Runs, Series
from ackclock.study.times import Censored, Times
from ackclock.study.verdict import (
    Verdict,
    at_least,
    at_most,
    between,
    either,
    every,
    greatest,
    holds,
    labelled,
    least,
    valued,
    whichever,
    within,
)

__all__ = [
    "Censored",
    "Claim",
    "Interval",
    "Measure",
    "Report",
    "Results",
    "Run",
    "Runs",
    "Series",
    "Study",
    "Times",
    "Verdict",
    "at_least",
    "at_most",
    "between",
    "claim",
    "clipped",
    "either",
    "every",
    "greatest",
    "holds",
    "labelled",
    "least",
    "load",
    "mean_interval",
    "measure",
    "median_interval",
    "names",
    "ratio_interval",
    "run",
    "valued",
    "whichever",
    "within",
]
