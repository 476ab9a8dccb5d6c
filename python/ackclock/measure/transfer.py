"""The data of a test at one end: many connections, sent or read in one loop, and what the kernel says of them."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock.files import reason
from ackclock.measure import tcp_info

BLOCK = 1 << 20
"""Bytes that are given to the kernel, or taken from it, at once."""

IDLE_NS = 10 * 10**9
"""A test in which nothing has moved for so long is over."""

_DRAIN_NS = 3 * 10**9
"""How long a sender goes on after its end for a receiver that has not closed: the ends begin a one-way delay apart."""
_BURST, _LEAST_BURST, _BURST_NS = 256 * 1024, 4096, 20_000_000
"""Bytes ahead of a capped rate at most, and at least; between them what it carries in so many ns."""
_LONGEST_PAUSE_NS = 50_000_000
_INFO = getattr(socket, "TCP_INFO", None)


@dataclass(slots=True)
class Connection:
    """A data connection, which carries data in one direction: whether this end sends, and what has passed.

    moved: payload in bytes, read by a receiver or given to the kernel by a sender. counted: of a receiver those read
    from the warm-up to the end.
    """

    sock: socket.socket
    sends: bool
    moved: int = 0
    counted: int = 0
    open: bool = True
    failed: str | None = None
    times: list[int] = field(default_factory=list)
    infos: list[bytes] = field(default_factory=list)
    so_far: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a test or slows it down: times in ns, `rate` in bit/s of all connections, `most` in bytes of them."""

    duration: int
    warmup: int
    interval: int
    rate: int | None = None
    most: int | None = None


_LITTLE, _ENOUGH, _GATHER_NS = 1 << 16, 1 << 18, 10**6
"""A reader that found less than little waits until there is enough, at most so long: each packet of a slow line would
wake it. Where it waits longer than that takes, a fast sender finds its buffer full."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it went at this end: when it began (monotonic ns, s since the epoch), and why it ended before its time."""

    begun: int
    begun_unix_s: float
    took: int
    cpu_s: float
    ended: str | None


class Gathering:
    """Whether a reader waits before it looks again. Times in ns."""

    def __init__(self, begun: int) -> None:
        self._since, self._moved, self._pause = begun, 0, _GATHER_NS

    def pause(self, now: int, moved: int, found: int) -> int:
        """For how long, after `found` bytes that make `moved` of the whole test."""
        took = now - self._since
        if took >= _GATHER_NS:
            self._pause = min(_GATHER_NS, _ENOUGH * took // max(1, moved - self._moved))
            self._since, self._moved = now, moved
        return self._pause if found < _LITTLE else 0


class Transfer:
    """One test at one end. :meth:`run` returns when every connection is done, or time or bytes are up."""

    def __init__(self, connections: Sequence[Connection], limits: Limits) -> None:
        self._all = connections
        self._limits = limits
        # Random bytes: what compresses on the way must not help.
        self._block = memoryview(os.urandom(BLOCK))
        self._sink = memoryview(bytearray(BLOCK))
        self._discard = socket.MSG_TRUNC if sys.platform == "linux" else 0
        self._moved = 0
        self._turn = -1
        self._burst = _BURST
        if limits.rate is not None:
            self._burst = min(_BURST, max(_LEAST_BURST, limits.rate * _BURST_NS // (8 * 10**9)))
        self._begun = self._next = self._last = 0
        self._ended: str | None = None

    def run(self) -> Outcome:
        """Send and read until it is over. Connections that break are marked, and the others go on."""
        cpu, unix = time.thread_time(), time.time()
        self._begun = self._next = self._last = time.monotonic_ns()
        poll = select.poll()
        of = {connection.sock.fileno(): connection for connection in self._all}
        for number, connection in of.items():
            connection.sock.setblocking(False)
            poll.register(number, select.POLLOUT if connection.sends else select.POLLIN)
        end = self._begun + self._limits.duration
        going, reads_only = True, not any(connection.sends for connection in self._all)
        gathering = Gathering(self._begun)
        while True:
            now = self._sampled(time.monotonic_ns()) if going else time.monotonic_ns()
            if going and (now >= end or self._ended is not None):
                going = False
                self._sample(now)
                self._next = end + _DRAIN_NS
                for number, connection in of.items():
                    if connection.open and connection.sends == (now < end):
                        poll.unregister(number)
                        self._close(connection)
            if self._over(now, end):
                break
            pause = self._ahead(now)
            if pause:
                time.sleep(min(pause, max(0, self._next - now), _LONGEST_PAUSE_NS) / 1e9)
                continue
            until, before = min(self._next, end) if going else self._next, self._moved
            for number in self._in_turn(poll.poll(max(0, (until - now) / 1e6))):
                self._move(of[number], end)
                self._turn = number
                if not of[number].open:
                    poll.unregister(number)
                if self._ended is not None or time.monotonic_ns() >= self._next or self._ahead(time.monotonic_ns()):
                    break
            now = time.monotonic_ns()
            pause = gathering.pause(now, self._moved, self._moved - before) if reads_only else 0
            if pause:
                time.sleep(min(pause, max(0, until - now)) / 1e9)
        if going:
            self._sample(time.monotonic_ns())
        for connection in self._all:
            self._close(connection)
        took = time.monotonic_ns() - self._begun
        return Outcome(self._begun, unix, took, time.thread_time() - cpu, self._ended)

    def _in_turn(self, ready: Sequence[tuple[int, int]]) -> list[int]:
        """Those that are ready, after the last one that moved: a capped rate is not all of the first one's."""
        return sorted((number for number, _ in ready), key=lambda number: (number <= self._turn, number))

    def _over(self, now: int, end: int) -> bool:
        if not any(connection.open for connection in self._all):
            return True
        if now - self._last > IDLE_NS:
            self._ended = f"nothing moved for {IDLE_NS // 10**9} s"
            return True
        receives_only = not any(connection.sends for connection in self._all)
        return now >= end + _DRAIN_NS or (self._ended is not None and receives_only)

    def _ahead(self, now: int) -> int:
        """For how long nothing may move, ns, so that the rate is kept."""
        if self._limits.rate is None:
            return 0
        due = (self._moved - self._burst) * 8 * 10**9 // self._limits.rate
        return max(0, due - (now - self._begun))

    def _move(self, connection: Connection, end: int) -> None:
        """Send or read once. A receiver closes about when a sender's time is over, which is no failure."""
        try:
            if connection.sends:
                size = connection.sock.send(self._room(self._block))
            else:
                size = connection.sock.recv_into(self._room(self._sink), 0, self._discard)
                if not size:
                    connection.open = False
                    return
        except BlockingIOError:
            return
        except OSError as error:
            connection.open = False
            if not connection.sends or time.monotonic_ns() < end - self._limits.duration // 10:
                connection.failed = reason(error)
            return
        now = time.monotonic_ns()
        connection.moved += size
        self._moved += size
        self._last = now
        if self._limits.most is not None and self._moved >= self._limits.most:
            self._ended = f"the {self._limits.most} bytes that are allowed are used up"
        if now <= end and now - self._begun > self._limits.warmup:
            connection.counted += size

    def _room(self, block: memoryview) -> memoryview:
        """As much of a block as the cap on bytes leaves."""
        most = self._limits.most
        if most is not None and most - self._moved < len(block):
            return block[: most - self._moved]
        if self._limits.rate is not None:
            return block[: self._burst]
        return block

    def _close(self, connection: Connection) -> None:
        """A receiver closes: what is still in the sender's buffer would cost time and volume and count nowhere.

        A sender that ends before its time lets go what it has.
        """
        connection.open = False
        with contextlib.suppress(OSError):
            if connection.sends:
                connection.sock.shutdown(socket.SHUT_WR)
            else:
                connection.sock.close()

    def _sampled(self, now: int) -> int:
        """Take a sample if one is due. The schedule does not drift: what is late does not delay the next one."""
        if now < self._next:
            return now
        self._sample(now)
        interval = self._limits.interval
        self._next += (1 + (now - self._next) // interval) * interval
        return time.monotonic_ns()

    def _sample(self, now: int) -> None:
        for connection in self._all:
            raw = b""
            if _INFO is not None:
                with contextlib.suppress(OSError):
                    raw = connection.sock.getsockopt(socket.IPPROTO_TCP, _INFO, tcp_info.SIZE)
            connection.times.append(now - self._begun)
            connection.infos.append(raw)
            connection.so_far.append(connection.moved)


def report(connection: Connection) -> dict[str, Any]:
    """What is to be kept of a connection at this end; times of samples in ns from the begin."""
    return {
        "sends": connection.sends,
        "moved": connection.moved,
        "counted": connection.counted,
        "failed": connection.failed,
        "time_ns": connection.times,
        "so_far": connection.so_far,
        "fields": tcp_info.columns(connection.infos),
    }
