"""What a controller in Python may leave out or do oddly: the endpoint stays sound, or the run ends with one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import AckclockError
from ackclock.cli.exit_codes import FAILED
from ackclock.controllers import endless


class Aimd(ackclock.CongestionControl):
    """A first attempt: additive increase, multiplicative decrease, and no slow start threshold at all."""

    def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
        self.cwnd += cx.mss * ack.delivered / self.cwnd

    def on_congestion(self, cx: ackclock.Cx, signal: ackclock.Signal) -> None:
        self.cwnd = max(self.cwnd / 2, 2 * cx.mss)


class WithThreshold(Aimd):
    """The same with the one line that RFC 5681 has."""

    def on_congestion(self, cx: ackclock.Cx, signal: ackclock.Signal) -> None:
        super().on_congestion(cx, signal)
        self.ssthresh = self.cwnd


class OldThreshold(Aimd):
    """The same with a threshold that is never lowered again."""

    def start(self, cx: ackclock.Cx, initial_window: int) -> None:
        super().start(cx, initial_window)
        self.ssthresh = 10_000_000


class OwnRecovery(Aimd):
    """The same, and the window is its own while losses are repaired."""

    recovery = "controller"


class Fixed(ackclock.CongestionControl):
    """A window that nothing moves."""

    def start(self, cx: ackclock.Cx, initial_window: int) -> None:
        self.cwnd = 30 * cx.mss

    def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
        pass

    def on_congestion(self, cx: ackclock.Cx, signal: ackclock.Signal) -> None:
        pass


class Huge(Fixed):
    """A window beyond all that is ever in flight."""

    def start(self, cx: ackclock.Cx, initial_window: int) -> None:
        self.cwnd = 1e15


class Late(Fixed):
    """Asks to be woken at a time that has passed, again and again."""

    woken = 0

    def start(self, cx: ackclock.Cx, initial_window: int) -> None:
        super().start(cx, initial_window)
        self.wake_at = 0.0

    def on_wake(self, cx: ackclock.Cx) -> None:
        self.woken += 1
        self.wake_at = 0.0 if self.woken % 100 else cx.now + 0.01


class Never(Fixed):
    """Has an `on_wake` and never asks for it."""

    def on_wake(self, cx: ackclock.Cx) -> None:
        raise AssertionError("nobody asked")


def scenario(cc: Any, profile: str = "linux", loss: str | None = None, **tcp: Any) -> dict[str, Any]:
    topology = {"kind": "dumbbell", "rate": "20 Mbit/s", "rtt": "40 ms", "queue": {"limit": "70 packets"}}
    if loss:
        topology["loss"] = loss
    flow = {"cc": cc, "profile": profile, "tcp": tcp}
    return {"topology": topology, "flows": [flow], "run": {"duration": "10 s", "warmup": "1 s"}}


def played(cc: Any, profile: str = "linux", loss: str | None = None, **tcp: Any) -> dict[str, Any]:
    result = ackclock.run(scenario(cc, profile, loss, **tcp), jobs=1)
    row: dict[str, Any] = result.flows.row(0, named=True)
    link = result.links.filter(pl.col("drops") == result.links["drops"].max()).row(0, named=True)
    return row | {"lost_share": link["drops"] / max(link["arrived_packets"], 1)}


RECOVERIES = [
    *[("rfc", {"recovery": recovery}) for recovery in ("reno", "newreno", "sack", "prr")],
    ("linux", {}),
    ("rfc", {"loss_detection": "rack"}),
    ("ns3", {}),
    ("ns2", {}),
]


@pytest.mark.parametrize(("profile", "tcp"), RECOVERIES)
def test_a_controller_without_threshold_does_as_with_the_threshold_of_its_window(
    profile: str, tcp: dict[str, Any]
) -> None:
    without, beside = played(Aimd, profile, **tcp), played(WithThreshold, profile, **tcp)
    assert without["goodput_bps"] == pytest.approx(beside["goodput_bps"], rel=0.02)
    assert without["lost_share"] < 0.01
    assert without["timeouts"] == beside["timeouts"]


@pytest.mark.parametrize("cc", [OldThreshold, OwnRecovery])
@pytest.mark.parametrize(("profile", "tcp"), RECOVERIES)
def test_an_old_threshold_and_a_recovery_of_its_own_change_little(
    cc: type[Aimd], profile: str, tcp: dict[str, Any]
) -> None:
    row = played(cc, profile, **tcp)
    assert row["goodput_bps"] > 15e6
    assert row["lost_share"] < 0.02


@pytest.mark.parametrize(("profile", "tcp"), RECOVERIES)
def test_a_fixed_window_stays_what_it_is(profile: str, tcp: dict[str, Any]) -> None:
    row = played(Fixed, profile, "0.5 %", **tcp)
    segments = 30 * 1448 * 8 / 0.0416
    assert 0.5 * segments < row["goodput_bps"] < 1.02 * segments
    assert row["mean_cwnd_bytes"] <= 30 * 1460 * 1.2


@pytest.mark.parametrize(("profile", "tcp"), RECOVERIES)
def test_a_huge_window_overflows_nothing(profile: str, tcp: dict[str, Any]) -> None:
    row = played(Huge, profile, **tcp)
    assert 0 < row["goodput_bps"] < 20e6
    assert row["retransmitted_bytes"] > 0


@pytest.mark.parametrize("cc", [Late, Never])
def test_who_is_woken_in_the_past_or_never_lets_the_run_end(cc: type[Fixed]) -> None:
    assert played(cc)["goodput_bps"] > 8e6


ENDLESS = """
import ackclock

class Loops(ackclock.CongestionControl):
    def on_ack(self, cx, ack):
        while True:
            pass

    def on_congestion(self, cx, signal):
        pass

class Made(Loops):
    def __init__(self):
        while True:
            try:
                pass
            except Exception:
                pass
"""


@pytest.mark.parametrize(("name", "call"), [("Loops", "on_ack"), ("Made", "__init__")])
def test_an_endless_loop_ends_with_a_message(tmp_path: Path, name: str, call: str) -> None:
    (tmp_path / "endless_cc.py").write_text(ENDLESS, encoding="utf-8")
    (tmp_path / "s.toml").write_text(
        f'[topology]\nkind = "dumbbell"\nrate = "10 Mbit/s"\nrtt = "20 ms"\nqueue = {{ limit = "1 BDP" }}\n'
        f'[[flows]]\ncc = "python:endless_cc:{name}"\n[run]\nduration = "1 s"\n',
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "ackclock", "run", "s.toml", "--out", "r"],
        cwd=tmp_path,
        env=os.environ | {"ACKCLOCK_CALL_CPU_S": "0.3"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == FAILED
    assert "EndlessCallError" in done.stderr
    assert call in done.stderr
    assert "endless_cc.py" in done.stderr


def test_a_wrong_limit_of_calls_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("soon", "nan", "0", "inf"):
        monkeypatch.setenv(endless.VARIABLE, text)
        with pytest.raises(ValueError, match=f"ACKCLOCK_CALL_CPU_S = '{text}' is not a number of CPU seconds"):
            endless._limit()


def test_the_names_of_what_is_wrong_with_a_window() -> None:
    class Negative(Fixed):
        def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
            self.cwnd = -1.0

    with pytest.raises(AckclockError, match="cwnd"):
        played(Negative)
