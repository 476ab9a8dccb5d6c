"""The shipped scenarios on other engines, as they were recorded, beside what the simulator makes of them now."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import engines_runs
from engines_runs import METRICS, SCENARIOS, Compared, compared, records, settings

CELLS = [(engine, name) for engine, record in records().items() for name in record["scenarios"]]


def test_the_records_are_of_shipped_scenarios_played_or_refused() -> None:
    shipped = {path.stem for path in SCENARIOS.glob("*.toml")}
    assert set(settings()["scenarios"]) == shipped
    for record in records().values():
        assert set(record["scenarios"]) | set(record["refused"]) == shipped
        assert not set(record["scenarios"]) & set(record["refused"])
        assert all(record["refused"].values())


def test_in_virtual_time_every_run_is_valid() -> None:
    [record] = [record for engine, record in records().items() if engine == "kernel-vt"]
    for name, item in record["scenarios"].items():
        assert all(run["valid"] for run in item["runs"]), name
        assert list(compared("kernel-vt", name)), name


@pytest.mark.parametrize(("engine", "name"), CELLS)
def test_the_simulator_agrees_with_the_engine(engine: str, name: str) -> None:
    known = engines_runs.known(engine, name)
    for item in compared(engine, name):
        text = f"{item.metric}: {item.ours:.6g}, {engine} {item.theirs:.6g}, noise {item.noise:.3g}"
        if item.metric in known:
            assert not item.agrees, f"{text}: agrees, so that its deviation is none"
            assert abs(item.difference) <= known[item.metric].bound, text
        else:
            assert item.agrees, text


def pairs(*values: tuple[float, float]) -> Compared:
    return Compared("any", "total_goodput_bps", values)


def verdicts() -> Iterator[tuple[Compared, bool, bool]]:
    # 1 % apart, of which 2 % are allowed.
    yield pairs((99.0, 100.0)), True, True
    # 3 % apart: one run says nothing of chance.
    yield pairs((97.0, 100.0)), False, False
    # As far apart on the mean of two that differ by 2 and 4: 99 % of t with one degree of freedom are 63.7 times 1.
    yield pairs((98.0, 100.0), (96.0, 100.0)), False, True
    # Always by 3 %: that is not chance.
    yield pairs(*[(97.0 + n / 100, 100.0 + n / 100) for n in range(5)]), False, False


@pytest.mark.parametrize(("item", "close", "agrees"), list(verdicts()))
def test_what_counts_as_agreement(item: Compared, close: bool, agrees: bool) -> None:
    assert (item.close, item.agrees) == (close, agrees)
    assert METRICS[item.metric].share == 0.02
