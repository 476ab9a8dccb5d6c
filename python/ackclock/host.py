"""What this computer is and has: recorded beside every result, and checked before large runs."""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path


def facts() -> dict[str, str | int | None]:
    """The host as a manifest records it."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": cores(),
        "memory_bytes": _meminfo("MemTotal"),
        "python": platform.python_version(),
    }


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only some systems bind processes to processors
        return os.cpu_count() or 1


def available_memory() -> int | None:
    """Bytes that can still be used, by the system's reckoning and within this process's control group.

    ``None`` where the system does not say.
    """
    known = [value for value in (_meminfo("MemAvailable"), _group_left()) if value is not None]
    return min(known, default=None)


def keep_pace(packets_per_s: Mapping[str, float]) -> None:
    """Keep how many packets a second this computer hands on in real time, ``plain`` and with ``offload``, if known.

    It only says more of runs to come: where it cannot be kept nothing is amiss.
    """
    file = _pace_file()
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f".{file.name}.{os.getpid()}")
        fresh.write_text(json.dumps({"of": _of_pace(), **packets_per_s}) + "\n", encoding="utf-8")
        fresh.replace(file)


def pace() -> dict[str, float]:
    """What :func:`keep_pace` kept, if it was on this computer as it is now; else nothing."""
    try:
        kept = json.loads(_pace_file().read_text(encoding="utf-8"))
        if kept["of"] != _of_pace():
            return {}
        return {name: float(kept[name]) for name in ("plain", "offload") if name in kept}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _pace_file() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "ackclock" / "real-time.json"


def _of_pace() -> list[str | int | None]:
    """What it depends on."""
    return [platform.release(), _processor(), cores()]


def _meminfo(name: str) -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            key, _, rest = line.partition(":")
            if key == name:
                return int(rest.split()[0]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _group_left() -> int | None:
    """What the control group's limit leaves, version 2 or 1; the nearest ancestor with a limit decides."""
    left = []
    for limit_file, usage_file in _group_files():
        try:
            limit, usage = limit_file.read_text(encoding="ascii").strip(), int(usage_file.read_text(encoding="ascii"))
            if limit != "max" and int(limit) < 2**60:  # version 1 writes a huge number for no limit
                left.append(max(0, int(limit) - usage))
        except (OSError, ValueError):
            continue
    return min(left, default=None)


def _group_files() -> list[tuple[Path, Path]]:
    root = Path("/sys/fs/cgroup")
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    files = []
    for line in lines:
        number, controllers, name = line.split(":", 2)
        if number == "0":
            base, limit, usage = root, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit, usage = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        inner = base / name.lstrip("/")
        for folder in (inner, *inner.parents):
            if folder == base.parent:
                break
            files.append((folder / limit, folder / usage))
    return files


def _processor() -> str | None:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or None


def return_memory() -> None:
    """Give memory that is free back to the system. The C library of GNU keeps that of many small blocks otherwise."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library, another system
        import ctypes  # seldom needed

        ctypes.CDLL(None).malloc_trim(0)
