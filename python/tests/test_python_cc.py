"""Controllers written in Python: by name, by class, in this process and in others."""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.cli.exit_codes import FAILED


@pytest.fixture
def raw(raw: dict[str, Any]) -> dict[str, Any]:
    """The references in Python are the standards' forms."""
    raw["flows"][0]["profile"] = "rfc"
    return raw


MODULE = """\
import ackclock

class Reno(ackclock.WindowBased):
    def __init__(self, keep=0.5):
        self.keep = keep

    def grow(self, cx, ack, acked):
        self.cwnd += acked / self.cwnd

    def reduce(self, cx, signal):
        return self.keep * min(signal.flight / cx.mss, self.cwnd)

class Broken(Reno):
    def grow(self, cx, ack, acked):
        if cx.now > 1:
            raise LookupError("no such luck")

class Unmade(Reno):
    def __init__(self):
        raise OSError("not today")

class Absurd(Reno):
    def grow(self, cx, ack, acked):
        self.cwnd = float("nan")

class Nothing(Reno):
    def grow(self, cx, ack, acked):
        self.cwnd = 0

class Endless(Reno):
    def grow(self, cx, ack, acked):
        self.cwnd = float("inf")

class Half(ackclock.CongestionControl):
    def on_ack(self, cx, ack):
        pass
"""


class Bytes(ackclock.CongestionControl):
    """Reno, all of it, in bytes."""

    def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
        if not ack.window_limited:
            return
        acked: float = ack.delivered
        if self.cwnd < self.ssthresh:
            acked = min(acked, cx.mss)
            grown = min(acked, self.ssthresh - self.cwnd)
            self.cwnd += grown
            acked -= grown
        if self.cwnd >= self.ssthresh:
            self.cwnd += acked * cx.mss / self.cwnd

    def on_congestion(self, cx: ackclock.Cx, signal: ackclock.Signal) -> None:
        if not signal.repeated:
            self.ssthresh = max(min(signal.flight, self.cwnd) / 2, 2 * cx.mss)
        self.cwnd = cx.mss if signal.kind == "timeout" else self.ssthresh


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "own_cc.py").write_text(MODULE, encoding="utf-8")
    yield tmp_path
    sys.modules.pop("own_cc", None)


def scenario(folder: Path, cc: str, extra: str = "") -> Path:
    path = folder / "s.toml"
    path.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "10 Mbit/s"\nrtt = "20 ms"\nqueue = { limit = "1 BDP" }\n'
        f'[[flows]]\ncc = {cc}\nprofile = "rfc"\n{extra}\n[run]\nduration = "3 s"\n',
        encoding="utf-8",
    )
    return path


def figures(result: ackclock.Result) -> list[pl.DataFrame]:
    """What a run did, without the names of its controllers and its number."""
    return [table.drop("cc", "run", strict=False) for table in (result.flows, result.links)]


def test_by_name_beside_the_scenario(folder: Path) -> None:
    path = scenario(folder, '"python:own_cc:Reno"')
    ours = ackclock.run(path, jobs=1)
    assert ours.flows["cc"].to_list() == ["python:own_cc:Reno"]
    for mine, theirs in zip(figures(ours), figures(ackclock.run(path, set={"cc": "reno"}, jobs=1)), strict=True):
        assert mine.equals(theirs)
    assert not (folder / "__pycache__").exists()


def test_parameters_and_worker_processes(folder: Path) -> None:
    path = scenario(folder, '["reno", { name = "python:own_cc:Reno", keep = [0.5, 0.8] }]')
    one, two = (ackclock.run(path, replications=2, jobs=jobs) for jobs in (1, 2))
    assert all(one.tables[name].equals(two.tables[name]) for name in one.tables)
    goodput = one.summary()["goodput_bps"].to_list()
    assert goodput[0] == goodput[1] != goodput[2]
    assert one.params == ["cc"]


@pytest.mark.parametrize("loss", [0, "2 %", "8 %"])
def test_by_class_all_by_itself(raw: dict[str, Any], loss: float | str) -> None:
    raw["topology"]["loss"] = loss
    raw["run"]["duration"] = "10 s"
    ours = ackclock.run(raw, set={"cc": Bytes}, jobs=1)
    assert ours.flows["recoveries"][0] > 0
    for mine, theirs in zip(figures(ours), figures(ackclock.run(raw, set={"cc": "reno"}, jobs=1)), strict=True):
        assert mine.equals(theirs)


def test_any_slow_start_goes_with_a_law(raw: dict[str, Any], folder: Path) -> None:
    raw["flows"][0]["slow_start"] = {"kind": "limited", "max_ssthresh": 10}
    path = scenario(folder, '"python:own_cc:Reno"', 'slow_start = { kind = "limited", max_ssthresh = 10 }')
    results = [ackclock.run(path, set={"cc": cc}, jobs=1) for cc in ("python:own_cc:Reno", "reno")]
    assert figures(results[0])[0].equals(figures(results[1])[0])
    raw["flows"][0]["cc"] = Bytes
    with pytest.raises(ackclock.InputError, match="starts by itself"):
        ackclock.load(raw)


def test_a_class_that_no_other_process_can_import(raw: dict[str, Any]) -> None:
    class Local(Bytes):
        pass

    raw["flows"] = [{"cc": Local}]
    result = ackclock.run(raw, replications=3, jobs=2)
    assert result.runs.height == 3
    assert result.flows["cc"][0].endswith("<locals>.Local")


def test_the_resolved_run_has_a_hash_of_the_source(folder: Path) -> None:
    path = scenario(folder, '{ name = "python:own_cc:Reno", keep = 0.7 }')

    def resolved() -> dict[str, Any]:
        cc: dict[str, Any] = next(ackclock.load(path).jobs()).document()["flows"][0]["cc"]
        return cc

    before = resolved()
    assert before["name"] == "python:own_cc:Reno"
    assert before["params"] == {"keep": 0.7}
    assert before["source"].startswith("sha256:")
    assert resolved() == before
    goodput = ackclock.run(path, jobs=1).flows["goodput_bps"][0]
    (folder / "own_cc.py").write_text(MODULE.replace("self.keep * ", "0.1 * "), encoding="utf-8")
    assert resolved()["source"] != before["source"]
    result = ackclock.run(path, jobs=1)
    assert result.flows["goodput_bps"][0] != goodput  # a module that changed is imported anew
    assert result.manifest["points"][0]["resolved"]["flows"][0]["cc"]["source"] == resolved()["source"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_exception_says_where_and_when(folder: Path, jobs: int) -> None:
    path = scenario(folder, '["reno", "python:own_cc:Broken"]', "count = 2")
    with pytest.raises(ackclock.ControllerError) as caught:
        ackclock.run(path, jobs=jobs, out=folder / "out")
    error = caught.value
    assert (error.controller, error.method, error.run) == (
        "python:own_cc:Broken",
        "grow",
        "run 1 (cc = python:own_cc:Broken)",
    )
    assert error.flow in ("0", "1")
    assert 1 < error.time_s < 1.1
    assert "no such luck" in str(error)
    assert "own_cc.py" in error.traceback
    assert "in grow" in error.traceback
    if jobs == 1:
        assert isinstance(error.__cause__, LookupError)
        assert error.result is not None
        assert ackclock.Result.load(folder / "out").manifest["missing"] == [1]


def test_the_command_line_prints_the_traceback(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(folder, '"python:own_cc:Broken"')
    assert main(["run", str(path)]) == FAILED
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    last = said.splitlines()[-1]
    assert last.startswith("ackclock: run 0: python:own_cc:Broken, flow 0, t = 1.")
    assert last.endswith("grow raised LookupError: no such luck")


@pytest.mark.parametrize(
    ("name", "method", "what"),
    [
        ("Unmade", "__init__", "OSError: not today"),
        ("Absurd", "grow", "cwnd is NaN"),
        ("Nothing", "grow", "cwnd is 0; it must be above zero and finite"),
        ("Endless", "grow", "cwnd is inf; it must be above zero and finite"),
    ],
)
def test_other_exceptions(folder: Path, name: str, method: str, what: str) -> None:
    with pytest.raises(ackclock.ControllerError, match=what) as caught:
        ackclock.run(scenario(folder, f'"python:own_cc:{name}"'), jobs=1)
    assert caught.value.method == method


@pytest.mark.parametrize(
    ("cc", "message"),
    [
        ("python:own_cc:Rino", "unknown class in own_cc 'Rino'; did you mean 'Reno'"),
        ("python:not_there:Reno", "no module 'not_there'"),
        ("python:own_cc", "does not name a class"),
        ("python:own_cc:ackclock", "is no controller; derive it from"),
        ("python:own_cc:Half", "Half has no method 'on_congestion'"),
        ("python:faulty:Reno", r"module 'faulty' cannot be imported: ZeroDivisionError.*faulty.py, line 2"),
        ({"name": "python:own_cc:Reno", "kep": 1}, "unknown parameter of Reno 'kep'; did you mean 'keep'"),
    ],
)
def test_what_cannot_be_used(folder: Path, cc: Any, message: str) -> None:
    (folder / "faulty.py").write_text("x = 1\n1 / 0\n", encoding="utf-8")
    with pytest.raises(ackclock.InputError, match=message) as caught:
        ackclock.load(scenario(folder, '"reno"'), set={"cc": cc})
    assert "\n" not in str(caught.value)


def test_none_is_no_threshold_yet(raw: dict[str, Any]) -> None:
    class Undecided(Bytes):
        ssthresh: Any = None

        def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
            if self.ssthresh is None:
                self.cwnd += ack.delivered if ack.window_limited else 0
            else:
                super().on_ack(cx, ack)

    class Law(ackclock.WindowBased):
        def grow(self, cx: ackclock.Cx, ack: ackclock.Ack, acked: float) -> None:
            self.cwnd += acked / self.cwnd

        def reduce(self, cx: ackclock.Cx, signal: ackclock.Signal) -> float:
            self.ssthresh = None  # type: ignore[assignment]
            return min(signal.flight / cx.mss, self.cwnd) / 2

    for cls in (Undecided, Law):
        flow = ackclock.run({**raw, "flows": [{"cc": cls}]}, jobs=1).flows.row(0, named=True)
        assert flow["goodput_bps"] > 1e6
        assert flow["recoveries"] > 0


@pytest.mark.parametrize(("given", "raised"), [(None, math.inf), (3000, 5000), (9000, 9000)])
def test_a_threshold_is_raised_but_none_stays_none(given: float | None, raised: float) -> None:
    controller = Bytes()
    controller.ssthresh = given  # type: ignore[assignment]
    controller.on_undo(None, SimpleNamespace(cwnd=2, ssthresh=5000))  # type: ignore[arg-type]
    assert controller.ssthresh == raised


def test_random_numbers_are_the_connections_own(raw: dict[str, Any]) -> None:
    drawn: list[float] = []

    class Random(Bytes):
        def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
            drawn.extend((cx.random(), cx.randrange(10)))
            super().on_ack(cx, ack)

    def draws(seed: int) -> list[float]:
        drawn.clear()
        ackclock.run(raw, set={"cc": Random}, seed=seed, jobs=1)
        return list(drawn)

    first = draws(1)
    assert len(set(first[::2])) == len(first) // 2
    assert set(first[1::2]) == set(range(10))
    assert draws(1) == first
    assert draws(2) != first


def test_what_is_kept_does_not_change(raw: dict[str, Any]) -> None:
    acks: list[tuple[ackclock.Cx, float, ackclock.Ack, int]] = []

    class Keeper(Bytes):
        def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
            acks.append((cx, cx.now, ack, ack.una))
            super().on_ack(cx, ack)

    ackclock.run(raw, set={"cc": Keeper}, jobs=1)
    assert len(acks) > 100
    assert all(cx.now == now and ack.una == una for cx, now, ack, una in acks)
    with pytest.raises(RuntimeError, match="only during a call"):
        acks[0][0].random()


def test_everything_is_seen(raw: dict[str, Any]) -> None:
    calls: list[str] = []
    seen: dict[str, Any] = {}

    class Watcher(Bytes):
        wants_rate = True

        def start(self, cx: ackclock.Cx, initial_window: int) -> None:
            calls.append("start")
            assert initial_window == 10 * cx.mss
            assert self.ssthresh == math.inf
            super().start(cx, initial_window)

        def observe(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
            calls.append("observe")
            seen["one_way"] = ack.one_way
            if ack.rtt is not None:
                assert ack.rtt_ns == round(ack.rtt * 1e9)

        def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
            calls.append("on_ack")
            seen["rate"] = ack.rate
            assert cx.now_ns == round(cx.now * 1e9)
            super().on_ack(cx, ack)

        def on_phase(self, cx: ackclock.Cx) -> None:
            calls.append(cx.phase)

        def on_lost(self, cx: ackclock.Cx, lost: ackclock.Lost) -> None:
            calls.append("on_lost")
            assert lost.len == cx.mss

        def on_recovered(self, cx: ackclock.Cx, cwnd: int) -> None:
            calls.append("on_recovered")
            super().on_recovered(cx, cwnd)

        def on_transmit_start(self, cx: ackclock.Cx) -> None:
            calls.append("on_transmit_start")

    ackclock.run(raw, set={"cc": Watcher, "run.duration": "10 s"}, jobs=1)
    assert calls[0] == "start"
    assert calls.index("observe") < calls.index("on_ack")
    assert {"recovery", "open", "on_lost", "on_recovered", "on_transmit_start"} <= set(calls)
    assert seen["one_way"] > 0
    assert 0 < seen["rate"].rate * 8 < 11e6


def test_pacing_by_rate(raw: dict[str, Any]) -> None:
    class Steady(Bytes):
        """Half of the link, whatever happens."""

        def start(self, cx: ackclock.Cx, initial_window: int) -> None:
            self.cwnd, self.pacing = 100 * cx.mss, 5e6 / 8

        def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
            pass

    raw["run"]["warmup"] = "1 s"
    result = ackclock.run(raw, set={"cc": Steady}, jobs=1)
    assert result.flows["goodput_bps"][0] == pytest.approx(5e6, rel=0.02)
    assert result.links["max_queue_packets"][0] <= 2


def test_other_threads_go_on_while_a_run_has_no_python(raw: dict[str, Any]) -> None:
    turns = 0
    over = threading.Event()

    def count() -> None:
        nonlocal turns
        while not over.wait(0.001):
            turns += 1

    raw["topology"]["rate"] = "1 Gbit/s"
    raw["run"]["duration"] = "5 s"
    text = next(ackclock.load(raw).jobs()).text()
    from ackclock import engine

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = turns
        wall = engine.run(text).info["wall_s"]
        assert turns - before > wall / 0.1
    finally:
        over.set()
        thread.join()


def test_ctrl_c_inside_a_controller(raw: dict[str, Any]) -> None:
    class Impatient(Bytes):
        def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ackclock.run(raw, set={"cc": Impatient}, jobs=1)


def test_an_error_survives_pickling() -> None:
    import pickle

    error = ackclock.ControllerError("ValueError: x", "python:a:B", "3", 1.5, "on_ack", "Traceback", "run 2")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "run 2: python:a:B, flow 3, t = 1.500000000 s: on_ack raised ValueError: x"
    assert json.dumps(again.traceback) == '"Traceback"'
