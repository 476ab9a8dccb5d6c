"""Statistics of runs: intervals, comparisons, equivalence, censored times, warm-up (docs/statistics.md).

scipy does most of the work; what it needs of time to load is paid by the first function that needs it.

Names are loaded when first used: most of those who use one need no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock.stats.fairness import jain, max_min_index, max_min_shares, proportional_fairness
    from ackclock.stats.hypotheses.difference import Contrast, paired, unpaired
    from ackclock.stats.hypotheses.equivalence import tost, tost_relative
    from ackclock.stats.hypotheses.multiple import holm
    from ackclock.stats.intervals.bootstrap import bca_interval
    from ackclock.stats.intervals.censored import Times, kaplan_meier, median_time, typical_time
    from ackclock.stats.intervals.mean import Estimate, Interval, estimate, mean_interval, median_interval, t_quantile
    from ackclock.stats.intervals.ratio import ratio_interval
    from ackclock.stats.intervals.simultaneous import Pairwise, best_shares, pairwise
    from ackclock.stats.samples.percentiles import least, percentile
    from ackclock.stats.samples.ranks import kendall, spearman
    from ackclock.stats.samples.warmup import Truncation, after, mser

__all__ = [
    "Contrast",
    "Estimate",
    "Interval",
    "Pairwise",
    "Times",
    "Truncation",
    "after",
    "bca_interval",
    "best_shares",
    "estimate",
    "holm",
    "jain",
    "kaplan_meier",
    "kendall",
    "least",
    "max_min_index",
    "max_min_shares",
    "mean_interval",
    "median_interval",
    "median_time",
    "mser",
    "paired",
    "pairwise",
    "percentile",
    "proportional_fairness",
    "ratio_interval",
    "spearman",
    "t_quantile",
    "tost",
    "tost_relative",
    "typical_time",
    "unpaired",
]

_HOMES = {
    "Contrast": "ackclock.stats.hypotheses.difference",
    "Estimate": "ackclock.stats.intervals.mean",
    "Interval": "ackclock.stats.intervals.mean",
    "Pairwise": "ackclock.stats.intervals.simultaneous",
    "Times": "ackclock.stats.intervals.censored",
    "Truncation": "ackclock.stats.samples.warmup",
    "after": "ackclock.stats.samples.warmup",
    "bca_interval": "ackclock.stats.intervals.bootstrap",
    "best_shares": "ackclock.stats.intervals.simultaneous",
    "estimate": "ackclock.stats.intervals.mean",
    "holm": "ackclock.stats.hypotheses.multiple",
    "jain": "ackclock.stats.fairness",
    "kaplan_meier": "ackclock.stats.intervals.censored",
    "kendall": "ackclock.stats.samples.ranks",
    "least": "ackclock.stats.samples.percentiles",
    "max_min_index": "ackclock.stats.fairness",
    "max_min_shares": "ackclock.stats.fairness",
    "mean_interval": "ackclock.stats.intervals.mean",
    "median_interval": "ackclock.stats.intervals.mean",
    "median_time": "ackclock.stats.intervals.censored",
    "mser": "ackclock.stats.samples.warmup",
    "paired": "ackclock.stats.hypotheses.difference",
    "pairwise": "ackclock.stats.intervals.simultaneous",
    "percentile": "ackclock.stats.samples.percentiles",
    "proportional_fairness": "ackclock.stats.fairness",
    "ratio_interval": "ackclock.stats.intervals.ratio",
    "spearman": "ackclock.stats.samples.ranks",
    "t_quantile": "ackclock.stats.intervals.mean",
    "tost": "ackclock.stats.hypotheses.equivalence",
    "tost_relative": "ackclock.stats.hypotheses.equivalence",
    "typical_time": "ackclock.stats.intervals.censored",
    "unpaired": "ackclock.stats.hypotheses.difference",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
