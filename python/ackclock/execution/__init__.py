"""Carrying out a plan: how many at once, in which process, and within which memory."""
