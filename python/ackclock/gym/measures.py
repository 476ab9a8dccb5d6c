"""What happened between two decisions, as numbers or, of many simulations, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """One interval, complete, in seconds and payload bytes: arrays, with a number for each environment; with one number
    where there is one.

    A function of an interval that is written with numpy's operations serves both, and an agent in a scenario, which is
    told the same as :class:`ackclock.Interval`, with plain numbers.
    """

    at: Any
    """Its end."""
    span: Any
    """Its length."""
    delivered: Any
    """Bytes acknowledged within it, selectively or cumulatively."""
    lost: Any
    """Bytes declared lost."""
    sent: Any
    """Bytes that left, retransmissions included, as the balance of delivered, lost and in flight has it."""
    marked: Any
    """Bytes acknowledged that the network had marked (CE)."""
    acks: Any
    """Acknowledgments."""
    rtt: Any
    """Mean of the RTT samples; that of the last interval that had any where this has none, 0 before."""
    rtt_gradient: Any
    """Slope of the RTT samples over the times they were taken at, by least squares."""
    samples: Any
    """RTT samples."""
    srtt: Any
    """Smoothed RTT at its end."""
    min_rtt: Any
    """Smallest RTT sample of the connection."""
    max_rate: Any
    """Largest rate of delivery in any interval so far, bytes per second."""
    in_flight: Any
    """Bytes in flight at its end."""
    cwnd: Any
    """Congestion window at its end, bytes."""
    rate: Any
    """Pacing rate decided, bytes per second; 0: none."""
    mss: Any
    """Bytes of a full segment."""
    index: Any
    """Intervals before it."""

    @classmethod
    def of(cls, columns: Array) -> Interval:
        """From an array whose first axis is the fields."""
        return cls(*columns)


def share(part: Any, whole: Any) -> Any:
    """`part` / `whole`; 0 of nothing."""
    return np.where(np.asarray(whole) > 0, np.divide(part, np.maximum(whole, 1e-300)), 0.0)


def mean_rtt(i: Any) -> Any:
    """The mean RTT of an interval; the smoothed one while there were no samples."""
    return np.where(np.asarray(i.rtt) > 0, i.rtt, i.srtt)


def throughput(i: Any) -> Any:
    """Bytes acknowledged per second."""
    return share(i.delivered, i.span)
