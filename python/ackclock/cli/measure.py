"""``ackclock measure``: the server's command, and what it says."""

from __future__ import annotations

import contextlib
import ipaddress
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock.cli import console
from ackclock.cli.exit_codes import OK
from ackclock.errors import InputError, Problem
from ackclock.measure import secret
from ackclock.measure.server import Network, Server, Settings
from ackclock.measure.session import Terms
from ackclock.scenario.values import units


@dataclass(frozen=True, slots=True)
class Serving:
    """What was asked for on the command line; the caps as they were written."""

    bind: str
    port: int
    allow: Sequence[str]
    token: Path | None
    clients: int
    rate: str | None
    bytes_of_test: str | None
    bytes_in_all: str | None
    expire: str | None


def serve(asked: Serving) -> int:
    """Serve until the time is up, Ctrl-C, or SIGTERM: either is a way to end it, and no failure."""
    terms = Terms(
        quantity(units.RATE, asked.rate, "--max-rate"),
        quantity(units.SIZE, asked.bytes_of_test, "--max-bytes"),
        quantity(units.SIZE, asked.bytes_in_all, "--max-total"),
    )
    expire = quantity(units.DURATION, asked.expire, "--expire")
    token = None if asked.token is None else secret.read(asked.token)
    allow = tuple(_network(text) for text in asked.allow)
    seconds = None if expire is None else expire / 1e9
    server = Server(Settings(asked.bind, asked.port, allow, token, asked.clients, seconds, terms))
    whom = "with the token" if token is not None else "from the networks allowed" if allow else "of this computer"
    if terms.rate is not None and asked.clients > 1:
        each = f"{(server.terms.rate or 0) / 1e6:.3g} Mbit/s"
        console.say(console.stdout(), f"each of {asked.clients} clients at a time has at most {each}")
    with _terminated(server.stop) as ended:
        try:
            console.say(console.stdout(), f"serving {asked.bind} port {server.port} to clients {whom}; Ctrl-C ends it")
            sys.stdout.flush()
            server.run()
        except KeyboardInterrupt:
            return OK
    if not ended:
        console.say(console.stdout(), "the time is up")
    return OK


@contextlib.contextmanager
def _terminated(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Within it SIGTERM calls `stop`, and is listed."""
    found: list[int] = []

    def noted(number: int, _: object) -> None:
        found.append(number)
        stop()

    before = signal.signal(signal.SIGTERM, noted)
    try:
        yield found
    finally:
        signal.signal(signal.SIGTERM, before)


def quantity(kind: units.Quantity, text: str | None, key: str) -> int | None:
    """An option with a unit, in base units. Raises :class:`InputError`."""
    try:
        return None if text is None else kind.parse(text, zero=False)
    except Problem as problem:
        raise InputError(problem.problem, problem.remedy, key=key) from None


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InputError(f"{error}", "give one as 192.0.2.0/24 or 2001:db8::/32", key="--allow") from None
