"""The kernels that are built: where they are kept, which there are, which one is meant."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from ackclock.errors import InputError

IMAGE = "linux"
"""The program in the folder of a kernel."""
RECORD = "kernel.json"
"""What is known of it, beside it."""
WORK = ".work"
"""Where sources are unpacked and built, beside the folders of kernels."""
BUILD = "ackclock kernel build"
LIST = "ackclock kernel list"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is built. `digest` follows from sources, settings and patch: what it is, wherever it is.

    `image_digest` is that of the program; `created` is in seconds since 1970; `seconds` is how long it took.
    """

    name: str
    version: str
    digest: str
    source: str
    compiler: str
    image_digest: str
    created: float
    seconds: float

    @property
    def image(self) -> Path:
        """The program."""
        return folder() / self.name / IMAGE


def folder() -> Path:
    """Where kernels are kept: ``ACKCLOCK_KERNELS``, or a folder of the user's cache."""
    given = os.environ.get("ACKCLOCK_KERNELS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else cache / "ackclock" / "kernels"


def all_of_them() -> list[Kernel]:
    """Every kernel that is built, the newest first."""
    found = []
    try:
        records = list(folder().glob(f"*/{RECORD}"))
    except OSError:  # somebody else's folder
        return []
    for record in records:
        try:
            kernel = Kernel(**json.loads(record.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            continue  # not one of this version of ackclock
        if kernel.name == record.parent.name and kernel.image.is_file():
            found.append(kernel)
    return sorted(found, key=lambda kernel: (-kernel.created, kernel.name))


def named(name: str | None) -> Kernel:
    """The kernel of this name; without one the newest, if all that are built are the same but for their names.

    What a run gives must not hang on which other kernels somebody has built here: where they differ, a name is needed.
    Raises :class:`InputError` for that, for a name that none has, and where none is built.
    """
    found = all_of_them()
    if not found:
        raise InputError("no kernel is built for engine kernel-vt", f"build one with: {BUILD}", key="run.engine")
    if name is None:
        if len({kernel.digest for kernel in found}) > 1:
            there = ", ".join(kernel.name for kernel in found)
            raise InputError(
                f"several kernels are built for engine kernel-vt ({there})",
                f"say which: --kernel {found[-1].name}",
                key="run.kernel",
            )
        return found[0]
    for kernel in found:
        if kernel.name == name:
            return kernel
    there = ", ".join(kernel.name for kernel in found)
    problem = f"no kernel '{name}' is built for engine kernel-vt"
    build = f"; or: {BUILD} --name {name}" if _NAME.fullmatch(name) else ""
    raise InputError(problem, f"there is {there}{build}", key="run.kernel")


def checked(name: str) -> str:
    """`name`, if a kernel may be called so. Raises :class:`InputError`."""
    if _NAME.fullmatch(name):
        return name
    raise InputError(f"'{name}' is no name for a kernel", "write letters, digits, and . _ + - between", key="--name")


def keep(kernel: Kernel, image: Path, config: Path) -> Kernel:
    """Put a kernel that was just built among the others; it replaces one of the same name."""
    place, fresh = folder() / kernel.name, folder() / f".{kernel.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    shutil.copy2(image, fresh / IMAGE)
    shutil.copy2(config, fresh / "config")
    (fresh / RECORD).write_text(json.dumps(asdict(kernel), indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(place, ignore_errors=True)
    fresh.rename(place)
    return kernel


def remove(name: str) -> Kernel:
    """Remove a kernel. Raises :class:`InputError` where there is none of this name, and for what is no name."""
    checked(name)
    found = {kernel.name: kernel for kernel in all_of_them()}
    if name not in found:
        raise InputError(f"no kernel '{name}' is built", f"there is {', '.join(found)}" if found else "there is none")
    shutil.rmtree(folder() / name)
    return found[name]


def remove_work() -> bool:
    """Remove what builds have left to be quicker the next time; whether there was any."""
    there = (folder() / WORK).is_dir()
    shutil.rmtree(folder() / WORK, ignore_errors=True)
    return there
