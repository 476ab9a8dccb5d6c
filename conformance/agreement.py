"""What a comparison with a reference is made of, for the tests and for docs/validation.md."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    """A difference that is understood: what causes it, and how large it gets."""

    mechanism: str
    bound: float
    """Largest relative difference it explains."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of ours beside its reference."""

    scenario: str
    algorithm: str
    metric: str
    ours: float
    reference: float
    difference: float
    """Relative to the reference."""
    tolerance: float
    """Largest relative difference that counts as agreement."""
    deviation: Deviation | None = None
    large: float | None = None
    """Where one is set: the relative difference beyond which there must be a deviation that explains it."""

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance."""
        return abs(self.difference) <= self.tolerance

    @property
    def explained(self) -> bool:
        """Whether it agrees or, where a deviation is known, differs by no more than that explains."""
        return self.agrees or (self.deviation is not None and abs(self.difference) <= self.deviation.bound)

    def __str__(self) -> str:
        """All of it, for the message of a failed test."""
        return (
            f"{self.scenario} {self.algorithm}, {self.metric}: {self.ours:.6g}, reference {self.reference:.6g}: "
            f"{self.difference:+.2%}, tolerance {self.tolerance:.2%}"
        )


def relative(ours: float, reference: float) -> float:
    """The difference relative to the reference; 0 if both are 0."""
    if ours == reference:
        return 0.0
    return ours / reference - 1 if reference else float("inf")


def figure(
    scenario: str,
    algorithm: str,
    metric: str,
    pair: tuple[float, float],
    tolerance: float,
    known: Deviation | None = None,
) -> Figure:
    """The figure of a pair (ours, reference)."""
    ours, reference = pair
    return Figure(scenario, algorithm, metric, ours, reference, relative(ours, reference), tolerance, known)
