"""What the simulator wrote into a capture of what really happened, and whether an analysis says the same.

The comments are those of docs/captures.md; the analysis never reads them.
"""
