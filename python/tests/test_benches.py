"""The benchmark of controllers in Python: that it runs, and what it refuses. Nothing is timed here."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

import ackclock
from ackclock import reference

BENCHES = Path(__file__).resolve().parents[2] / "benches"
SHORT = ["--rounds", "1", "--duration", "0.5"]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHES))
    return importlib.import_module("python_controllers")


def test_costs_are_divided_by_the_acknowledgments_that_python_saw(
    bench: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.main([*SHORT, *bench.PAIRS])
    _, *rows, _ = capsys.readouterr().out.partition("controller ")[2].splitlines()
    counts = {row[:15].strip(): [float(cell) for cell in row[15:].split()[:3]] for row in rows}
    assert list(counts) == list(bench.PAIRS)
    for name, (acks, handled, calls) in counts.items():
        # A law without `observe` is not asked in slow start and in recovery; one with it sees every acknowledgment.
        if name in ("vegas", "westwood+"):
            assert handled == acks
            assert 1 < calls <= 2
        else:
            assert 0 < handled < acks
            assert calls == 1


def test_only_controllers_that_decide_alike_are_compared(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Timid(reference.Reno):
        def reduce(self, cx: ackclock.Cx, signal: ackclock.Signal) -> float:
            return super().reduce(cx, signal) / 2

    monkeypatch.setitem(bench.PAIRS, "reno", ("reno", Timid))
    with pytest.raises(SystemExit, match="do not decide alike"):
        bench.main([*SHORT, "reno"])


def test_a_wrong_name_is_an_error(bench: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["tahoe"])
    assert "there is no 'tahoe'" in capsys.readouterr().err
