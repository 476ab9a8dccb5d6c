"""The proxy that splits TCP connections: a program of its own (``crates/ackclock-proxy``), and how it is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from ackclock import programs
from ackclock.errors import EngineError, one_line

PROGRAM = "ackclock-proxy"
"""The name of the program."""

RULES = (
    "nft add table inet ackclock",
    "nft 'add chain inet ackclock divert { type filter hook prerouting priority mangle; }'",
    "nft add rule inet ackclock divert meta l4proto tcp socket transparent 1 meta mark set 1 accept",
    'nft add rule inet ackclock divert iifname "eth1" ip protocol tcp tcp dport 80 tproxy ip to :3128 meta mark set 1',
    "ip rule add fwmark 1 lookup 100",
    "ip route add local default dev lo table 100",
)
"""What leads connections to a transparent proxy that listens at port 3128: those to port 80 that come in at eth1."""

_DOCUMENT = 60_000
"""Bytes that a pipe takes before anybody reads (pipe(7))."""


def program() -> str:
    """Where the program is. Raises :class:`EngineError` where there is none."""
    return programs.found(PROGRAM, "proxy", "it is made for Linux, and this is {}")


def become(document: Mapping[str, Any]) -> NoReturn:
    """Become the proxy that a document (docs/proxy.md) describes: this process is the program from here on.

    What stops a service then reaches the program itself, and no interpreter lies beside it. Raises
    :class:`EngineError` where that cannot be.
    """
    text = json.dumps(dict(document)).encode()
    if len(text) > _DOCUMENT:
        raise EngineError(f"proxy: options of {len(text)} bytes are too many, at most {_DOCUMENT}")
    path = program()
    read, write = os.pipe()
    os.write(write, text)
    os.close(write)
    os.dup2(read, 0)
    os.close(read)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(path, [PROGRAM, "run", "-"])  # noqa: S606


def probe() -> Mapping[str, Any]:
    """What the program finds that this computer can do. Raises :class:`EngineError`."""
    try:
        done = subprocess.run([program(), "probe"], capture_output=True, text=True, timeout=10, check=True)
        found: Mapping[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise EngineError(one_line(f"proxy: {PROGRAM} cannot say what this computer can do: {error}")) from error
    return found
