"""Both ends of a line that is a scenario's path: ``python -m ackclock.measure.inside``, started behind it.

``serve`` is the server's end, ``serve PORT`` with one of iperf3 beside it at that port; ``play OUT BLOCK REPETITION
LINE (DIRECTION | POINT)...`` makes probes in these directions and tests of these points at the client's, and keeps them
in the journal of the campaign as they end.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ackclock.errors import AckclockError
from ackclock.measure import blocks, refusals, server
from ackclock.measure.client import Address, RefusedError
from ackclock.measure.journal import Journal

SERVER = "ACKCLOCK_SERVER"
"""Of the environment behind a path: the address of the server's end."""

CHANGED = 4
"""Exit code: the line became another one."""

REFUSED = 5
"""Exit code: the server does not want these tests, and standard error says why."""


def main(arguments: Sequence[str]) -> int:
    """What a command line says; its exit code."""
    kind, *rest = arguments
    address = os.environ[SERVER]
    if kind == "serve":
        around = ipaddress.ip_network(f"{address}/24", strict=False)
        with _iperf3(rest[0]) if rest else contextlib.nullcontext():
            server.Server(server.Settings(bind=address, allow=(around,))).run()
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it is the whole campaign's end, as Ctrl-C is
    out, number, repetition, line, *wanted = rest
    journal = Journal(Path(out))
    campaign = journal.campaign()
    points = [campaign.points[int(point)] for point in wanted if point.isdecimal()]
    probes = [probe for probe in campaign.probes(campaign.lines[int(line)]) if probe.asked.direction in wanted]
    job = blocks.Job(int(number), int(repetition), points, Address(address, server.PORT), None, probes)
    try:
        left = blocks.play(campaign, journal, job, _report)
    except RefusedError as refused:
        sys.stderr.write(f"ackclock: {refusals.explained(refused, campaign)}\n")
        return REFUSED
    except AckclockError as error:
        sys.stderr.write(f"ackclock: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return CHANGED if left else 0


@contextlib.contextmanager
def _iperf3(port: str) -> Iterator[None]:
    other = subprocess.Popen(["iperf3", "-s", "-J", "-p", port], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        other.terminate()
        other.wait()


def _report(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
