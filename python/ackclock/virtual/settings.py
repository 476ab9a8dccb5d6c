"""Settings of a kernel: what was asked for, and what of it a kernel has."""

from __future__ import annotations

import re
from pathlib import Path

from ackclock.errors import EngineError, InputError
from ackclock.files import reason
from ackclock.virtual.patches import OWN

NEEDED = ("UML_TIME_TRAVEL_SUPPORT", "HZ", "KERNEL_STACK_ORDER", "HIGH_RES_TIMERS", "NET_NS", "INET", "TUN", "HOSTFS")
"""Those of ours without which no run can be played; a kernel may lack others."""
_ASKED_FOR = re.compile(r"TCP_CONG_|NET_(SCH|CLS|ACT)_")
"""Of the others those that a run may miss."""

_LINE = re.compile(r"CONFIG_(\w+)=(.+)$")
_NOT_SET = re.compile(r"# CONFIG_(\w+) is not set$")
_OFF = "n"


def own() -> str:
    """The lines of ackclock's own."""
    return (OWN / "config.fragment").read_text(encoding="utf-8")


def asked(file: Path) -> dict[str, tuple[int, str]]:
    """The settings in a file of a user, each with its line. Raises :class:`InputError` for a line that is none."""
    found = {}
    for number, line in enumerate(read(file).splitlines(), 1):
        setting = _setting(line)
        if setting is None and line.strip() and not line.lstrip().startswith("#"):
            remedy = "write CONFIG_NAME=y, =n or =VALUE, or # before what is to be passed over"
            raise InputError(f"'{line.strip()}' is no setting", remedy, source=str(file), key="--config", line=number)
        if setting is not None:
            found[setting[0]] = (number, setting[1])
    return found


def read(file: Path) -> str:
    """The text of a file of settings. Raises :class:`InputError` where there is none."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read ({reason(error)})", "give a file of CONFIG_NAME=y lines", source=str(file)
        ) from error


def taken(text: str) -> dict[str, str]:
    """The settings that a kernel's ``.config`` has."""
    return dict(filter(None, map(_setting, text.splitlines())))


def check(file: Path | None, config: str, tree: Path, version: str) -> list[str]:
    """Whether `config`, which make has written for a tree, has what was asked for; those of ours that a run may miss.

    Make leaves out without a word what a tree does not know or what depends on something that is off.
    Raises :class:`InputError` for a line of the user's file that was lost, :class:`EngineError` for what runs need.
    """
    has = taken(config)
    theirs = {} if file is None else asked(file)
    wanted = taken(own())
    for name, (number, value) in theirs.items():
        if name in NEEDED and value != wanted[name]:
            problem = f"no run can be played on a kernel with CONFIG_{name}={value}"
            remedy = f"leave it out: it is {wanted[name]}"
            raise InputError(problem, remedy, source=str(file), key="--config", line=number)
        now = has.get(name, _OFF)
        if now != value:
            problem, remedy = _lost(name, value, now, tree, version)
            raise InputError(problem, remedy, source=str(file), key="--config", line=number)
    ours = {name: value for name, value in wanted.items() if name not in theirs}
    lost = [name for name, value in ours.items() if has.get(name, _OFF) != value]
    lacking = [f"CONFIG_{name}" for name in lost if name in NEEDED]
    if lacking:
        raise EngineError(f"Linux {version} cannot be built for virtual time: it does not take {', '.join(lacking)}")
    return [f"CONFIG_{name}" for name in lost if _ASKED_FOR.match(name)]


def _setting(line: str) -> tuple[str, str] | None:
    off = _NOT_SET.match(line.strip())
    if off is not None:
        return off.group(1), _OFF
    given = _LINE.match(line.strip())
    return None if given is None else (given.group(1), given.group(2).strip())


def _lost(name: str, value: str, now: str, tree: Path, version: str) -> tuple[str, str]:
    """What is wrong with a setting that a kernel has not, and what to do."""
    line = f"CONFIG_{name}={value}"
    defined = re.compile(rf"^\s*(?:menu)?config {name}$", re.MULTILINE)
    lists = sorted(tree.rglob("Kconfig*"))
    here = [file for file in lists if defined.search(file.read_text(encoding="utf-8", errors="replace"))]
    if not here:
        return f"Linux {version} has no setting CONFIG_{name}", "leave the line out, or see how this version calls it"
    place = here[0].relative_to(tree)
    if value == "m" and now == "y":
        return f"{line} would be a module, and such a kernel loads none", f"write CONFIG_{name}=y"
    return (
        f"{line} has no effect: it is {now} in the kernel",
        f"add what it depends on to the file ('depends on' and 'select' in {place})",
    )
