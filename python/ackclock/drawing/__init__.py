"""Figures from saved results: they need a :class:`ackclock.Result` and nothing else."""
