"""Statistics of runs: intervals, comparisons, equivalence, censored times, warm-up (docs/statistics.md).

scipy does most of the work; what it needs of time to load is paid by the first function that needs it.
"""

from __future__ import annotations

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
