"""What a command's exit says to a shell."""

from __future__ import annotations

OK = 0
"""Everything was done, and every claim that was judged held."""
FAILED = 1
"""Something was done, and it failed: a run, a check."""
BAD_INPUT = 2
"""What was given cannot be used; nothing was done."""
FINDING = 3
"""Everything was done, and a claim of a paper is refuted or open: a finding, not a crash."""
INTERRUPTED = 130
"""Ctrl-C: 128 and the number of SIGINT, as shells count."""
