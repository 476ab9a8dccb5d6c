"""``ackclock doctor``: what this computer has, and what to do about what it lacks."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass

from ackclock import host, kernel, proxy
from ackclock.cli import console, pace
from ackclock.cli.exit_codes import FAILED, OK
from ackclock.engine import catalogue
from ackclock.errors import EngineError

_LIBRARIES = ("pydantic", "cyclopts", "rich", "polars", "duckdb", "numpy", "scipy", "matplotlib")
_EXTRAS = {
    "distributed": "pip install 'ackclock[cluster]' to use sweep --cluster",
    "gymnasium": "pip install 'ackclock[rl]' to use ackclock.gym",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. ``state`` is ok, missing (something will not work) or optional (it can be done without).

    ``commands`` are to be pasted into a shell, one after the other, to make use of it.
    """

    name: str
    state: str
    found: str
    remedy: str = ""
    commands: tuple[str, ...] = ()


def doctor(*, as_json: bool, measure: bool = False) -> int:
    """Print the checks; the exit code says whether everything necessary is there.

    measure: what the kernel plays in real time is measured as well, and kept for the warnings of runs to come.
    """
    measured = pace.measured() if measure else []
    checks = [_engine(), *_kernel(), *_virtual(), *_proxy(), *_python(), *_host(), *_tools()]
    ok = all(check.state != "missing" for check in checks)
    if as_json:
        answer = {"ok": ok, "checks": [asdict(check) for check in checks]}
        console.print_json(answer | ({"real_time": pace.as_json(measured)} if measured else {}))
    else:
        rows = [["", "state", "found", "what to do"]]
        rows.extend([check.name, check.state, check.found, check.remedy] for check in checks)
        out = console.stdout()
        out.print(console.table(rows, ["left"] * 4))
        for check in checks:
            if check.commands:
                out.print(f"\n{check.name}:", markup=False)
            for command in check.commands:  # as long as it is: what a table or a terminal's width breaks is no command
                out.print(command, soft_wrap=True, markup=False)
        if measured:
            pace.show(measured)
    return OK if ok else FAILED


def _engine() -> Check:
    try:
        known = catalogue()
    except EngineError as error:
        return Check("engine", "missing", str(error), "make build")
    found = f"{known.version}: {len(known.controllers)} controllers, {len(known.slow_starts)} slow starts"
    return Check("engine", "ok", found)


def _kernel() -> list[Check]:
    """Whether runs can be played on this computer's kernel, and how well."""
    try:
        found = kernel.probe()
    except EngineError as error:
        return [Check("engine kernel", "optional", "not there", str(error))]
    remedies = "; ".join(dict.fromkeys(found["problems"]))  # each address family may have the same
    if not found["hosts"][0]:
        return [Check("engine kernel", "optional", "cannot make hosts", remedies)]
    right = "as root" if found["right"] == "own" else "in user namespaces"
    versions = "IPv4 and IPv6" if found["hosts"][1] else "IPv4"
    text = f"{found['kernel']}: {', '.join(found['controllers'])}; {versions}, {right}"
    granted = found["granted"]
    late = "real-time priority, memory locked" if granted["real_time"] and granted["locked"] else "packets may be late"
    return [Check("engine kernel", "ok", text), Check("its clock", "optional" if remedies else "ok", late, remedies)]


def _virtual() -> list[Check]:
    """Whether runs can be played in virtual time: what begins such kernels, which there are, what builds them."""
    from ackclock.virtual import build, guest, kept

    forbidden = guest.forbidden()
    if forbidden is not None:
        first = Check("engine kernel-vt", "optional", "no guest can begin", forbidden)
    elif names := ", ".join(found.name for found in kept.all_of_them()):
        first = Check("engine kernel-vt", "ok", f"kernels: {names}")
    else:
        first = Check("engine kernel-vt", "optional", "no kernel is built", f"build one with: {kept.BUILD}")
    lacking = "; ".join(build.missing())
    tools = Check(
        "its builds", "optional" if lacking else "ok", "not possible" if lacking else "tools are there", lacking
    )
    return [first, tools]


def _proxy() -> list[Check]:
    """What ``ackclock proxy`` can do on this computer."""
    try:
        found = proxy.probe()
    except EngineError as error:
        return [Check("proxy", "optional", "not there", str(error))]
    pipe = found["pipe"]
    held = "payload is copied" if pipe is None else f"payload is spliced, {pipe >> 10} KiB a pipe"
    controllers = ", ".join(found["controllers"])
    checks = [Check("proxy", "ok", f"{controllers}; {held}; {found['descriptors']} descriptors")]
    if "Ok" in found["transparent"]:
        remedy = "lead connections to it: commands below"
        return [*checks, Check("proxy --transparent", "ok", "allowed", remedy, proxy.RULES)]
    remedy = f"run it as root or with CAP_NET_ADMIN ({found['transparent']['Err']}), after the commands below"
    return [*checks, Check("proxy --transparent", "optional", "not allowed", remedy, proxy.RULES)]


def _python() -> list[Check]:
    checks = [Check("python", "ok", platform.python_version())]
    for name in _LIBRARIES:
        try:
            checks.append(Check(name, "ok", importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            checks.append(Check(name, "missing", "not installed", "make build"))
    for name, remedy in _EXTRAS.items():
        try:
            checks.append(Check(name, "ok", importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            checks.append(Check(name, "optional", "not installed", remedy))
    return checks


def _host() -> list[Check]:
    available = host.available_memory()
    facts = host.facts()
    memory = "unknown" if available is None else f"{available / 1e9:.1f} GB free"
    return [
        Check("system", "ok", f"{facts['system']} {facts['kernel']} {facts['machine']}"),
        Check("processors", "ok", f"{host.cores()} ({facts['processor'] or 'unknown'})"),
        Check("memory", "ok" if available else "optional", memory, "" if available else "runs start unchecked"),
    ]


def _tools() -> list[Check]:
    return [
        _tool("cargo", ["cargo", "--version"], "install Rust 1.85 or later to build the engine"),
        _tool("make", ["make", "--version"], "install make to use the Makefile"),
        _ns2("install ns2 to compare with it in make bench"),
        _tool("ns-3", ["pkg-config", "--modversion", "libns3-dev"], "install ns3 to compare with it in make bench"),
    ]


def _tool(name: str, command: list[str], remedy: str) -> Check:
    if shutil.which(command[0]) is None:
        return Check(name, "optional", "not found", remedy)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return Check(name, "optional", "does not run", remedy)
    if done.returncode != 0 and name == "ns-3":
        return Check(name, "optional", "not found", remedy)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return Check(name, "ok", lines[0].strip() if lines else "found")


def _ns2(remedy: str) -> Check:
    """ns-2 cannot be asked for its version from the command line; being there must do."""
    found = shutil.which("ns")
    return Check("ns-2", "ok", found) if found else Check("ns-2", "optional", "not found", remedy)
