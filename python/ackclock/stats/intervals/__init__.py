"""A value and how well it is known: means, medians, ratios, times that were not reached in every run."""
