"""Metrics of finished runs beyond the columns of their tables; docs/metrics.md defines each.

The functions take plain numbers and arrays; :func:`of` computes everything that a result has the data for.

Names are loaded when first used: most of those who use one need no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "friendliness": "ackclock.metrics.fairness",
    "harm": "ackclock.metrics.fairness",
    "loss_events": "ackclock.metrics.losses",
    "max_min_index": "ackclock.metrics.fairness",
    "max_min_shares": "ackclock.metrics.fairness",
    "of": "ackclock.metrics.table",
    "proportional_fairness": "ackclock.metrics.fairness",
    "rate_over": "ackclock.metrics.rates",
    "rtt_fairness_exponent": "ackclock.metrics.fairness",
    "settle_time": "ackclock.metrics.rates",
    "smoothness": "ackclock.metrics.rates",
    "start_up_rate": "ackclock.metrics.rates",
    "synchronisation": "ackclock.metrics.losses",
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
