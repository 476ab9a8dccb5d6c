#!/usr/bin/env python3
"""What a sweep costs beside its runs: CPU per run, parallel efficiency, memory; and bytes per sample of what it keeps.

Everything is compared within one execution: the engine alone plays the same runs, and pools of processes and of Dask
play tasks that do nothing.

    .venv/bin/python benches/orchestration.py [--quick]
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import ackclock
from ackclock import engine
from ackclock.scenario.plan import Plan, load

CORES = 2


def scenario(duration: str, replications: int, **more: Any) -> dict[str, Any]:
    """A dumbbell of 100 Mbit/s with two controllers."""
    return {
        "topology": {"kind": "dumbbell", "rate": "100 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 BDP"}},
        "flows": [{"cc": ["reno", "cubic"]}],
        "run": {"duration": duration, "replications": replications},
        **more,
    }


def swept(plan: Plan, jobs: int) -> tuple[float, float, float]:
    """CPU time of this process, wall time, and bytes on disk per sample, of a fresh sweep."""
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = time.process_time(), time.perf_counter()
        report = ackclock.sweep(plan, Path(folder) / "out", jobs=jobs)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        size, samples = (Path(folder) / "out" / "series.parquet").stat().st_size, report.result.series.height
        return cpu, wall, size / max(samples, 1)


def alone(plan: Plan) -> float:
    """CPU time of the engine for the runs of a plan."""
    texts = [job.text() for job in plan.jobs()]
    begun = time.process_time()
    for text in texts:
        engine.run_raw(text)
    return time.process_time() - begun


def overhead(rounds: int, runs: int) -> list[float]:
    """Microseconds of CPU per run in this process beyond the engine's; fewer runs are subtracted, and so the start."""
    few, many = (load(scenario("1 ms", n)) for n in (runs // 20, runs // 2))
    swept(few, 1)
    found = []
    for _ in range(rounds):
        (less, *_), (more, *_) = swept(few, 1), swept(many, 1)
        of_engine = alone(many) - alone(few)
        found.append((more - less - of_engine) / (len(many) - len(few)) * 1e6)
    return found


def empty(make: Callable[[], Executor], tasks: int) -> float:
    """Microseconds per task that does nothing, of a pool that is warm."""
    with make() as pool:
        for future in [pool.submit(abs, n) for n in range(100)]:
            future.result()
        begun = time.perf_counter()
        for future in [pool.submit(abs, n) for n in range(1000, 1000 + tasks)]:
            future.result()
        return (time.perf_counter() - begun) / tasks * 1e6


def efficiency(runs: int, seconds: float) -> tuple[float, float, float]:
    """Wall time of runs of about so many seconds on one process and on two, and the share of two processors used."""
    probe = load(scenario("10 s", 1))
    engine.run_raw(next(probe.jobs()).text())
    begun = time.perf_counter()
    engine.run_raw(next(probe.jobs()).text())
    length = max(1, round(10 * seconds / (time.perf_counter() - begun)))
    plan = load(scenario(f"{length} s", runs // 2))
    _, one, *_ = swept(plan, 1)
    _, two, *_ = swept(plan, CORES)
    return one, two, one / (CORES * two)


def resident() -> float:
    """Memory of this process now, MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def memory(runs: int, answer: Connection) -> None:
    """Memory of a process, MB: after a tenth of a sweep's runs, after all, and its peak with the tables written."""
    told = {runs // 10: 0.0, runs: 0.0}

    def tell(event: dict[str, Any]) -> None:
        if event.get("finished") in told:
            told[event["finished"]] = resident()

    with tempfile.TemporaryDirectory() as folder:
        ackclock.sweep(scenario("1 ms", runs // 2), Path(folder) / "out", jobs=1, tell=tell)
    answer.send((*told.values(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3))


def in_fresh_process(runs: int) -> tuple[float, float, float]:
    """What :func:`memory` finds where nothing else has been done."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=memory, args=(runs, there))
    process.start()
    there.close()  # so that the other end is known to be gone when the process is
    found: tuple[float, float, float] = here.recv()
    process.join()
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    quick = parser.parse_args().quick
    most_runs = 2000 if quick else 10_000
    for runs in (most_runs // 10, most_runs, 10 * most_runs):
        tenth, whole, peak = in_fresh_process(runs)
        print(f"memory: {tenth:.0f} MB after {runs // 10} runs, {whole:.0f} MB after {runs}; peak {peak:.0f} MB")
    found = overhead(3, 1000 if quick else 4000)
    middle, least, most = statistics.median(found), min(found), max(found)
    print(f"CPU per run beyond the engine, in process: {middle:.0f} us ({least:.0f} to {most:.0f})")
    context = multiprocessing.get_context("spawn")
    idle = empty(lambda: ProcessPoolExecutor(CORES, context), 2000)
    print(f"a task that does nothing, ProcessPoolExecutor: {idle:.0f} us")
    dask = importlib.import_module("distributed")
    with (
        dask.LocalCluster(n_workers=CORES, threads_per_worker=1, dashboard_address=None) as cluster,
        dask.Client(cluster) as client,
    ):
        print(f"a task that does nothing, Dask: {empty(lambda: client.get_executor(pure=False), 1000):.0f} us")
    runs, seconds = (40, 0.2) if quick else (200, 1.0)
    one, two, share = efficiency(runs, seconds)
    print(f"{runs} runs of about {seconds:g} s: {one:.1f} s on one process, {two:.1f} s on {CORES}; {share:.1%}")
    plan = load(scenario("60 s", 5, probes={"interval": "10 ms"}))
    *_, each = swept(plan, 1)
    print(f"series: {each:.2f} bytes per sample on disk")


if __name__ == "__main__":
    main()
