"""The source that a controller in Python is made from: its module, those of its bases, and what these import nearby.

Only files below certain folders count: that of the scenario, and those that the modules themselves were found in. They
are found from the text of the modules and the names of files alone, so that every process finds the same.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import site
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

OURS = "ackclock"
"""This package is told apart by its version."""


def digest(texts: Mapping[str, bytes]) -> str:
    """A hash of the texts of modules."""
    found = hashlib.sha256()
    for name in sorted(texts):
        found.update(f"{name}\0{len(texts[name])}\0".encode() + texts[name])
    return f"sha256:{found.hexdigest()}"


def of_class(cls: type, ends: Iterable[type], folder: str | None) -> dict[str, bytes] | None:
    """The texts that a class and its bases, up to one of `ends`, come from, by module; ``None`` if one has no text."""
    texts: dict[str, bytes] = {}
    files: dict[str, Path] = {}
    last = set(ends)
    for each in cls.__mro__:
        if each in last:
            break
        try:
            file = inspect.getsourcefile(each)
            texts[each.__module__] = Path(file).read_bytes() if file else inspect.getsource(each).encode()
        except (OSError, TypeError):
            return None
        if file:
            files[each.__module__] = Path(file)
    for name, path in files.items():
        texts |= {other: text for other, (_, text) in imported(name, path, folder).items() if other not in files}
    return texts


def imported(name: str, file: Path, folder: str | None) -> dict[str, tuple[Path, bytes]]:
    """The files that a module imports, and these in turn, with their texts, by the names of their modules."""
    top = _top(name, file)
    roots = dict.fromkeys([*([Path(folder)] if folder else []), top])
    # Beside a module that was installed there is everything else that was: only its own package counts.
    within = name.partition(".")[0] if _installed(top) else None
    found: dict[str, tuple[Path, bytes]] = {}
    todo = [(name, file)]
    while todo:
        current, path = todo.pop()
        for wanted in _names(_text(path), current, package=path.name == "__init__.py"):
            first = wanted.partition(".")[0]
            if wanted == name or wanted in found or first == OURS or (within is not None and first != within):
                continue
            if (place := _file(wanted, roots)) is not None:
                found[wanted] = place, _text(place)
                todo.append((wanted, place))
    return found


def _top(name: str, file: Path) -> Path:
    """The folder that a module was found in: that of its outermost package."""
    inner = name.count(".") + (file.name == "__init__.py")
    folders = file.resolve().parents
    return folders[min(inner, len(folders) - 1)]


@functools.cache
def _installed(folder: Path) -> bool:
    known = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    return folder in {Path(path).resolve() for path in known}


def _text(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


@functools.lru_cache(256)
def _names(text: bytes, module: str, *, package: bool) -> tuple[str, ...]:
    """The modules that a text may import, wherever it does, with the packages that these are in."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    home = module if package else module.rpartition(".")[0]
    names = [name for node in ast.walk(tree) for name in _of_statement(node, home)]
    parents = [name.split(".") for name in dict.fromkeys(names)]
    return tuple(dict.fromkeys(".".join(parts[:n]) for parts in parents for n in range(1, len(parts) + 1)))


def _of_statement(node: ast.AST, home: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (item.name for item in node.names)
    elif isinstance(node, ast.ImportFrom):
        try:
            base = importlib.util.resolve_name(f"{'.' * node.level}{node.module or ''}", home)
        except ImportError:  # beyond the outermost package
            return
        yield base
        yield from (f"{base}.{item.name}" for item in node.names if item.name != "*")  # each may be a module


def _file(name: str, roots: Iterable[Path]) -> Path | None:
    for root in roots:
        place = root.joinpath(*name.split("."))
        for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if file.is_file():
                return file
    return None
