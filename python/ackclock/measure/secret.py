"""The token that both ends know, and how each proves it without saying it (RFC 2104, FIPS 180-4)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import stat
from pathlib import Path

from ackclock.errors import InputError
from ackclock.files import reason

NONCE = 32
"""Bytes of a nonce. Both ends draw one for every connection, so that no proof is good for another one."""

SHORTEST = 16
"""Bytes of a token: what is shorter can be guessed."""

_LONGEST = 4096


def read(path: Path) -> bytes:
    """The token in a file, without white space around it. Raises :class:`InputError`."""
    try:
        mode = path.stat().st_mode
        with path.open("rb") as stream:
            token = stream.read(_LONGEST + 1).strip()
    except OSError as error:
        raise InputError(f"cannot be read ({reason(error)})", "give a file with a token", source=str(path)) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError("others may read the token", f"keep it to yourself: chmod 600 {path}", source=str(path))
    if not SHORTEST <= len(token) <= _LONGEST:
        remedy = f"make one of {SHORTEST} to {_LONGEST}, as with: openssl rand -hex 32"
        raise InputError(f"a token of {len(token)} bytes is no secret", remedy, source=str(path))
    return token


def nonce() -> bytes:
    """A fresh one."""
    return secrets.token_bytes(NONCE)


def proof(token: bytes, who: str, server: bytes, client: bytes) -> str:
    """What only an end with the token can say of these two nonces; `who` is ``client`` or ``server``."""
    said = b"ackclock measure, " + who.encode() + b"\0" + server + client
    return hmac.new(token, said, hashlib.sha256).hexdigest()


def proven(token: bytes, who: str, server: bytes, client: bytes, given: object) -> bool:
    """Whether `given` is that proof. Takes as long for a wrong one as for the right one."""
    return isinstance(given, str) and hmac.compare_digest(proof(token, who, server, client).encode(), given.encode())
