"""From a text to points: sweeps, changes, and where in the file something is wrong."""
