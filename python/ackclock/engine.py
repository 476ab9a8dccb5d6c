"""What the compiled engine can do: everything that plays or describes runs goes through here."""

from __future__ import annotations

import functools
import json
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock.errors import ControllerError, EngineError, one_line
from ackclock.extension import load as _extension

if TYPE_CHECKING:
    import polars as pl

Json = Mapping[str, Any]
Controllers = Mapping[str, Callable[..., Any]]
"""What makes the controllers written in Python, by name: their classes."""


DEFAULT_PROFILE = "linux"
"""The bundle of TCP options of a flow that names none: what most of the Internet runs, and held against a kernel."""


TABLES = ("flows", "links", "transfers", "series", "pages", "objects", "cells", "users", "legs")
"""The tables of a run, in the engine's order."""


@dataclass(frozen=True, slots=True)
class Option:
    """One named value of an algorithm or of TCP, as the engine describes it.

    ``kind`` is bool, count, bytes, segments, duration (ns), fraction, float or choice; ``range`` is the smallest
    and largest sensible value, durations in seconds.
    """

    name: str
    kind: str
    default: Any
    choices: tuple[str, ...] | None
    range: tuple[float | None, float | None] | None
    doc: str


@dataclass(frozen=True, slots=True)
class TcpOption(Option):
    """A TCP option; ``defaults`` has its value in each profile, ``default`` the one of the first."""

    defaults: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A congestion controller or a slow start. ``family`` and ``differences`` are empty for a slow start.

    ``differences`` says how Linux and ns-3 differ from the source; ``own_start`` is true for a controller that starts
    by itself and takes no slow start. ``ecn`` is what it wants of ECN: ``classic``, nothing but what the options say;
    ``dctcp``, marks told exactly (RFC 8257); ``accurate``, counts (RFC 9768). ``ect1``: its packets carry ECT(1) unless
    its parameters say otherwise.
    """

    name: str
    family: str
    source: str
    summary: str
    params: Mapping[str, Option]
    differences: str = ""
    own_start: bool = False
    ecn: str = "classic"
    ect1: bool = False


@dataclass(frozen=True, slots=True)
class Discipline:
    """A queueing discipline. ``default_limit`` is the limit in packets when none is given; None: one must be given."""

    name: str
    source: str
    summary: str
    params: Mapping[str, Option]
    default_limit: int | None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything the engine can be told by name."""

    version: str
    commit: str
    profiles: tuple[str, ...]
    tcp_options: Mapping[str, TcpOption]
    controllers: Mapping[str, Algorithm]
    outside: Algorithm
    """The controller that holds what an agent outside decides: none of the list."""
    slow_starts: Mapping[str, Algorithm]
    queues: Mapping[str, Discipline]

    @property
    def named(self) -> Mapping[str, Algorithm]:
        """Every controller that a scenario can name."""
        return {**self.controllers, self.outside.name: self.outside}


@dataclass(frozen=True, slots=True)
class Output:
    """The tables of one run, and what it cost."""

    flows: pl.DataFrame
    links: pl.DataFrame
    cells: pl.DataFrame
    users: pl.DataFrame
    transfers: pl.DataFrame
    series: pl.DataFrame
    pages: pl.DataFrame
    objects: pl.DataFrame
    legs: pl.DataFrame
    info: Json


@functools.cache
def catalogue() -> Catalogue:
    """The controllers, slow starts, profiles and TCP options this engine was built with."""
    text = _extension().describe()
    raw = json.loads(text)
    return Catalogue(
        version=raw["version"],
        commit=raw["commit"],
        profiles=tuple(raw["profiles"]),
        tcp_options={item["name"]: _tcp_option(item) for item in raw["tcp_options"]},
        controllers={item["name"]: _algorithm(item) for item in raw["controllers"]},
        outside=_algorithm(raw["outside"]),
        slow_starts={item["name"]: _algorithm(item) for item in raw["slow_starts"]},
        queues={item["name"]: _discipline(item) for item in raw["queues"]},
    )


def tcp_options(profile: str, given: Json, controller: str) -> Json:
    """All TCP options of `profile` for `controller`, the `given` ones in place of its own.

    Raises :class:`EngineError`.
    """
    try:
        result: Json = json.loads(_extension().resolve_tcp(profile, json.dumps(given), controller))
    except ValueError as error:
        raise EngineError(str(error)) from error
    return result


def validate(document: str) -> list[str]:
    """Let the engine check a resolved run; its warnings. Raises :class:`EngineError` with its message."""
    try:
        return list(_extension().validate(document))
    except ValueError as error:
        raise EngineError(str(error)) from error


def estimate_bytes(document: str) -> int:
    """Upper estimate of the memory one resolved run needs, in bytes. Raises :class:`EngineError` for a wrong one."""
    try:
        return int(_extension().estimate_bytes(document))
    except ValueError as error:
        raise EngineError(str(error)) from error


def run(document: str, controllers: Controllers | None = None) -> Output:
    """Run one resolved run to its end in this process; Ctrl-C stops it.

    `controllers` has the classes of those written in Python, by name. Raises :class:`ControllerError` if one of them
    raises, and :class:`EngineError` if the engine refuses the document.
    """
    with translated():
        return output(_extension().run(document, dict(controllers or {})))


def output(raw: Any) -> Output:
    """The tables of a finished run of the extension."""
    import polars as pl

    tables = {name: pl.DataFrame(getattr(raw, name)) for name in TABLES}
    return Output(**tables, info=json.loads(raw.info))


def empty_tables() -> dict[str, pl.DataFrame]:
    """The tables of no run, by name: their columns and types."""
    import polars as pl

    return {name: pl.DataFrame(table) for name, table in zip(TABLES, _extension().empty_tables(), strict=True)}


def run_raw(document: str) -> None:
    """Run one resolved run and drop its tables: what the engine costs by itself."""
    with translated():
        _extension().run(document)


def capture(document: str, file: str, comment: str, *, ethernet: bool, controllers: Controllers) -> int:
    """Play a resolved run that says where packets are looked at, and write them to `file`; how many there are.

    Raises as :func:`run` does, and :class:`OSError` where the file cannot be written.
    """
    with translated():
        return int(_extension().capture(document, file, comment, ethernet, dict(controllers)))


class Batch:
    """Runs whose tables are kept together as Arrow streams, in which a column `run` tells them apart."""

    def __init__(self) -> None:
        self._batch = _extension().Batch()

    def run(self, number: int, document: str, controllers: Controllers) -> tuple[str, int]:
        """Play a resolved run as run `number`: what it cost, as JSON, and its rows in all tables.

        Raises as :func:`run` does.
        """
        with translated():
            counted: tuple[str, int] = self._batch.run(number, document, dict(controllers))
        return counted

    def add(self, number: int, played: str, wall_s: float) -> tuple[str, int]:
        """Keep what another engine has played as run `number`; returns as :meth:`run` does.

        Raises :class:`EngineError` where `played` is no such thing.
        """
        with translated():
            counted: tuple[str, int] = self._batch.add(number, played, wall_s)
        return counted

    def take(self) -> tuple[bytes, ...]:
        """The streams of :data:`TABLES`."""
        return tuple(self._batch.take())


def stepper(document: str, controllers: Controllers | None = None) -> Any:
    """A resolved run to be stepped; the object of the extension. Raises :class:`EngineError` for a wrong one."""
    with translated():
        return _extension().Stepper(document, dict(controllers or {}))


def fleet(documents: Sequence[tuple[str, int]], size: int, threads: int) -> Any:
    """`size` simulations stepped together on `threads`, of resolved runs with the number of the flow to decide for.

    The object of the extension. Raises :class:`EngineError` for a wrong run, or one with a controller in Python.
    """
    with translated():
        return _extension().Fleet(list(documents), size, threads)


def fleet_columns() -> list[str]:
    """Names of the numbers that a step of a fleet yields for each simulation."""
    return list(_extension().Fleet.columns())


def location() -> str:
    """The file of the compiled engine."""
    return str(_extension().__file__)


def record(document: str, flow: str, controllers: Controllers) -> list[str]:
    """Run one resolved run and return what the controller of `flow` was told and decided, one JSON object each."""
    with translated():
        return list(_extension().record(document, flow, dict(controllers)))


def replay(events: Sequence[str], flow: str, controllers: Controllers) -> list[str]:
    """Tell the controller of a resolved flow what was recorded; what it decides, one JSON object each."""
    with translated():
        return list(_extension().replay(list(events), flow, dict(controllers)))


@contextmanager
def translated() -> Iterator[None]:
    """Turn the extension's errors into those of this package."""
    extension = _extension()
    try:
        yield
    except extension.ControllerFailure as failure:
        controller, flow, at_ns, method = failure.args
        cause = failure.__cause__
        assert cause is not None
        problem = one_line("".join(traceback.format_exception_only(cause)))
        text = "".join(traceback.format_exception(cause))
        raise ControllerError(problem, controller, flow, at_ns / 1e9, method, text) from cause
    except ValueError as error:
        raise EngineError(str(error)) from error


def _algorithm(item: Json) -> Algorithm:
    params = {entry["name"]: _option(entry) for entry in item["params"]}
    return Algorithm(
        item["name"],
        item.get("family", ""),
        item["source"],
        item["summary"],
        params,
        item.get("differences", ""),
        item.get("own_start", False),
        item.get("ecn", "classic"),
        item.get("ect1", False),
    )


def _discipline(item: Json) -> Discipline:
    params = {entry["name"]: _option(entry) for entry in item["params"]}
    return Discipline(item["name"], item["source"], item["summary"], params, item["default_limit"])


def _option(item: Json) -> Option:
    return Option(item["name"], item["kind"], item["default"], *_bounds(item), item["doc"])


def _tcp_option(item: Json) -> TcpOption:
    defaults = item["defaults"]
    default = next(iter(defaults.values()))
    return TcpOption(item["name"], item["kind"], default, *_bounds(item), item["doc"], defaults)


def _bounds(item: Json) -> tuple[tuple[str, ...] | None, tuple[float | None, float | None] | None]:
    choices, limits = item.get("choices"), item.get("range")
    return tuple(choices) if choices else None, (limits[0], limits[1]) if limits else None
