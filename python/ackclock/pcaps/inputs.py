"""Which captures are meant: files, folders of files, and the labels of groups."""

from __future__ import annotations

import os
import stat

from ackclock.errors import InputError
from ackclock.files import reason
from ackclock.pcaps.escaped import escaped

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

STDIN = "-"
LABEL = "label"
FILE = "file"

_MAGICS = frozenset(
    bytes.fromhex(magic)
    for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1", "0a0d0d0a")
)
_GZIP = b"\x1f\x8b"


class Input:
    """A capture that is to be read: where it is, what it is called in tables, and the label of its group."""

    def __init__(self, path: str, name: str, label: str | None = None) -> None:
        self.path = path
        self.name = name
        self.label = label

    @property
    def lasting(self) -> bool:
        """Whether it is a file that can be read again."""
        return stat.S_ISREG(_mode(self.path))


def collected(files: Paths, labels: Mapping[str, Paths] | None = None) -> list[Input]:
    """The captures that are meant, those without a label first. Raises :class:`InputError`.

    Of several folders without labels each is a group, called as it is.
    """
    given = _several(files, "files")
    if labels is not None and not _is_mapping(labels):
        raise InputError("these are no groups", "give captures by label: labels={'off': ..., 'on': ...}", key="labels")
    found: list[tuple[str, str | None]] = []
    folders = [path for path in given if path != STDIN and is_folder(path)]
    if len(folders) > 1 and len(folders) == len(given) and not labels:
        labels, given = {_folder_name(path): path for path in folders}, []
        if len(labels) < len(folders):
            raise InputError("two of the folders have the same name", "give labels: --label NAME=FOLDER", key="files")
    found += [(path, None) for one in given for path in _files_of(one)]
    for label, paths in (labels or {}).items():
        if not isinstance(label, str) or not label.strip() or not label.isprintable():
            raise InputError(f"'{escaped(str(label))}' is no label", "write it as in --label off=a.pcap", key="label")
        found += [(path, label) for one in _several(paths, f"labels.{label}") for path in _files_of(one)]
    if labels and any(label is None for _, label in found):
        raise InputError("some captures have a label and others have none", "give each a label", key="label")
    if not found:
        raise InputError("no capture is named", "give a file, as in ackclock pcap a.pcapng", key="files")
    if sum(path == STDIN for path, _ in found) > 1:
        raise InputError("standard input can be read once", "name '-' once", key="files")
    names = _names([path for path, _ in found])
    return [Input(path, name, label) for (path, label), name in zip(found, names, strict=True)]


def is_folder(path: str) -> bool:
    """Whether a folder is there."""
    return stat.S_ISDIR(_mode(path))


def labelled(texts: Sequence[str]) -> dict[str, list[str]]:
    """The groups that ``--label off=a.pcap,b.pcap`` means. Raises :class:`InputError`."""
    found: dict[str, list[str]] = {}
    for text in texts:
        label, sign, paths = text.partition("=")
        own = [path for path in paths.split(",") if path]
        if not sign or not label or not own:
            remedy = "write a label and its captures: --label off=a.pcap,b.pcap or --label off=FOLDER"
            raise InputError(f"'{escaped(text)}' names no captures", remedy, key="label")
        found.setdefault(label, []).extend(own)
    return found


def _several(paths: object, key: str) -> list[str]:
    """Paths as they were given. Raises :class:`InputError` where what was given is none."""
    if _is_mapping(paths):
        raise InputError("groups are no captures", "name them in labels={'off': ..., 'on': ...}", key=key)
    if isinstance(paths, str | bytes | os.PathLike):
        return [_path(paths, key)]
    try:
        return [_path(path, key) for path in iter(paths)]  # type: ignore[call-overload]
    except TypeError:
        return [_path(paths, key)]


def _is_mapping(value: object) -> bool:
    return hasattr(value, "keys") and hasattr(value, "items")


def _path(path: object, key: str) -> str:
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        said = escaped(f"{path!r} of type {type(path).__name__}")
        raise InputError(f"{said} is no capture", "give a path, or a list of paths", key=key)
    return text


def _files_of(path: str) -> list[str]:
    if path == STDIN:
        return [path]
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116
            return [path]
        from pathlib import Path

        inside = [item for item in sorted(Path(path).iterdir()) if item.is_file() and _is_capture(item)]
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({reason(error)})", "name a capture", source=escaped(path)) from None
    if not inside:
        raise InputError("has no captures", "name a folder with pcap or pcapng files", source=escaped(path))
    return [str(item) for item in inside]


def _mode(path: str) -> int:
    """What kind of thing is there; 0 for nothing that can be looked at. Of a name alone: pathlib takes time to load."""
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def _is_capture(path: Path) -> bool:
    with path.open("rb") as stream:
        begin = stream.read(4)
    return begin in _MAGICS or begin[:2] == _GZIP


def _last(path: str) -> str:
    """The last part of a path."""
    return path.rstrip("/").rpartition("/")[2]


def _folder_name(path: str) -> str:
    from pathlib import Path

    return escaped(Path(path).resolve().name)


def _names(paths: Sequence[str]) -> list[str]:
    """What captures are called: one by its name, several by their paths as they are given."""
    return ["stdin" if path == STDIN else escaped(path if len(paths) > 1 else _last(path)) for path in paths]
