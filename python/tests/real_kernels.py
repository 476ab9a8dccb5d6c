"""What tests of the computer's own kernel share: a path, and whether there can be hosts."""

from __future__ import annotations

from typing import Any

import pytest

from ackclock import kernel


def path(rate: str) -> dict[str, Any]:
    """A dumbbell with a round trip of 40 ms and a queue of one BDP."""
    return {"kind": "dumbbell", "rate": rate, "rtt": "40 ms", "queue": {"kind": "droptail", "limit": "1 BDP"}}


def fail_without_hosts() -> None:
    """Where nothing can be tested, say so."""
    found = kernel.probe()
    if not all(found["hosts"]):
        pytest.fail(f"this computer cannot make hosts, so that nothing here is tested: {found['problems']}")
