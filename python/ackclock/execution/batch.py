"""Finished runs as bytes: what goes from process to process, and what is kept on disk.

``ACKRUNS1``, the length of a JSON object, that object, and four Arrow streams. The object has `runs`, for each its
key and either `info` (what the engine says of it) and `rows`, those it has in all tables, or `error`; and `sizes`, the
lengths of the streams of flows, links, transfers and series. The column `run` of the streams is the place of a run
among `runs`.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock import engine
from ackclock.controllers import loading
from ackclock.errors import ControllerError, EngineError
from ackclock.execution.keys import Task

if TYPE_CHECKING:
    import polars as pl

STREAMS = ("flows", "links", "transfers", "series")
_MAGIC = b"ACKRUNS1"
_LENGTH = struct.Struct("<I")


def play(tasks: Sequence[Task], folder: str | None) -> bytes:
    """Play runs one after the other in this process. A run that fails is recorded with its error."""
    batch = engine.Batch()
    runs = [_played(batch, number, task, folder) for number, task in enumerate(tasks)]
    return _packed(runs, batch.take())


def failure(task: Task, problem: str) -> bytes:
    """A run that could not be played, for a reason outside it."""
    return _packed([_failed(task, problem, repeat=True)], (b"", b"", b"", b""))


def _played(batch: engine.Batch, number: int, task: Task, folder: str | None) -> str:
    """A run as the header describes it, in JSON."""
    try:
        classes = {name: loading.find(name, folder).cls for name in task.controllers}
        info, rows = batch.run(number, task.text, classes)
        return f'{{"key":"{task.key}","rows":{rows},"info":{info}}}'
    except ControllerError as error:
        return _failed(task, str(error), error.traceback)
    except EngineError as error:
        return _failed(task, str(error))


def _failed(task: Task, problem: str, traceback: str = "", *, repeat: bool = False) -> str:
    return json.dumps({"key": task.key, "error": {"problem": problem, "traceback": traceback, "repeat": repeat}})


def _packed(runs: Sequence[str], streams: Sequence[bytes]) -> bytes:
    """A batch of runs, each described in JSON."""
    sizes = ",".join(str(len(stream)) for stream in streams)
    header = f'{{"runs":[{",".join(runs)}],"sizes":[{sizes}]}}'.encode()
    return b"".join((_MAGIC, _LENGTH.pack(len(header)), header, *streams))


@dataclass(frozen=True, slots=True)
class Header:
    """What a batch holds. `begin` is where its streams begin."""

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
    return Header(content["runs"], content["sizes"], at + length)


def tables(payload: bytes) -> dict[str, pl.DataFrame]:
    """The tables of a batch by name; those of a batch without a finished run are missing."""
    import polars as pl

    found = header(payload)
    at, result = found.begin, {}
    for name, size in zip(STREAMS, found.sizes, strict=True):
        if size:
            result[name] = pl.read_ipc_stream(io.BytesIO(payload[at : at + size]))
        at += size
    return result
