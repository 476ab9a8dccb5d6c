"""Measurements on real lines: two ends, what passes between them, and campaigns of many tests (docs/measure.md)."""
