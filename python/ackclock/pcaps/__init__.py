"""Captures from anywhere: read, analysed, and kept like the results of every other engine."""
