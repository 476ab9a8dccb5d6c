"""Where finished runs are kept: the memory of this process, or a journal (:mod:`ackclock.execution.journal`)."""

from __future__ import annotations

from typing import Protocol

from ackclock.execution import batch
from ackclock.execution.index import Index


class Store(Protocol):
    """Batches of finished runs, and where each run is."""

    entries: Index

    def append(self, payload: bytes) -> batch.Header:
        """Keep a batch. Raises :class:`AckclockError` if it cannot be kept."""

    def payload(self, offset: int) -> bytes:
        """The batch that begins there."""


class InMemory:
    """Batches in memory, compressed as they are; one begins at its number."""

    def __init__(self) -> None:
        self.entries = Index()
        self._batches: list[bytes] = []

    def append(self, payload: bytes) -> batch.Header:
        """Keep a batch."""
        found = batch.header(payload)
        self.entries.enter_batch(found.runs, len(self._batches))
        self._batches.append(payload)
        return found

    def payload(self, offset: int) -> bytes:
        """The batch of that number."""
        return self._batches[offset]
