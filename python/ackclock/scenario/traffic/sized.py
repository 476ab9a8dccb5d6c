"""A flow's `bytes`, which only some applications have a use for."""

from __future__ import annotations

from ackclock.errors import Problem


def no_bytes(size: int | None, kind: str) -> None:
    """Raise :class:`Problem` if a flow with an application of this kind was given bytes of its own."""
    if size is not None:
        raise Problem(f"a flow with app '{kind}' has no bytes of its own", "remove bytes", "bytes")
