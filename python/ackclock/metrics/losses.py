"""When flows lose, and whether they lose together."""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.results.series import synchronisation

__all__ = ["loss_events", "synchronisation"]


def loss_events(times: Sequence[float], rtt: float) -> list[float]:
    """The begins of loss events: losses up to a round trip after the last begin belong to it (RFC 5348 §5.2)."""
    begins: list[float] = []
    for time in sorted(times):
        if not begins or time - begins[-1] > rtt:
            begins.append(time)
    return begins
