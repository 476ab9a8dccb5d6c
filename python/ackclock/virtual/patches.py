"""The patches for virtual time: which of them is for a tree of sources."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from ackclock.errors import EngineError, InputError, one_line

OWN = Path(__file__).parent.parent / "uml"
"""The patches and the settings."""

_WHOLE = OWN / "virtual-time.patch"
WRITTEN_FOR = "6.12"
"""The version of Linux that the whole patch is for; of others there is only what is different."""

_PART = re.compile(r"^--- a/(\S+)\n", re.MULTILINE)


def known() -> list[str]:
    """The versions of Linux, without their last number, that kernels were built of and played, the oldest first."""
    others = (file.stem for file in OWN.glob("[0-9]*.patch"))
    return sorted([WRITTEN_FOR, *others], key=_numbers)


def of(version: str) -> str:
    """The patch for a version that is :func:`known`: the whole one, with this version's own parts in place."""
    whole = _WHOLE.read_text(encoding="utf-8")
    if version == WRITTEN_FOR:
        return whole
    different = (OWN / f"{version}.patch").read_text(encoding="utf-8")
    head, parts = _apart(whole)
    parts |= _apart(different)[1]
    return head + "".join(parts.values())


def fitting(tree: Path, version: str) -> str:
    """The patch that applies to a tree, which says that it is `version`: that of the version before it comes first.

    Nothing is written. Raises :class:`InputError` where none applies.
    """
    here = _numbers(version)[:2]
    before = [name for name in reversed(known()) if _numbers(name) <= here]
    after = [name for name in known() if name not in before]
    misfits = {}
    for name in [*before, *after]:
        misfits[name] = _misfits(of(name), tree)
        if not misfits[name]:
            return of(name)
    closest = min(misfits, key=lambda name: len(misfits[name]))
    problem = f"no patch for virtual time fits Linux {version}; of that for {closest} not {', '.join(misfits[closest])}"
    remedy = f"take Linux {' or '.join(known())}, which were tried, or fit {OWN.name}/ of ackclock to this one"
    raise InputError(problem, remedy, source=str(tree))


def files(patch: str) -> set[str]:
    """The files that a patch changes."""
    return set(re.findall(r"^\+\+\+ b/(\S+)$", patch, re.MULTILINE))


def apply(patch: str, tree: Path, failed: str) -> None:
    """Change a tree. Raises :class:`EngineError`, which begins with `failed`, where the patch does not apply."""
    done = _run(patch, tree, "-s")
    if done.returncode:
        said = one_line(done.stdout.strip() or done.stderr.strip())
        raise EngineError(f"{failed}: {said}")


def apply_given(patch: str, tree: Path, file: Path, origin: str) -> None:
    """As :func:`apply`, a patch of the user, which `file` has. Raises :class:`InputError` where it does not apply."""
    done = _run(patch, tree, "-s")
    if done.returncode:
        where = ", ".join(re.findall(r"(\S+)\.rej\b", done.stdout) or sorted(files(patch)))
        problem = f"it does not fit {origin} in {where}"
        remedy = "make it of these sources, as diff -u or git diff writes it"
        raise InputError(problem, remedy, source=str(file), key="--patch")


def _apart(patch: str) -> tuple[str, dict[str, str]]:
    """What is said before the first file, and the part for each."""
    starts = [*_PART.finditer(patch)]
    ends = [start.start() for start in starts[1:]] + [len(patch)]
    head = patch[: starts[0].start()]
    return head, {start.group(1): patch[start.start() : end] for start, end in zip(starts, ends, strict=True)}


def _misfits(patch: str, tree: Path) -> list[str]:
    """The files of a tree to which their part of the patch does not apply."""
    parts = _apart(patch)[1]
    return [path for path, part in parts.items() if _run(part, tree, "-s", "--dry-run").returncode]


def _run(patch: str, tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["patch", "-p1", "-f", "--no-backup-if-mismatch", *options]
    return subprocess.run(command, input=patch, cwd=tree, capture_output=True, text=True, check=False)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
