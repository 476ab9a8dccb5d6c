"""Controllers written in Python: what they derive from, and how they are found by name."""
