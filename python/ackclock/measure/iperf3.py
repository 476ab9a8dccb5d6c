"""A test by the installed iperf3 in place of our own data plane: to compare with those of others (docs/measure.md)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

from ackclock.errors import Problem
from ackclock.measure import context
from ackclock.measure.asked import Asked
from ackclock.measure.client import Address, MeasureError, RefusedError
from ackclock.measure.imports.iperf3 import of_document
from ackclock.measure.imports.measured import Test
from ackclock.measure.sockets import Options

TOOL = "iperf3"
PORT = 5201
"""Where its servers listen."""

_KNOWN = {"cc", "mss", "nodelay", "pacing", "tos"}
_S = 10**9
_LEAST_NS = 10**8
_PATIENCE_S = 30.0
"""Seconds that a test may take longer than it should: for connecting, and what its two ends tell each other."""


def check(asked: Asked) -> None:
    """Refuse what iperf3 cannot be asked for. Raises :class:`Problem`."""
    for name in Options.model_fields:
        if name not in _KNOWN and getattr(asked.options, name):
            raise Problem("iperf3 has no such option for both ends", f"leave {name} out", name)
    for name, value in (("duration", asked.duration_ns), ("warmup", asked.warmup_ns)):
        if value % _S:
            raise Problem("iperf3 takes whole seconds", "write 10 s", name)
    if asked.interval_ns < _LEAST_NS:
        raise Problem("iperf3 tells at most ten times a second", "write 100 ms", "interval")


def command(address: Address, port: int, asked: Asked) -> list[str]:
    """What is run. iperf3's time comes after the seconds it omits, ours has them."""
    options = asked.options
    found = ["iperf3", "--json", "--get-server-output", "-c", address.host, "-p", str(port)]
    found += ["-P", str(asked.connections), "-t", str((asked.duration_ns - asked.warmup_ns) // _S)]
    found += ["-i", f"{asked.interval_ns / _S:g}"]
    found += ["-O", str(asked.warmup_ns // _S)] if asked.warmup_ns else []
    found += {"down": ["-R"], "both": ["--bidir"], "up": []}[asked.direction]
    found += ["-C", options.cc] if options.cc else []
    found += ["-M", str(options.mss)] if options.mss else []
    found += ["-N"] if options.nodelay else []
    found += ["-b", str(options.pacing)] if options.pacing else []
    found += ["-S", str(options.tos)] if options.tos else []
    found += ["--bind-dev", address.device] if address.device else []
    return found


def installed() -> bool:
    """Whether this computer has it."""
    return shutil.which("iperf3") is not None


def measure(address: Address, port: int, asked: Asked, *, keep_addresses: bool = False) -> dict[str, Any]:
    """Make a test; what a campaign keeps of it: addresses as those of its context, and no names of computers.

    Raises :class:`MeasureError` if it did not come about or broke, :class:`RefusedError` where iperf3 is not installed.
    """
    if not installed():
        raise RefusedError("iperf3 is not installed here: apt-get install iperf3, or leave tool out")
    run = command(address, port, asked)
    try:
        done = subprocess.run(
            run, capture_output=True, text=True, timeout=asked.duration_ns / _S + _PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise MeasureError(f"iperf3 to {address.host} port {port} did not end") from None
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = {"error": done.stderr.strip() or f"it ended with exit code {done.returncode}"}
    found = {"tool": TOOL, "asked": asked.model_dump(), "document": _nameless(document, keep=keep_addresses)}
    test = of(found)
    if test.problem is not None:
        raise MeasureError(f"{address.host} port {port}: {test.problem}")
    return found


_HOSTS = ("host", "local_host", "remote_host")
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]{3,}")
_NAMED = re.compile(r"^(\S+) \S+")
"""What iperf3 says of its system: that of ``uname -a``, whose second word is the computer's name."""


def _nameless(told: Any, *, keep: bool) -> Any:
    """What iperf3 says, without whose it was. A server says which public address its client had."""
    if isinstance(told, list):
        return [_nameless(each, keep=keep) for each in told]
    if not isinstance(told, dict):
        return told
    found = {}
    for key, value in told.items():
        if key == "system_info":
            found[key] = _NAMED.sub(r"\1", str(value))
        elif isinstance(value, str) and (key in _HOSTS or key == "server_output_text"):
            found[key] = _ADDRESS.sub(lambda text: _shown(text[0], keep=keep), value)
        else:
            found[key] = _nameless(value, keep=keep)
    return found


def _shown(text: str, *, keep: bool) -> str:
    try:
        return context.shown(text, keep=keep)
    except ValueError:  # a number of something else, or a name
        return text


def made(found: dict[str, Any] | None) -> bool:
    """Whether a test was made by iperf3."""
    return found is not None and found.get("tool") == TOOL


def of(found: dict[str, Any]) -> Test:
    """What a test came to."""
    return of_document(TOOL, found["document"])


def cpu_s(found: dict[str, Any]) -> tuple[float | None, float | None]:
    """Processor time of client and server: iperf3 tells percents of the time that it ran."""
    told = found["document"]["end"].get("cpu_utilization_percent", {})
    seconds = found["asked"]["duration_ns"] / _S
    ends = (told.get("host_total"), told.get("remote_total"))
    client, server = (None if value is None else float(value) / 100 * seconds for value in ends)
    return client, server
