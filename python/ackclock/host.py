"""What this computer is and has: recorded beside every result, and checked before large runs."""

from __future__ import annotations

import os
import platform
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
