"""What no single key shows: what cannot work, has no effect, or is the same run twice."""
