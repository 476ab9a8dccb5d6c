"""Messages of the control connection: JSON objects, each behind its length in four bytes, most significant first."""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

from ackclock.files import reason

VERSION = 1
"""Of what the two ends say to each other. A server refuses every other one."""

CONTROL = b"ACKC"
"""What a control connection begins with."""

DATA = b"ACKD"
"""What a data connection begins with; the cookie of its test and its number follow."""

COOKIE = 32
"""Bytes of a cookie."""

ASKED = 16 * 1024
"""Bytes of a message that a server reads: more is not needed to ask for a test."""

ANSWERED = 1 << 20
"""Bytes of a message that a client reads."""

Message = dict[str, Any]

_LENGTH = struct.Struct("!I")


class ProtocolError(Exception):
    """The other end said what it must not, or nothing in time; the text says which."""


def pack(message: Message) -> bytes:
    """A message as it is sent."""
    text = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    return _LENGTH.pack(len(text)) + text


def unpack(text: bytes | bytearray) -> Message:
    """A message without its length. Raises :class:`ProtocolError`."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError("a message is not JSON") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a message is not an object with a type")
    return message


def split(buffer: bytearray, most: int) -> Message | None:
    """Take the first message off a buffer, if all of it is there. Raises :class:`ProtocolError`."""
    if len(buffer) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(buffer)
    if length > most:
        raise ProtocolError(f"a message of {length} bytes is too long: at most {most}")
    if len(buffer) < _LENGTH.size + length:
        return None
    text = buffer[_LENGTH.size : _LENGTH.size + length]
    del buffer[: _LENGTH.size + length]
    return unpack(text)


def send(sock: socket.socket, message: Message, seconds: float) -> None:
    """Send a message within a time. Raises :class:`ProtocolError`."""
    sock.settimeout(seconds)
    try:
        sock.sendall(pack(message))
    except OSError as error:
        raise ProtocolError(_gone(error)) from None


class Report:
    """Several messages in a row, which whoever reads them must not draw out: all of them have to be taken at a rate.

    seconds: what they may take besides. slowest: bytes per second. Each message alone could be read just in time.
    """

    def __init__(self, sock: socket.socket, seconds: float, slowest: float) -> None:
        self._sock = sock
        self._slowest = slowest
        self._until = time.monotonic() + seconds

    def send(self, message: Message) -> None:
        """Send the next one. Raises :class:`ProtocolError` when the time for all so far is over."""
        text = pack(message)
        self._until += len(text) / self._slowest
        try:
            self._sock.settimeout(max(_LEAST_S, self._until - time.monotonic()))
            self._sock.sendall(text)
        except OSError as error:
            raise ProtocolError(_gone(error)) from None


_LEAST_S = 1e-3
"""A time of 0 would ask not to wait at all."""


def receive(sock: socket.socket, most: int, seconds: float) -> Message:
    """The next message, all of which has to come within a time: a byte now and then does not prolong it.

    Raises :class:`ProtocolError`, if nothing more comes as well.
    """
    until = time.monotonic() + seconds
    (length,) = _LENGTH.unpack(_exactly(sock, _LENGTH.size, until))
    if length > most:
        raise ProtocolError(f"a message of {length} bytes is too long: at most {most}")
    return unpack(_exactly(sock, length, until))


def _exactly(sock: socket.socket, size: int, until: float) -> bytearray:
    found = bytearray()
    while len(found) < size:
        left = until - time.monotonic()
        if left <= 0:
            raise ProtocolError("the other end said nothing in time")
        sock.settimeout(left)
        try:
            part = sock.recv(min(size - len(found), 1 << 16))
        except OSError as error:
            raise ProtocolError(_gone(error)) from None
        if not part:
            raise ProtocolError("the other end has closed the connection")
        found += part
    return found


def _gone(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "the other end said nothing in time"
    return f"the connection is gone ({reason(error)})"
