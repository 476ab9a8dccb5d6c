"""Sources of Linux: found, unpacked, told apart, and copied to where they may be changed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ackclock.errors import InputError

PACKAGE = "linux-source-6.12"
"""The package of Debian that is built if nothing else is asked for."""

_PACKAGES = Path("/usr/src")

_LEFT_OUT = re.compile(
    r"(Documentation|sound|samples|drivers/(gpu|media|infiniband|scsi|usb|staging|net/(ethernet|wireless|dsa))"
    r"|tools/(testing|perf)|arch/(?!um/|x86/)[^/]+)/"
)
"""What no such kernel is made of. Only the lists of what could be chosen are needed of it."""
_LISTS = re.compile(r"(Kconfig.*|Makefile|Kbuild)$")
_LEFT_BY_BUILDS = (".config", "include/config", "include/generated", "arch/um/include/generated")
_BUILT = re.compile(r"(\.o|\.a|\.ko|\.cmd|\.orig|\.rej|~)$")


def packaged(name: str) -> Path:
    """The archive that the package `name` has installed. Raises :class:`InputError` where it is not installed."""
    if re.fullmatch(r"linux-source-[0-9.]+", name) is None:
        raise InputError(f"'{name}' is no package of sources", f"write {PACKAGE}", key="--package")
    archive = _PACKAGES / f"{name}.tar.xz"
    if archive.is_file():
        return archive
    remedy = f"apt-get install {name}, or give sources of Linux that are unpacked: --source DIR"
    raise InputError(f"the package {name} is not installed", remedy, key="--package")


def version(tree: Path) -> str:
    """The version that a tree of sources says it has. Raises :class:`InputError` where it is no such tree."""
    try:
        text = (tree / "Makefile").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    parts = [re.search(rf"^{key} *=(.*)$", text, re.MULTILINE) for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    if not all(parts) or not (tree / "arch/um/kernel/time.c").is_file():
        remedy = "give the folder in which Linux was unpacked, the one with Kbuild and arch/um"
        raise InputError("no sources of Linux are there", remedy, source=str(tree), key="--source")
    return ".".join(part.group(1).strip() for part in parts if part)


def unbuilt(tree: Path) -> None:
    """Raises :class:`InputError` for a tree in which somebody has built: make takes what lies there for its own."""
    for path in _LEFT_BY_BUILDS:
        if (tree / path).exists():
            remedy = "make mrproper there, or give a tree that is clean: git worktree add, or another unpacked one"
            raise InputError(f"a kernel was built in these sources ({path} is there)", remedy, source=str(tree))


def needed(path: str) -> bool:
    """Whether a kernel may be made of this file, by its path within the tree."""
    name = path.rsplit("/", 1)[-1]
    if _BUILT.search(name):
        return False
    return _LEFT_OUT.match(path) is None or _LISTS.match(name) is not None


def files(tree: Path) -> Iterator[str]:
    """The paths of what a kernel is made of, in a fixed order."""
    for root, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name != ".git")
        inside = Path(root).relative_to(tree).as_posix()
        for name in sorted(names):
            path = name if inside == "." else f"{inside}/{name}"
            if needed(path):
                yield path


def digests(tree: Path) -> dict[str, str]:
    """What each file is; of a link where it leads."""
    found = {}
    for path in files(tree):
        file = tree / path
        content = str(file.readlink()).encode() if file.is_symlink() else file.read_bytes()
        found[path] = hashlib.sha256(content).hexdigest()[:32]
    return found


def together(parts: Mapping[str, str]) -> str:
    """One digest of many."""
    return hashlib.sha256(json.dumps(sorted(parts.items())).encode()).hexdigest()


def unpack(archive: Path, into: Path) -> Path:
    """Unpack what is needed of an archive; the folder of its sources, which is below `into`."""
    with tarfile.open(archive) as tar:

        def wanted(member: tarfile.TarInfo, _: str) -> tarfile.TarInfo | None:
            _top, _, path = member.name.partition("/")
            return member if member.isdir() or (needed(path) and not member.isdev()) else None

        tar.extractall(into, filter=wanted)  # noqa: S202 - the filter lets no devices through; the system's own package
    (tree,) = (entry for entry in into.iterdir() if entry.is_dir())
    return tree


def follow(tree: Path, found: Mapping[str, str], copy: Path, patched: set[str]) -> bool:
    """Have `copy` be what `tree` is, whose files are `found`, and touch nothing else: what is built stays built.

    Files that the patch changes are `patched`. Whether they have to be patched again.
    """
    record = copy.parent / "files.json"
    before: dict[str, str] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    again = any(before.get(path) != found.get(path) for path in patched)
    record.unlink(missing_ok=True)
    for path in before.keys() - found.keys():
        (copy / path).unlink(missing_ok=True)
    for path, digest in found.items():
        if before.get(path) == digest and not (again and path in patched):
            continue
        to = copy / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.unlink(missing_ok=True)
        shutil.copy(tree / path, to, follow_symlinks=False)
    if not again:
        remember(copy, found)
    return again


def remember(copy: Path, found: Mapping[str, str]) -> None:
    """`copy` is whole: its files are `found`, with the patch."""
    (copy.parent / "files.json").write_text(json.dumps(dict(found)), encoding="utf-8")
