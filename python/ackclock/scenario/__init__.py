"""Scenarios: what a user writes, checked and compiled to resolved runs."""
