"""Closed forms of the literature, as functions (docs/models.md)."""

from __future__ import annotations

from ackclock.models.parallel import (
    CUTS,
    Cut,
    cubic_fluid_utilisation,
    fitted_keep,
    fluid_utilisation,
    parallel_utilisation,
)

__all__ = ["CUTS", "Cut", "cubic_fluid_utilisation", "fitted_keep", "fluid_utilisation", "parallel_utilisation"]
