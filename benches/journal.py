#!/usr/bin/env python3
"""The journal of a sweep beside SQLite with the same promises: appending, opening again, damage, size, readers.

Both keep the same batches, each with a checksum, and find out which runs they have when they are opened. SQLite has a
write-ahead log; `full` brings each batch to the disk at once, `normal` when the log is carried over.

    .venv/bin/python benches/journal.py [DIRECTORY] [--quick]
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import inspect
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ackclock.errors import AckclockError
from ackclock.execution import batch, journal, records
from ackclock.execution.index import Index
from ackclock.execution.keys import Texts
from ackclock.execution.store import Store
from ackclock.scenario.plan import load

# --- SQLite as it would be


class Database:
    """Finished runs in a database, by key."""

    def __init__(self, folder: Path, synchronous: str = "normal") -> None:
        self.path = folder / "runs.sqlite"
        self.entries = Index()
        self.damaged = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._file = sqlite3.connect(self.path, isolation_level=None)
        self._file.execute("pragma journal_mode = wal")
        self._file.execute(f"pragma synchronous = {synchronous}")
        self._file.execute(
            "create table if not exists batches (id integer primary key, checksum blob not null, payload blob not null)"
        )
        for number, checksum, payload in self._file.execute("select id, checksum, payload from batches order by id"):
            if hashlib.sha256(payload).digest()[:16] == checksum:
                self.entries.enter_batch(batch.header(payload).runs, number)
            else:
                self.damaged += len(payload)

    def append(self, payload: bytes) -> batch.Header:
        """Keep a batch."""
        found = batch.header(payload)
        row = (hashlib.sha256(payload).digest()[:16], payload)
        number = self._file.execute("insert into batches (checksum, payload) values (?, ?)", row).lastrowid
        assert number is not None
        self.entries.enter_batch(found.runs, number)
        return found

    def payload(self, offset: int) -> bytes:
        """The batch of that number."""
        found: bytes = self._file.execute("select payload from batches where id = ?", (offset,)).fetchone()[0]
        return found

    def close(self) -> None:
        """Carry the log over and let go."""
        self._file.close()


# --- Measuring


class Kept(Store, Protocol):
    """A store in a directory."""

    path: Path

    def close(self) -> None:
        """Have everything on the disk."""


Open = Callable[[Path], Kept]
STORES: dict[str, Open] = {
    "journal": journal.Journal,
    "SQLite, normal": Database,
    "SQLite, full": lambda folder: Database(folder, "full"),
}


def batches(count: int, runs: int, duration: str) -> list[bytes]:
    """So many batches of runs of one dumbbell."""
    raw = {
        "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 BDP"}},
        "flows": [{"cc": "cubic"}],
        "probes": {"interval": "10 ms"},
        "run": {"duration": duration, "replications": count * runs},
    }
    plan = load(raw)
    texts = Texts(plan)
    return [
        batch.play([texts.task(0, number * runs + run) for run in range(runs)], plan.folder) for number in range(count)
    ]


def appended(make: Open, payloads: list[bytes], folder: Path) -> tuple[float, float, float]:
    """Microseconds per batch (median), the longest of them in ms, and ms to close: to have the rest on the disk."""
    store = make(folder)
    each = []
    for payload in payloads:
        begun = time.perf_counter()
        store.append(payload)
        each.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    store.close()
    return statistics.median(each) * 1e6, max(each) * 1e3, (time.perf_counter() - begun) * 1e3


def opened(make: Open, folder: Path) -> tuple[float, int]:
    """Milliseconds to open a store that is there, and how many runs it has."""
    begun = time.perf_counter()
    store = make(folder)
    took = (time.perf_counter() - begun) * 1e3
    count = len(store.entries)
    store.close()
    return took, count


KILLED = """
import sys; sys.path.insert(0, {here!r})
from pathlib import Path
import journal as bench
payload = Path({payload!r}).read_bytes()
store = bench.STORES[{name!r}](Path({folder!r}))
for number in range(10**9):
    store.append(payload.replace(b'"key":"', b'"key":"%08d' % number))
    print(number, flush=True)
"""


def killed(name: str, payload: bytes, folder: Path) -> tuple[int, int, float]:
    """Batches whose append had returned when the process was killed, those there afterwards, and ms to open it."""
    # The key gets longer, and the length of the header with it.
    size = int.from_bytes(payload[8:12], "little") + 8
    file = folder.with_suffix(".payload")
    file.write_bytes(payload[:8] + size.to_bytes(4, "little") + payload[12:])
    code = KILLED.format(here=str(Path(__file__).parent), payload=str(file), name=name, folder=str(folder))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1.0)
        os.kill(process.pid, signal.SIGKILL)
        last = process.stdout.read().splitlines()[-1]
    took, found = opened(STORES[name], folder)
    return int(last) + 1, found, took


DAMAGES = ("byte", "block", "tail")
"""One byte changed, 4 kB of zeros, or the end of the file missing; where, is drawn."""


def damaged(make: Open, payloads: list[bytes], folder: Path, how: str, times: int) -> tuple[float, int]:
    """The file is damaged, many times over: the share of runs left on average, and how often none was."""
    store = make(folder)
    for payload in payloads:
        store.append(payload)
    whole, file = len(store.entries), store.path
    store.close()
    content, draws, left = file.read_bytes(), random.Random(7), []  # noqa: S311
    for _ in range(times):
        place = draws.randrange(len(content))
        changed = bytearray(content)
        if how == "byte":
            changed[place] ^= 0xFF
        elif how == "block":
            begin = place - place % 4096
            changed[begin : begin + 4096] = bytes(min(4096, len(content) - begin))
        else:
            del changed[place:]
        for other in folder.iterdir():
            other.unlink()
        file.write_bytes(changed)
        try:
            left.append(opened(make, folder)[1] / whole)
        except (sqlite3.Error, AckclockError):
            left.append(0.0)
    return statistics.mean(left), left.count(0.0)


READERS = {
    "journal": "from ackclock.execution.journal import Journal; Journal(Path(sys.argv[1]).parent)",
    "SQLite": "import sqlite3; sqlite3.connect(sys.argv[1]).execute('select count(*) from batches').fetchone()",
}


def reading(name: str, payloads: list[bytes], folder: Path) -> bool:
    """Whether somebody else can read what is there while a process writes."""
    store = STORES[name](folder)
    for payload in payloads[:10]:
        store.append(payload)
    code = f"import sys; from pathlib import Path; {READERS[name.split(',')[0]]}"
    done = subprocess.run([sys.executable, "-c", code, str(store.path)], capture_output=True, check=False)
    store.close()
    return done.returncode == 0


def lines(*parts: object) -> int:
    """Lines of code without comments, documentation and blank lines."""
    total = 0
    for part in parts:
        tree = ast.parse(inspect.getsource(part))  # type: ignore[arg-type]
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [  # type: ignore[attr-defined]
                    item for item in body if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
                ] or [ast.Pass()]
        total += len(ast.unparse(tree).splitlines())
    return total


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", nargs="?", type=Path, help="where to write; its disk is what is measured")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    count, flips = (50, 20) if asked.quick else (400, 100)
    small, large = batches(count, 4, "1 s"), batches(max(10, count // 20), 1, "300 s")
    print(
        f"batches of {statistics.mean(map(len, small)) / 1e3:.0f} kB, {statistics.mean(map(len, large)) / 1e3:.0f} kB"
    )
    print("lines of code: journal", lines(journal, records), "SQLite", lines(Database))
    with tempfile.TemporaryDirectory(dir=asked.directory) as temporary:
        for name, make in STORES.items():
            print(name)
            for size, payloads in (("small", small), ("large", large)):
                folder = Path(temporary) / name / size
                middle, longest, closing = appended(make, payloads, folder)
                took, _ = opened(make, folder)
                used = sum(file.stat().st_size for file in folder.iterdir()) / sum(map(len, payloads))
                print(
                    f"  {size}: {middle:.0f} us per batch, at most {longest:.1f} ms, closed in {closing:.1f} ms,"
                    f" opened in {took:.1f} ms, {used:.3f} of the payload on disk"
                )
            done, there, took = killed(name, batches(1, 1, "1 s")[0], Path(temporary) / name / "killed")
            print(f"  killed: {done} appended, {there} there, opened in {took:.1f} ms")
            if "full" not in name:
                for how in DAMAGES:
                    mean, none = damaged(make, small, Path(temporary) / name / how, how, flips)
                    print(f"  {how} damaged: {100 * mean:.2f} % left on average, nothing left in {none} of {flips}")
            print(f"  read while written: {reading(name, small, Path(temporary) / name / 'read')}")


if __name__ == "__main__":
    main()
