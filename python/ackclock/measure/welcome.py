"""What a server says of itself before a test, which each test keeps."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, ValidationError

from ackclock.measure.frames import Message, ProtocolError
from ackclock.scenario.values.base import Model

Word = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x08\x0a-\x1f\x7f-\x9f]*$")]
"""Without control characters but tabulators, which are between the numbers of some sysctls."""


class Welcome(Model):
    """Its kernel and caps; and how the computer is set, which older servers do not say: ``None``.

    What else it says is not kept: a newer server may say more.
    """

    model_config = ConfigDict(extra="ignore")

    kernel: Word
    cc: Annotated[list[Word], Field(max_length=100)]
    """The controllers that it may choose."""
    rate: int | None
    """The most that its tests send or take, bit/s."""
    bytes: int | None
    """The most that a test may have."""
    default_cc: Word | None = None
    default_qdisc: Word | None = None
    speed_mbit: int | None = None
    mtu: int | None = None
    """In bytes, as `speed_mbit` of the interface that the client comes by."""
    sysctl: Annotated[dict[Word, Word], Field(max_length=500)] | None = None
    """Every ``net.ipv4.tcp_*`` but the secret one."""
    load: Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], Field(max_length=3)] | None = None
    """Of 1, 5 and 15 minutes."""


def heard(message: Message) -> Welcome:
    """What of a server's message is kept. Raises :class:`ProtocolError`."""
    try:
        return Welcome.model_validate(message)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ProtocolError(f"the server says of itself what cannot be: {key}: {first['msg']}") from None
