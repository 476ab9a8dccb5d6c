"""Finding the class that a name such as ``python:my_module:MyCC`` means, and what a scenario may give it."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import inspect
import json
import operator
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ackclock.controllers import exits, sources
from ackclock.controllers.agent import Agent
from ackclock.controllers.base import CongestionControl, Controller, WindowBased
from ackclock.errors import Problem, one_line, unknown

PREFIX = "python:"

Class = type[CongestionControl] | type[WindowBased] | type[Agent]

_KINDS = (CongestionControl, WindowBased, Agent)
_NEEDED = {"whole": ("on_ack", "on_congestion"), "law": ("grow", "reduce"), "agent": ("decide",)}
"""Methods without a default, by kind."""


@dataclass(frozen=True, slots=True)
class _Import:
    """A module imported here, its file, what was in it and in what it imports nearby, and what came with it."""

    module: ModuleType
    file: str
    digest: str
    brought: frozenset[str]
    """Modules nearby that nobody had imported before."""


# Classes that were given themselves and modules imported here, by name.
_given: dict[str, Class] = {}
_imported: dict[str, _Import] = {}


@dataclass(frozen=True, slots=True)
class Found:
    """A class, the parameters it takes, and a hash of the source it was made from (``None`` if it has no source)."""

    name: str
    cls: Class
    params: Mapping[str, inspect.Parameter]
    source: str | None

    @property
    def importable(self) -> bool:
        """Whether another process can import it."""
        module = self.cls.__module__
        return module != "__main__" and module in sys.modules and "<locals>" not in self.cls.__qualname__


def is_class(value: object) -> bool:
    """Whether `value` is a controller's class itself."""
    return isinstance(value, type) and issubclass(value, _KINDS)


def name_of(cls: Class) -> str:
    """The name of a class in a scenario. The class is remembered: the name means it from now on."""
    name = f"{PREFIX}{cls.__module__}:{cls.__qualname__}"
    _given[name] = cls
    return name


def find(name: str, folder: str | None = None) -> Found:
    """The class of that name. Its module is looked for in `folder`, the current directory and ``sys.path``.

    Raises :class:`Problem` if there is none, its module cannot be imported, or it is no controller.
    """
    cls = _given.get(name)
    if cls is None:
        cls = _imported_class(name, folder)
    for method in _NEEDED[cls.kind]:
        if getattr(cls, method) in [getattr(kind, method, None) for kind in _KINDS]:
            raise Problem(f"{cls.__name__} has no method '{method}'", "define it; see docs/controllers.md")
    params = {
        key: item for key, item in inspect.signature(cls).parameters.items() if item.kind is not item.VAR_POSITIONAL
    }
    texts = sources.of_class(cls, (Controller, *_KINDS), folder)
    return Found(name, cls, params, None if texts is None else sources.digest(texts))


def check_params(found: Found, given: Mapping[str, Any]) -> None:
    """Whether the class takes the parameters `given`. Raises :class:`Problem`."""
    what = f"parameter of {found.cls.__name__}"
    open_ended = any(item.kind is item.VAR_KEYWORD for item in found.params.values())
    named = {key: item for key, item in found.params.items() if item.kind is not item.VAR_KEYWORD}
    for key, value in given.items():
        if key not in named and not open_ended:
            raise unknown(what, key, named, key)
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise Problem(f"{value!r} is not plain data", "give a number, text, list or table", key) from None
    for key, item in named.items():
        if item.default is item.empty and key not in given:
            raise Problem(f"missing {what} '{key}'", f"add {key} = ...")


def _imported_class(name: str, folder: str | None) -> Class:
    module_name, colon, attribute = name.removeprefix(PREFIX).partition(":")
    if not colon or not module_name or not attribute:
        raise Problem(f"'{name}' does not name a class", f'write "{PREFIX}my_module:MyClass"')
    module = _module(module_name, folder)
    try:
        cls = operator.attrgetter(attribute)(module)
    except AttributeError:
        known = [key for key, value in vars(module).items() if is_class(value) and not key.startswith("_")]
        raise unknown(f"class in {module_name}", attribute, known) from None
    if not is_class(cls):
        remedy = "derive it from ackclock.CongestionControl, ackclock.WindowBased or ackclock.Agent"
        raise Problem(f"{attribute} in {module_name} is no controller", remedy)
    found: Class = cls
    return found


def _module(name: str, folder: str | None) -> ModuleType:
    """Import a module, again if its file or one that it imports nearby has changed since this function imported it."""
    with _searching(folder):
        present = sys.modules.get(name)
        mine = _imported.get(name)
        if present is not None and mine is not None and mine.module is present:
            del sys.modules[name]
            importlib.invalidate_caches()
            if _file_of(name) == mine.file and _hash(name, mine.file, folder) == mine.digest:
                sys.modules[name] = present
                return present
            for other in frozenset().union(*(item.brought for item in _imported.values())):
                sys.modules.pop(other, None)
        elif present is not None:
            return _same(present, name, folder)
        before = frozenset(sys.modules)
        try:
            with exits.refused():
                module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                places = f"{folder}, " if folder else ""
                remedy = f"it is looked for in {places}the current directory and sys.path"
                raise Problem(f"no module '{name}'", remedy) from None
            raise _broken(name, error) from error
        except Exception as error:
            raise _broken(name, error) from error
    file = getattr(module, "__file__", None)
    if file:
        nearby = sources.imported(name, Path(file), folder)
        _imported[name] = _Import(module, file, _hash(name, file, folder), frozenset(nearby) - before)
    return module


def _same(present: ModuleType, name: str, folder: str | None) -> ModuleType:
    """A module that somebody else imported, unless the scenario means another one."""
    file = getattr(present, "__file__", None)
    places = [folder] if folder else []
    spec = importlib.machinery.PathFinder.find_spec(name, places) if "." not in name else None
    if spec is not None and file and spec.origin and not Path(spec.origin).samefile(file):
        raise Problem(f"another module '{name}' is imported already, from {file}", f"rename {spec.origin}")
    return present


def _file_of(name: str) -> str | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return spec.origin if spec is not None else None


@contextmanager
def _searching(folder: str | None) -> Iterator[None]:
    """Look for modules beside the scenario and in the current directory first."""
    path, writes = list(sys.path), sys.dont_write_bytecode
    sys.path[:0] = [*([folder] if folder else []), str(Path.cwd())]
    sys.dont_write_bytecode = True  # nothing is left beside a scenario
    try:
        yield
    finally:
        sys.path[:], sys.dont_write_bytecode = path, writes


def _broken(name: str, error: BaseException) -> Problem:
    """A module that raises while it is imported: which line of whose file, and what it says."""
    if isinstance(error, SyntaxError):
        where = f"{error.filename}, line {error.lineno}"
        what = f"{type(error).__name__}: {error.msg}"
    else:
        own = ("importlib", exits.__file__)
        every = traceback.extract_tb(error.__traceback__)
        frames = [frame for frame in every if not any(part in frame.filename for part in own)]
        where = f"{frames[-1].filename}, line {frames[-1].lineno}" if len(frames) > 1 else name
        what = f"{type(error).__name__}: {error}"
    return Problem(one_line(f"module '{name}' cannot be imported: {what} ({where})"), "correct it")


def _hash(name: str, file: str, folder: str | None) -> str:
    """A hash of a module and of what it imports nearby."""
    nearby = {other: text for other, (_, text) in sources.imported(name, Path(file), folder).items()}
    return sources.digest({**nearby, name: Path(file).read_bytes()})
