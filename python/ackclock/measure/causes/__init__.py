"""Why connections do not get more of a line: from the tables of a result to a verdict (docs/measure.md)."""
