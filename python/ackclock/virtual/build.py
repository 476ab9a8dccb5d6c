"""Builds a kernel: sources, patch and settings become a program."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ackclock.errors import EngineError, InputError, one_line
from ackclock.files import reason
from ackclock.virtual import kept, sources
from ackclock.virtual.kept import Kernel

OWN = Path(__file__).parent.parent / "uml"
"""The patch and the settings."""

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


def patched_files(patch: str) -> set[str]:
    """The files that a patch changes."""
    return set(re.findall(r"^\+\+\+ b/(\S+)$", patch, re.MULTILINE))


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
    if request.name is not None:
        kept.checked(request.name)
    lacking = missing()
    if lacking:
        raise EngineError(f"a kernel cannot be built here: {'; '.join(lacking)}")
    begun = time.monotonic()
    place = kept.folder() / kept.WORK
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix="unpacked-") as temporary:
        if request.source is not None:
            tree, origin = request.source.resolve(), request.source.resolve().name
            sources.version(tree)
        else:
            archive = sources.packaged(request.package or sources.PACKAGE)
            origin = archive.name.removesuffix(".tar.xz")
            say(f"unpacking {archive}")
            tree = sources.unpack(archive, Path(temporary))
            if request.patch is not None and own is not None:
                _apply(own, tree, f"{request.patch} does not fit {origin}")
                origin = f"{origin} with {request.patch.name}"
        return _built(request, (tree, origin), place, say, begun)


def _built(request: Request, where: tuple[Path, str], place: Path, say: Say, begun: float) -> tuple[Kernel, bool]:
    (tree, origin), version = where, sources.version(where[0])
    patch = (OWN / "virtual-time.patch").read_text(encoding="utf-8")
    settings = _settings(request.config)
    say("looking what the sources are")
    found = sources.digests(tree)
    with_what = {"patch": patch, "settings": settings, "compiler": compiler()}
    base = sources.together({"version": version, **with_what})
    digest = sources.together({"sources": sources.together(found), "base": base})
    named_by = request.patch.stem if request.patch is not None else version
    name = request.name or (origin if request.source is not None else named_by)
    name = kept.checked(re.sub(r"[^A-Za-z0-9._+-]", "-", name))
    for kernel in kept.all_of_them():
        if kernel.digest == digest and kernel.name == name:
            return kernel, False
    work = place / base[:16]
    copy, out = work / "source", work / "build"
    out.mkdir(parents=True, exist_ok=True)
    say("copying what has changed")
    if sources.follow(tree, found, copy, patched_files(patch)):
        _patch(copy, patch, version)
        sources.remember(copy, found)
    _make(copy, out, settings, say)
    image = out / "linux"
    image_digest = hashlib.sha256(image.read_bytes()).hexdigest()
    seconds = round(time.monotonic() - begun, 1)
    kernel = Kernel(name, version, digest, origin, with_what["compiler"], image_digest, time.time(), seconds)
    return kept.keep(kernel, image, out / ".config"), True


def _settings(more: Path | None) -> str:
    own = (OWN / "config.fragment").read_text(encoding="utf-8")
    if more is None:
        return own
    try:
        return own + more.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read ({reason(error)})", "give a file of CONFIG_NAME=y lines", source=str(more)
        ) from error


def _own(patch: Path) -> str:
    """A patch of the user. Raises :class:`InputError` where it is none."""
    try:
        text = patch.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read ({reason(error)})", "give a file that diff -u has written", source=str(patch)
        ) from error
    if not patched_files(text):
        remedy = "give a file that diff -u a/FILE b/FILE or git diff has written"
        raise InputError("it names no file below a/ and b/", remedy, source=str(patch), key="--patch")
    return text


def _patch(copy: Path, patch: str, version: str) -> None:
    _apply(patch, copy, f"the patch does not fit Linux {version}, it is for 6.12", f"; take {sources.PACKAGE}")


def _apply(patch: str, tree: Path, failed: str, remedy: str = "") -> None:
    command = ["patch", "-p1", "-s", "-f", "--no-backup-if-mismatch"]
    done = subprocess.run(command, input=patch, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode:
        said = one_line(done.stdout.strip() or done.stderr.strip())
        raise EngineError(f"{failed}: {said}{remedy}")


def _make(copy: Path, out: Path, settings: str, say: Say) -> None:
    """Run make; its lines are counted, and kept in a log."""
    log = out.parent / "build.log"
    base = ["make", "-s", "-C", str(copy), f"O={out}", "ARCH=um"]
    with log.open("w", encoding="utf-8") as lines:
        if not (out / ".config").exists() or (out / "settings").read_text(encoding="utf-8") != settings:
            _run([*base, "allnoconfig"], lines, log)
            with (out / ".config").open("a", encoding="utf-8") as config:
                config.write(settings)
            _run([*base, "olddefconfig"], lines, log)
            (out / "settings").write_text(settings, encoding="utf-8")
        say("compiling")
        jobs = len(os.sched_getaffinity(0))
        command = [part for part in base if part != "-s"]
        process = subprocess.Popen(
            [*command, f"-j{jobs}", "linux"], stdout=subprocess.PIPE, stderr=lines, text=True, env=_environment()
        )
        assert process.stdout is not None
        for count, line in enumerate(process.stdout, 1):
            lines.write(line)
            say(f"compiling: {count} steps, {line.strip()[:60]}")
        if process.wait():
            lines.flush()
            raise _failure(log)


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
