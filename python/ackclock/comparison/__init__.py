"""Comparing results: which metrics differ, by how much, and which are shown to be the same (docs/compare.md)."""
