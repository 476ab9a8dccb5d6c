"""From finished runs and their plan to a result: labels, tables and manifest."""
