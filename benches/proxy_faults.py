#!/usr/bin/env python3
"""A day of faults for ``ackclock proxy``: one of each kind every 10 s for 24 hours, as fast as they can be played.

    .venv/bin/python benches/proxy_faults.py [--rounds 8640] [--samples 18] [--json]

A round is one fault of each kind (:mod:`proxy_fault_kinds`): resets, ends and silence of either side, at any time. Each
has to end as it should, and the proxies' own counts have to say so. Of no kind are more than 200 open at a time,
however busy the computer is. Between rounds, with nothing open, the descriptors and the memory of the proxies are
looked at: they have to be level once a sixth of the rounds is over. Everything is on this computer's loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from typing import Any

from proxy_fault_kinds import KINDS, PATIENCE_S, Day, WrongError, serve

PACE_S = 0.06
"""Between the begins of two rounds: so many at a time are open that a busy computer still answers each in time."""

AT_A_TIME = 200
"""Of one kind at most: those that take 12 s, which on a computer with nothing else to do are that many by the pace."""

WARM = 6
"""One of so many samples is before the proxies have what they keep."""

LEAST_SAMPLES = 4
"""One that is before that, and three with a first and a last third to tell what rises."""

LEVEL_BYTES = 256 << 10
"""Memory that counts as level: an allocator takes a page here and there."""


async def one(day: Day, name: str, failed: collections.Counter[str], place: asyncio.Semaphore) -> None:
    """One fault, whose place is free for the next one afterwards."""
    try:
        await asyncio.wait_for(KINDS[name][2](day), PATIENCE_S)
    except (WrongError, OSError, TimeoutError) as error:
        failed[f"{name}: {error or type(error).__name__}"] += 1
    finally:
        place.release()


async def played(rounds: int, samples: int) -> dict[str, Any]:
    """What is to be known after so many rounds."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=4096)
    gone, hole = socket.socket(), socket.socket()
    for of in (gone, hole):
        of.bind(("127.0.0.1", 0))
    hole.listen(0)
    full = [socket.socket() for _ in range(4)]
    for of in full:
        of.setblocking(False)
        of.connect_ex(hole.getsockname())
    await asyncio.sleep(0.3)
    day = Day(server.sockets[0].getsockname()[1], gone.getsockname()[1], hole.getsockname()[1])
    begin = {name: (of.descriptors(), of.memory()) for name, of in day.doors.items()}
    seen: dict[str, list[tuple[int, int]]] = {name: [] for name in day.doors}
    counted: dict[str, dict[str, float]] = {}
    failed: collections.Counter[str] = collections.Counter()
    places = {name: asyncio.Semaphore(AT_A_TIME) for name in KINDS}
    started, done = time.monotonic(), 0
    for sample in range(samples):
        many = rounds * (sample + 1) // samples - done
        faults: list[asyncio.Task[None]] = []
        for _ in range(many):
            for name, place in places.items():
                await place.acquire()
                faults.append(asyncio.create_task(one(day, name, failed, place)))
            await asyncio.sleep(PACE_S)
        await asyncio.gather(*faults)
        done += many
        counted = {name: await of.at_rest() for name, of in day.doors.items()}
        settled = await asyncio.gather(*(of.settled() for of in day.doors.values()))
        for (name, of), memory in zip(day.doors.items(), settled, strict=True):
            seen[name].append((of.descriptors(), memory))
        print(
            f"{done} of {rounds} rounds, {time.monotonic() - started:.0f} s, {sum(failed.values())} wrong, "
            f"{len(miscounted(counted, done))} counts; " + "; ".join(f"{name} {of[-1]}" for name, of in seen.items()),
            *(f"{count}: {what}" for what, count in failed.most_common(5)),
            sep="\n  ",
            file=sys.stderr,
        )
    took = time.monotonic() - started
    told = {name: ended(of.process) for name, of in day.doors.items()}
    return {
        "rounds": rounds, "took_s": took, "fast_open": day.fast, "wrong": dict(failed), "told": told,
        "miscounted": miscounted(counted, rounds),
        "proxies": {name: level(begin[name], seen[name]) for name in day.doors},
    }  # fmt: skip


def ended(process: subprocess.Popen[str]) -> str:
    """How a proxy ends that is asked to, and the last that it says."""
    process.terminate()
    assert process.stderr is not None
    said = process.stderr.read().splitlines()
    return f"{process.wait(60)}: {said[-1] if said else 'nothing'}"


def miscounted(counted: dict[str, dict[str, float]], rounds: int) -> dict[str, tuple[float, float]]:
    """Of what the proxies have counted that which is not as many as there were: theirs, and ours."""
    expected: collections.Counter[tuple[str, str]] = collections.Counter()
    for door, why, _ in KINDS.values():
        expected[door, f'connections_ended_total{{why="{why}"}}'] += rounds
    said = {(door, key) for door, of in counted.items() for key, n in of.items() if "ended_total" in key and n}
    both = {each: (counted[each[0]].get(each[1], 0.0), float(expected[each])) for each in said | set(expected)}
    return {f"{door} {key}": pair for (door, key), pair in sorted(both.items()) if pair[0] != pair[1]}


def level(begin: tuple[int, int], seen: list[tuple[int, int]]) -> dict[str, Any]:
    """Descriptors and memory: at the begin; once it is warm the least, the most, and the last third above the first."""
    warm = seen[max(1, len(seen) // WARM) :]
    third = max(1, len(warm) // 3)
    found: dict[str, Any] = {"samples": len(warm)}
    for what, of in (("descriptors", 0), ("memory_bytes", 1)):
        values = [each[of] for each in warm]
        rise = statistics.mean(values[-third:]) - statistics.mean(values[:third])
        found[what] = {"begin": begin[of], "least": min(values), "most": max(values), "rise": rise}
    return found


def problems(result: dict[str, Any]) -> list[str]:
    """What is not as it has to be."""
    found = [f"{count} times {what}" for what, count in result["wrong"].items()]
    found += [f"{what}: counted {ours[0]:.0f}, not {ours[1]:.0f}" for what, ours in result["miscounted"].items()]
    for name, of in result["proxies"].items():
        # 64 pipes are kept, and no more than that may come.
        if of["descriptors"]["most"] > of["descriptors"]["begin"] + 128 + 8:
            found.append(f"{name}: {of['descriptors']}")
        if of["memory_bytes"]["rise"] > LEVEL_BYTES:
            found.append(f"{name}: {of['memory_bytes']}")
    found += [
        f"{name} ended with {said}"
        for name, said in result["told"].items()
        if not said.startswith("0: ") or " 0 were cut" not in said
    ]
    return found


def main() -> int:
    """Play, and print."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--rounds", type=int, default=8640)
    options.add_argument("--samples", type=int, default=18)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    if given.samples < LEAST_SAMPLES or given.rounds < given.samples:
        options.error(f"{given.samples} samples of {given.rounds} rounds cannot tell what rises; {LEAST_SAMPLES} can")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    result = asyncio.run(played(given.rounds, given.samples))
    found = problems(result)
    if given.json:
        print(json.dumps(result | {"problems": found}, indent=1))
    else:
        print(
            f"{result['rounds']} rounds of {len(KINDS)} faults in {result['took_s']:.0f} s, "
            f"load {os.getloadavg()[0]:.1f}"
        )
        for name, of in result["proxies"].items():
            for what in ("descriptors", "memory_bytes"):
                print(f"{name:10}{what:14}" + "  ".join(f"{key} {value:.0f}" for key, value in of[what].items()))
        print("\n".join(found) or "nothing is wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
