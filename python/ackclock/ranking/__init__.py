"""Ranking the candidates of a sweep: which is best by a goal, how sure that is, and what it costs (docs/rank.md)."""
