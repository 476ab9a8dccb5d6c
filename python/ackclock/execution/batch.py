"""Finished runs as bytes: what goes from process to process, and what is kept on disk.

``ACKRUNS1``, the length of a JSON object, that object, and Arrow streams. The object has `engine`, who played
them; `runs`, for each its key and either `info` (what the engine says of it) and `rows`, those it has in all tables, or
`error`; and `sizes`, the lengths of the streams, in the order of :data:`STREAMS`; an older version wrote fewer.
The column `run` of the streams is the place of a run among `runs`.
"""

from __future__ import annotations

import io
import json
import struct
import time
import traceback
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock import engine, host, kernel
from ackclock.controllers import loading
from ackclock.errors import AckclockError, ControllerError, EngineError, Problem, one_line
from ackclock.execution import turns
from ackclock.execution.keys import Task, engine_identity
from ackclock.virtual import guest

if TYPE_CHECKING:
    import polars as pl

STREAMS = engine.TABLES
_LARGE = 1_000_000
"""Bytes of the tables of a batch from which on what it was made of is worth giving back to the system."""
_MAGIC = b"ACKRUNS1"
_LENGTH = struct.Struct("<I")

Failed = Callable[[BaseException], None]
"""Called with what a run raised."""


def play(
    tasks: Sequence[Task],
    folder: str | None,
    *,
    stop: bool = False,
    interruptible: bool = False,
    failed: Failed | None = None,
) -> bytes:
    """Play runs one after the other in this process. A run that fails is recorded with its error.

    stop: the first run that fails is the last one that is played.
    interruptible: a KeyboardInterrupt is somebody's Ctrl-C. In processes that never see one a controller raised it.
    failed: called with what the last run raised that failed.
    """
    batch, runs, errors = engine.Batch(), list[str](), list[BaseException]()
    for number, task in enumerate(tasks):
        runs.append(_played(batch, number, task, folder, interruptible, errors.append))
        if errors and stop:
            break
    if errors and failed is not None:
        failed(errors[-1])
    streams = batch.take()
    if sum(map(len, streams)) > _LARGE:
        host.return_memory()
    return _packed(runs, streams)


def failure(task: Task, problem: str) -> bytes:
    """A run that could not be played, for a reason outside it."""
    return _packed([_failed(task, problem, repeat=True)], (b"",) * len(STREAMS))


def played(key: str, document: str, wall_s: float) -> bytes:
    """One run that another engine has played already; `document` is what it said. Raises :class:`EngineError`."""
    batch = engine.Batch()
    info, rows = batch.add(0, document, wall_s)
    return _packed([f'{{"key":{json.dumps(key)},"rows":{rows},"info":{info}}}'], batch.take())


def _played(
    batch: engine.Batch, number: int, task: Task, folder: str | None, interruptible: bool, failed: Failed
) -> str:
    """A run as the header describes it, in JSON."""
    classes = {name: _class(name, task, folder) for name in task.controllers}
    try:
        if kernel.plays(task.text):
            with turns.taken():
                begun = time.monotonic()
                played = kernel.play(task.text, json.loads(task.text)["duration_ns"] / 1e9)
                took = time.monotonic() - begun
            info, rows = batch.add(number, played, took)
        elif guest.plays(task.text):
            begun = time.monotonic()
            info, rows = batch.add(number, guest.play(task.text), time.monotonic() - begun)
        else:
            info, rows = batch.run(number, task.text, classes)
        return f'{{"key":"{task.key}","rows":{rows},"info":{info}}}'
    except ControllerError as error:
        failed(error)
        return _failed(task, str(error), error.traceback, raised=error.fields())
    except EngineError as error:
        failed(error)
        return _failed(task, str(error))
    except BaseException as error:
        # What is no Exception passes through the engine as it is: a panic of its own, for one.
        if isinstance(error, Exception) or (interruptible and isinstance(error, KeyboardInterrupt)):
            raise
        failed(error)
        return _failed(task, one_line(f"{type(error).__name__}: {error}"), traceback.format_exc())


def _class(name: str, task: Task, folder: str | None) -> loading.Class:
    """A class in Python, if it still is the one whose source is part of the run."""
    try:
        found = loading.find(name, folder)
    except Problem as problem:  # which would not come through to another process
        raise AckclockError(str(problem)) from None
    if found.source is not None and f'"{found.source}"' not in task.text:
        raise AckclockError(f"{name} is not here what it was when the sweep began; call it again")
    return found.cls


def _failed(
    task: Task, problem: str, traceback: str = "", *, repeat: bool = False, raised: Mapping[str, Any] | None = None
) -> str:
    error = {"problem": problem, "traceback": traceback, "repeat": repeat, "raised": raised}
    return json.dumps({"key": task.key, "error": error})


def _packed(runs: Sequence[str], streams: Sequence[bytes]) -> bytes:
    """A batch of runs, each described in JSON."""
    sizes = ",".join(str(len(stream)) for stream in streams)
    header = f'{{"engine":{json.dumps(engine_identity())},"runs":[{",".join(runs)}],"sizes":[{sizes}]}}'.encode()
    return b"".join((_MAGIC, _LENGTH.pack(len(header)), header, *streams))


@dataclass(frozen=True, slots=True)
class Header:
    """What a batch holds, and which engine played it. `begin` is where its streams begin."""

    engine: str
    runs: list[dict[str, Any]]
    sizes: list[int]
    begin: int


def header(payload: bytes | memoryview) -> Header:
    """The header of a batch. Raises :class:`ValueError` if it is not one."""
    if bytes(payload[: len(_MAGIC)]) != _MAGIC:
        raise ValueError("not a batch of runs")
    at = len(_MAGIC) + _LENGTH.size
    (length,) = _LENGTH.unpack(payload[len(_MAGIC) : at])
    content = json.loads(bytes(payload[at : at + length]))
    return Header(content.get("engine", ""), content["runs"], content["sizes"], at + length)


def tables(payload: bytes, without: Container[str] = ()) -> dict[str, pl.DataFrame]:
    """The tables of a batch by name; those of a batch without a finished run are missing. Some may be left empty."""
    import polars as pl

    found = header(payload)
    at, result = found.begin, {}
    for name, size in zip(STREAMS, found.sizes, strict=False):
        if size:
            result[name] = pl.read_ipc_stream(
                io.BytesIO(payload[at : at + size]), n_rows=0 if name in without else None
            )
        at += size
    return result
