"""Metrics of finished runs beyond the columns of their tables; docs/metrics.md defines each.

The functions take plain numbers and arrays; :func:`of` computes everything that a result has the data for.
"""

from ackclock.metrics.fairness import (
    friendliness,
    harm,
    max_min_index,
    max_min_shares,
    proportional_fairness,
    rtt_fairness_exponent,
)
from ackclock.metrics.losses import loss_events, synchronisation
from ackclock.metrics.rates import rate_over, settle_time, smoothness, start_up_rate
from ackclock.metrics.table import of

__all__ = [
    "friendliness",
    "harm",
    "loss_events",
    "max_min_index",
    "max_min_shares",
    "of",
    "proportional_fairness",
    "rate_over",
    "rtt_fairness_exponent",
    "settle_time",
    "smoothness",
    "start_up_rate",
    "synchronisation",
]
