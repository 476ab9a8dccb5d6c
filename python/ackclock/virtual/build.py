"""Builds a kernel: sources, patch and settings become a program."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ackclock.errors import EngineError, InputError, one_line
from ackclock.files import reason
from ackclock.virtual import kept, patches, sources
from ackclock.virtual.kept import Kernel
from ackclock.virtual.settings import asked, check, read
from ackclock.virtual.settings import own as own_settings

Say = Callable[[str], None]

TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "ld": "binutils",
    "perl": "perl",
    "xz": "xz-utils",
}
"""Programs that a build calls, and the package of Debian that has each."""
_HEADERS = {"libelf.h": "libelf-dev"}

_SETTINGS = "settings"
"""Beside what is built: the settings of its ``.config``, once that is known to have them."""

_FAILED = 12
"""Lines of a build that failed that are looked through for the reason."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be built. Either sources that are unpacked, or the name of a package, perhaps with a patch."""

    source: Path | None = None
    package: str | None = None
    config: Path | None = None
    name: str | None = None
    patch: Path | None = None


def missing() -> list[str]:
    """What a build needs and is not there: a line for each, with what to do."""
    lines = [f"{tool} is missing: apt-get install {pkg}" for tool, pkg in TOOLS.items() if shutil.which(tool) is None]
    if shutil.which("gcc"):
        for header, package in _HEADERS.items():
            asked = ["gcc", "-E", "-xc", "-o", os.devnull, "-"]
            include = f"#include <{header}>\n"
            if subprocess.run(asked, input=include, text=True, capture_output=True, check=False).returncode:
                lines.append(f"{header} is missing: apt-get install {package}")
    return lines


def compiler() -> str:
    """Which compiler there is."""
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0].strip()


def build(request: Request, say: Say) -> tuple[Kernel, bool]:
    """Build a kernel, or find it: whether it was built now.

    Raises :class:`InputError` for sources or a name that cannot be used, and :class:`EngineError` for what is missing
    and for a build that fails.
    """
    if request.source is not None and request.package is not None:
        raise InputError("sources and a package are given", "give one of them", key="--package")
    if request.source is not None and request.patch is not None:
        raise InputError("sources that are unpacked are built as they are", "patch them yourself", key="--patch")
    own = None if request.patch is None else _own(request.patch)
    _settings(request.config)  # what cannot be used is said before minutes have passed
    if request.name is not None:
        kept.checked(request.name)
    lacking = missing()
    if lacking:
        raise InputError("a kernel cannot be built here", "; ".join(lacking))
    begun = time.monotonic()
    place = kept.folder() / kept.WORK
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix="unpacked-") as temporary:
        if request.source is not None:
            tree, origin = request.source.resolve(), request.source.resolve().name
            sources.version(tree)
            sources.unbuilt(tree)
        else:
            archive = sources.packaged(request.package or sources.PACKAGE)
            origin = archive.name.removesuffix(".tar.xz")
            say(f"unpacking {archive}")
            tree = sources.unpack(archive, Path(temporary))
            if request.patch is not None and own is not None:
                patches.apply_given(own, tree, request.patch, origin)
                origin = f"{origin} with {request.patch.name}"
        return _built(request, (tree, origin), place, say, begun)


def _built(request: Request, where: tuple[Path, str], place: Path, say: Say, begun: float) -> tuple[Kernel, bool]:
    (tree, origin), version = where, sources.version(where[0])
    patch = patches.fitting(tree, version)
    settings = _settings(request.config)
    say("looking what the sources are")
    found = sources.digests(tree)
    with_what = {"version": version, "patch": patch, "compiler": compiler()}
    base = sources.together({"settings": settings, **with_what})
    digest = sources.together({"sources": sources.together(found), "base": base})
    named_by = request.patch.stem if request.patch is not None else version
    name = request.name or (origin if request.source is not None else named_by)
    name = kept.checked(re.sub(r"[^A-Za-z0-9._+-]", "-", name))
    for kernel in kept.all_of_them():
        if kernel.digest == digest and kernel.name == name:
            return kernel, False
    work = place / sources.together(with_what)[:16]  # of other settings make compiles again only what they change
    copy, out = work / "source", work / "build"
    out.mkdir(parents=True, exist_ok=True)
    with alone(work, say) as lock:
        say("copying what has changed")
        if sources.follow(tree, found, copy, patches.files(patch)):
            patches.apply(patch, copy, f"the patch for virtual time does not fit Linux {version}")
            sources.remember(copy, found)
        log = work / "build.log"
        log.unlink(missing_ok=True)
        _configure(copy, out, settings, log)
        lost = check(request.config, (out / ".config").read_text(encoding="utf-8"), copy, version)
        (out / _SETTINGS).write_text(settings, encoding="utf-8")
        if lost:
            say(f"Linux {version} is built without {', '.join(lost)}, which it does not have")
        _make(copy, out, log, say, lock)
        image = out / "linux"
        image_digest = hashlib.sha256(image.read_bytes()).hexdigest()
        seconds = round(time.monotonic() - begun, 1)
        kernel = Kernel(name, version, digest, origin, with_what["compiler"], image_digest, time.time(), seconds)
        return kept.keep(kernel, image, out / ".config"), True


@contextlib.contextmanager
def alone(work: Path, say: Say) -> Iterator[int]:
    """No other build writes `work`: the descriptor of a lock, for which this waits.

    A build that is killed may leave a compiler behind, which has the lock, too.
    """
    with (work / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another build of this kernel")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _settings(more: Path | None) -> str:
    if more is None:
        return own_settings()
    asked(more)
    return own_settings() + read(more)


def _own(patch: Path) -> str:
    """A patch of the user. Raises :class:`InputError` where it is none."""
    try:
        text = patch.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read ({reason(error)})", "give a file that diff -u has written", source=str(patch)
        ) from error
    if not patches.files(text):
        remedy = "give a file that diff -u a/FILE b/FILE or git diff has written"
        raise InputError("it names no file below a/ and b/", remedy, source=str(patch), key="--patch")
    return text


def _configure(copy: Path, out: Path, settings: str, log: Path) -> None:
    """Write the kernel's ``.config``, if the one that is there is not of these settings."""
    kept_with = out / _SETTINGS
    if kept_with.exists() and kept_with.read_text(encoding="utf-8") == settings:
        return
    kept_with.unlink(missing_ok=True)
    base = [*_base(copy, out), "-s"]
    with log.open("a", encoding="utf-8") as lines:
        _run([*base, "allnoconfig"], lines, log)
        with (out / ".config").open("a", encoding="utf-8") as config:
            config.write(settings)
        _run([*base, "olddefconfig"], lines, log)


def _make(copy: Path, out: Path, log: Path, say: Say, lock: int) -> None:
    """Run make; its lines are counted, and kept in a log. As long as anything of it runs it holds the lock."""
    say("compiling")
    jobs = len(os.sched_getaffinity(0))
    command = [*_base(copy, out), f"-j{jobs}", "linux"]
    with log.open("a", encoding="utf-8") as lines:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=lines, text=True, env=_environment(), pass_fds=(lock,)
        ) as process:
            assert process.stdout is not None
            for count, line in enumerate(process.stdout, 1):
                lines.write(line)
                say(f"compiling: {count} steps, {line.strip()[:60]}")
        if process.returncode:
            lines.flush()
            raise _failure(log)


def _base(copy: Path, out: Path) -> list[str]:
    return ["make", "-C", str(copy), f"O={out}", "ARCH=um"]


def _run(command: list[str], lines: object, log: Path) -> None:
    done = subprocess.run(command, stdout=lines, stderr=lines, check=False, env=_environment())  # type: ignore[call-overload]
    if done.returncode:
        raise _failure(log)


def _environment() -> Mapping[str, str]:
    """Nothing of the caller that changes what comes out; names and times in the program are constant."""
    keep = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}
    constant = {
        "KBUILD_BUILD_TIMESTAMP": "@1700000000",
        "KBUILD_BUILD_USER": "ackclock",
        "KBUILD_BUILD_HOST": "ackclock",
    }
    return keep | constant | {"LC_ALL": "C"}


def _failure(log: Path) -> EngineError:
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in text if re.search(r"\berror\b|Error \d|No such file|not found", line)]
    said = one_line((errors or text[-_FAILED:] or ["make says nothing"])[0])
    return EngineError(f"the kernel cannot be built: {said}; all of it is in {log}")
