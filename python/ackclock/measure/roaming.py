"""Whether the line of a block is still the one that it began on: looked at again and again, and never during a test."""

from __future__ import annotations

from ackclock.errors import AckclockError
from ackclock.measure import context


class AnotherLineError(AckclockError):
    """The line is another one now."""


class Watch:
    """A line from its first look on.

    A line over which there is no way to the server now is away, and not another one: it may come back as it was.
    """

    def __init__(self, host: str, device: str | None, salt: bytes) -> None:
        self._of = (host, device, salt)
        self._began: tuple[str | None, ...] | None = None
        self.look()

    def look(self, meanwhile: str | None = None) -> None:
        """Compare it with what it was; `meanwhile` is what was measured since the last look, if anything.

        Raises :class:`AnotherLineError`.
        """
        now = context.identity(*self._of)
        if now[0] is None:
            return
        if self._began is None:
            self._began = now
        if now != self._began:
            words = "the line is another one now (address, interface, route or network): the block ends here"
            again = f"; what was measured meanwhile ({meanwhile}) is of neither line, and is made again"
            raise AnotherLineError(words if meanwhile is None else words + again)
