"""A run in a guest: a kernel that is a program, in virtual time, with a folder of its own for a file system."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import hashlib
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ackclock import kernel
from ackclock.errors import EngineError, InputError, one_line
from ackclock.grouping import count_flows
from ackclock.virtual import kept
from ackclock.virtual.kept import Kernel

START_NS = 1_700_000_000_000_000_000
"""The time of day in every guest at its begin: in November 2023."""
MEMORY, MORE_MEMORY = "768M", "1536M"
_MANY_FLOWS = 200
"""With more flows than so many a guest has the latter: the two hosts of a flow take 1.5 MB without their data."""
_NO_MEMORY = re.compile(r"\bout of memory\b|\boom-kill|deadlocked on memory", re.IGNORECASE)
"""What the kernel of a guest says before it ends a process, and where that was the only one, itself."""
_LESS = "use fewer flows at a time, smaller windows (tcp.receive_buffer) or queues, or fewer series (probes)"
_LEAST_S = 120.0
_PER_PACKET_S = 1e-3
_PER_SECOND_S = 30.0
"""Of the default limit of a run: at least, for each packet that its links could carry, for each simulated second."""
_FULL_BITS = 12_000
_PREFIX = "ackclock-guest-"
_LOCK = "lock"
"""In the folder of a guest: held by who began it."""
_FACTS = "found.json"
"""Beside a kernel: what it has."""
_OPEN = "open"
"""In there if the guest could not be shut in it, and why."""
_OFTEN_S = 0.02
_NOBODY = 3
_TRACE_ME = 0


def resolved(
    name: str | None, *, ip: int, offload: bool, allow_late: bool, limit_ns: int | None = None
) -> dict[str, Any]:
    """The part of a resolved run that makes it one for a kernel that is built. Raises :class:`InputError`."""
    chosen = kept.named(name)
    played = kernel.resolved(ip=ip, pin=None, offload=offload, allow_late=allow_late)
    limit = {} if limit_ns is None else {"limit_ns": limit_ns}
    return {**played, "kind": "kernel-vt", "kernel": [chosen.name, chosen.digest], **limit}


def plays(document: str) -> bool:
    """Whether this resolved run is for such a kernel."""
    return '"kernel-vt"' in document and json.loads(document).get("engine", {}).get("kind") == "kernel-vt"


def identity() -> str:
    """What tells one such engine from another, besides the kernel that the resolved run names."""
    return f"kernel-vt sha256:{_hash(kernel.program())}"


@functools.cache
def _hash(program: str) -> str:
    return hashlib.sha256(Path(program).read_bytes()).hexdigest()


def seed(document: Mapping[str, Any]) -> int:
    """What the random numbers of the guest's kernel follow from: master seed and replication."""
    text = f"kernel-vt {document['seed']} {document['run']}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def limit_s(document: Mapping[str, Any]) -> float:
    """Seconds of the computer's time after which a run counts as stuck, ten times what it should take or more."""
    given: int | None = document["engine"].get("limit_ns")
    if given is not None:
        return given / 1e9
    rates = [link.get("rate_bps") or 1e9 for link in document["links"]] or [1e9]
    packets_per_s = sum(min(rate, 1e10) for rate in rates) / _FULL_BITS
    simulated_s: float = document["duration_ns"] / 1e9
    return _LEAST_S + simulated_s * max(_PER_SECOND_S, packets_per_s * _PER_PACKET_S)


def memory(document: Mapping[str, Any]) -> str:
    """What the guest of a resolved run has."""
    return MEMORY if count_flows(document) <= _MANY_FLOWS else MORE_MEMORY


def command_line(number: int, *more: str, memory: str = MEMORY) -> list[str]:
    """What the kernel is told; its random numbers follow from it, too, so of the same run only the seed may differ."""
    return [
        f"mem={memory}",
        "rootfstype=hostfs",
        "hostfs=/proc/self/cwd",
        "rw",
        "init=/init",
        "con=null",
        "stderr=1",
        "panic=-1",
        "uml_dir=/proc/self/cwd/",
        "umid=guest",
        f"umseed={number}",
        "norandmaps",
        "time-travel=inf-cpu",
        f"time-travel-start={START_NS}",
        *more,
        "--",
        "guest",
    ]


def play(document: str) -> str:
    """Play a resolved run; the JSON of its tables and of how it went.

    Raises :class:`EngineError` with what the guest says, or if it is stuck. Whatever ends this process ends it, too.
    """
    run = json.loads(document)
    chosen, number = asked_for(run), seed(run)
    if (refused := kernel.refusal(document, facts(chosen))) is not None:
        raise EngineError(one_line(refused))
    with folder() as place, processor() as core:
        furnish(place, chosen, document)
        cpu_s = boot(place, core, command_line(number, memory=memory(run)), limit_s(run))
        return _with(taken(place, memory(run)), {"virtual": which(chosen, number, place)}, cpu_s)


def refusal(document: str) -> str | None:
    """Why the kernel of a resolved run would not play it, as far as that is known without a guest.

    It is once the kernel has played or refused anything. Raises :class:`EngineError` as :func:`asked_for`.
    """
    known = _kept_facts(asked_for(json.loads(document)))
    return None if known is None else kernel.refusal(document, known)


def facts(chosen: Kernel) -> dict[str, Any]:
    """What a kernel has, by which runs are refused before a guest is begun for them. It is kept beside the kernel."""
    if (there := _kept_facts(chosen)) is not None:
        return there
    file = chosen.image.parent / _FACTS
    who = [chosen.image_digest, identity()]
    with folder() as place, processor() as core:
        furnish(place, chosen, "{}")
        (place / "probe").touch()
        boot(place, core, command_line(1), _LEAST_S)
        found: dict[str, Any] = json.loads(taken(place))
    fresh = file.with_name(f".{_FACTS}.{os.getpid()}")
    with contextlib.suppress(OSError):  # it is asked again then
        fresh.write_text(json.dumps({"of": who, "found": found}), encoding="utf-8")
        fresh.replace(file)
    return found


def _kept_facts(chosen: Kernel) -> dict[str, Any] | None:
    """What is kept of what a kernel has; None if nobody has asked yet, or of another."""
    try:
        there = json.loads((chosen.image.parent / _FACTS).read_text(encoding="utf-8"))
        return dict(there["found"]) if there["of"] == [chosen.image_digest, identity()] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def asked_for(run: Mapping[str, Any]) -> Kernel:
    """The kernel of a resolved run. Raises :class:`EngineError` where there is another by now, or none."""
    name, digest = run["engine"]["kernel"]
    try:
        chosen = kept.named(name)
    except InputError as error:
        raise EngineError(f"engine kernel-vt: {error.problem}; {error.remedy}") from None
    if chosen.digest != digest:
        raise EngineError(f"engine kernel-vt: the kernel '{name}' was built again since this run was asked for")
    return chosen


def which(chosen: Kernel, number: int, place: Path) -> dict[str, Any]:
    """What is known of the kernel of a run that was played in `place`."""
    shut_in = not (place / _OPEN).exists()
    named = {"name": chosen.name, "digest": chosen.digest, "image": chosen.image_digest}
    return {**named, "seed": number, "shut_in": shut_in}


def _with(played: str, known: Mapping[str, Any], cpu_s: float) -> str:
    """What was played, and by which kernel; the text is too long to be read for this."""
    key = '"emulation":{'
    begin = played.rindex(key) + len(key)
    added = json.dumps({**known, "guest_cpu_s": cpu_s})[1:-1]
    return f"{played[:begin]}{added},{played[begin:]}"


@contextmanager
def folder() -> Iterator[Path]:
    """A folder for a guest. Those that were left when somebody was killed go first."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError):  # somebody else's, or gone
            handle = os.open(left, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left.parent, ignore_errors=True)
            finally:
                os.close(handle)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as place:
        # It is locked before it has its name, so that nobody finds one that is free.
        handle = os.open(Path(place) / f"{_LOCK}.new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            (Path(place) / f"{_LOCK}.new").rename(Path(place) / _LOCK)
            yield Path(place)
        finally:
            os.close(handle)


def furnish(folder: Path, chosen: Kernel, document: str) -> None:
    """Everything that the guest will see."""
    for name in ("proc", "sys", "dev", "memory"):
        (folder / name).mkdir()
    (folder / "proc" / "cpuinfo").touch()
    # The command line names the folder in a way that is the same for all, also where it is the root.
    (folder / "proc" / "self").mkdir()
    (folder / "proc" / "self" / "cwd").symlink_to("/")
    programs = [(chosen.image, "linux"), (Path(kernel.program()), "init")]
    if (relays := kernel.relays(json.loads(document))) is not None:
        programs.append((relays, kernel.RELAY))
    for file, name in programs:
        shutil.copy(file, folder / name)
        (folder / name).chmod(0o755)
        for library in _libraries(file):
            to = folder / library.relative_to("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, to)
    (folder / "run.json").write_text(document, encoding="utf-8")


@functools.cache
def _libraries(program: Path) -> tuple[Path, ...]:
    """What a program needs besides itself; nothing if it is linked statically."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return tuple(Path(path) for path in re.findall(r"(/\S+) \(0x", done.stdout))


@functools.cache
def unable() -> str | None:
    """As :func:`forbidden`, but looked at once: computers do not change while scenarios are read."""
    return forbidden()


def forbidden() -> str | None:
    """What keeps a guest from being begun here, and what to do: its kernel traces its processes (ptrace)."""
    if platform.machine() != "x86_64" or sys.platform != "linux":
        return f"User-Mode Linux is for Linux on x86_64, and this is {sys.platform} on {platform.machine()}"
    try:
        scope = int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text(encoding="ascii"))
    except (OSError, ValueError):
        scope = 0
    if scope >= _NOBODY:
        return (
            "no process may trace another (kernel.yama.ptrace_scope=3); set it to 2 or less and begin the system anew"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the child does without
        child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).ptrace(_TRACE_ME, 0, None, None) == 0 else 1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        return "ptrace is not allowed; give the container the right to trace, as docker run --cap-add SYS_PTRACE does"
    return None


@contextmanager
def processor() -> Iterator[int | None]:
    """A processor that no other guest has; a guest that moves between several needs half as much time again."""
    folder = Path(tempfile.gettempdir()) / f"ackclock-processors-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    cores = sorted(os.sched_getaffinity(0), reverse=True)
    for core in cores:
        handle = os.open(folder / str(core), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            continue
        try:
            yield core
        finally:
            os.close(handle)
        return
    yield None


def boot(
    folder: Path,
    core: int | None,
    line: Sequence[str],
    limit: float,
    *,
    options: Sequence[str] = (),
    meanwhile: Callable[[], None] | None = None,
) -> float:
    """Let the guest run to its end; the time of the processor that it took, s. Meanwhile something is called often.

    Raises :class:`EngineError` if it does not end.
    """
    command = [kernel.program(), "boot", *options, "./linux", *line]
    if core is not None:
        command = ["taskset", "-c", str(core), *command] if shutil.which("taskset") else command
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (folder / "console").open("wb") as console:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        until = time.monotonic() + limit
        try:
            while _goes_on(process, until, None if meanwhile is None else _OFTEN_S):
                if meanwhile is not None:
                    meanwhile()
        except subprocess.TimeoutExpired:
            # Only programs of a user have something done meanwhile, and only they can stop the clock.
            cause = "" if meanwhile is None else "a program that waits by looping stops virtual time; or "
            remedy = f"{cause}give it longer: run.wall_limit"
            raise EngineError(f"engine kernel-vt: the run did not end within {limit:g} s; {remedy}") from None
        finally:
            _end(process)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


def _goes_on(process: subprocess.Popen[bytes], until: float, step: float | None) -> bool:
    """Wait for a process, or for a step; whether it goes on. Raises :class:`subprocess.TimeoutExpired` at the end."""
    left = until - time.monotonic()
    try:
        process.wait(max(0.0, left) if step is None else max(0.0, min(step, left)))
    except subprocess.TimeoutExpired:
        if time.monotonic() >= until:
            raise
        return True
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the guest with all of its processes, which are a group of their own once it has begun."""
    if process.poll() is None:
        try:
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.kill()
        process.wait()


def taken(folder: Path, memory: str = MEMORY) -> str:
    """What a guest with so much memory has left. Raises :class:`EngineError` where that is nothing, or a reason."""
    failed, played = folder / "failed", folder / "played.json"
    if failed.exists():
        raise EngineError(one_line(failed.read_text(encoding="utf-8", errors="replace").strip()))
    if played.exists() and (text := played.read_text(encoding="utf-8").strip()).endswith("}"):
        return text
    said = (folder / "console").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if any(_NO_MEMORY.search(line) for line in said):
        raise EngineError(f"engine kernel-vt: the guest ran out of its {memory}B of memory; {_LESS}")
    words = [line for line in said if re.search(r"panic|ptrace|fatal|failed|error|denied", line, re.IGNORECASE)]
    last = (words or said or ["it says nothing"])[-1]
    raise EngineError(f"engine kernel-vt: the guest ended without results: {one_line(last)}; see ackclock doctor")
