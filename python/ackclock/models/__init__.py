"""Closed forms of the literature, as functions (docs/models.md)."""

from __future__ import annotations

from ackclock.models.parallel import CUTS, Cut, fluid_utilisation, parallel_utilisation

__all__ = ["CUTS", "Cut", "fluid_utilisation", "parallel_utilisation"]
