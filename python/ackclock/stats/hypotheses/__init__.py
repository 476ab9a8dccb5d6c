"""Tests: whether there is a difference, whether it is shown to be small, and many tests at once."""
