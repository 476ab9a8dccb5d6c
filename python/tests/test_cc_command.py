"""``ackclock cc``: what it says of every controller, and the standard test of one."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any

import pytest

from ackclock import catalogue
from ackclock.cli import cc, terminal
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, OK


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main(["cc", *map(str, arguments)]) == OK
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_the_list_says_everything(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cc, "_validation", lambda: {"cubic": {"cells": 12, "agree": 11, "note": "a note"}})
    text = " ".join(printed(capsys).split())
    for item in catalogue().controllers.values():
        assert f"{item.name}: {item.summary}" in text
        assert item.source in text
        assert " ".join(item.differences.split()) in text
        assert all(f"{name}=" in text for name in item.params)
    assert all(f"{name}: " in text for name in catalogue().slow_starts)
    assert "validation: on 11 of 12 recorded paths goodput and mean RTT agree with the Linux kernel's (a note)." in text
    answer = json.loads(printed(capsys, "--json"))
    cubic = next(item for item in answer["controllers"] if item["name"] == "cubic")
    assert cubic["validation"] == {"cells": 12, "agree": 11, "note": "a note"}
    assert cubic["own_start"] is False
    assert "Linux" in cubic["differences"]


def test_what_limits_the_sender_is_said_where_it_was_recorded() -> None:
    limited = {"cells": 15, "agree": 14, "off": ["short"]}
    entry = {"cells": 12, "agree": 12, "note": "a note.", "limited": limited}
    assert cc._status("westwood+", {"westwood+": entry}).endswith(
        "(a note); of 15 applications that limit the sender 14 agree, too (completion time or goodput, and mean RTT, "
        "not short)."
    )
    # With what is committed: each has its own line.
    for name in ("bbr1", "cubic"):
        assert "of 15 applications that limit the sender 15 agree, too (completion time" in cc._status(
            name, cc._validation()
        )
    assert "applications" not in cc._status("copa", cc._validation())


def test_one_with_its_response(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "cubic")
    for word in ("RFC 9438", "fast_convergence", "10 Mbit/s, 40 ms, BDP 35 segments, queue 33 packets", "┤", "30 s"):
        assert word in text
    assert "Mbit/s, utilisation 9" in text
    answer = json.loads(printed(capsys, "cubic", "--json"))
    assert {
        "name",
        "family",
        "source",
        "summary",
        "differences",
        "own_start",
        "params",
        "validation",
        "response",
    } == set(answer)
    response = answer["response"]
    assert len(response["time_s"]) == len(response["cwnd_segments"]) > 500
    assert max(response["cwnd_segments"]) > 60
    assert response["summary"]["recoveries"] > 3
    assert response["resolved"]["flows"][0]["cc"] == {"name": "cubic", "params": {}}


def test_variants_profiles_and_the_path(capsys: pytest.CaptureFixture[str]) -> None:
    changes = ["--profile", "linux", "--set", "beta=0.5", "--set", 'topology.rtt="20 ms"']
    response = json.loads(printed(capsys, "cubic", "--json", *changes))["response"]
    flow = response["resolved"]["flows"][0]
    assert (flow["profile"], flow["cc"]["params"]) == ("linux", {"beta": 0.5})
    assert [link["delay_ns"] for link in response["resolved"]["links"]] == [10**7, 10**7]


def test_a_controller_that_works_with_marks(capsys: pytest.CaptureFixture[str]) -> None:
    assert "queue 33 packets that marks above 20" in printed(capsys, "dctcp")
    response = json.loads(printed(capsys, "dctcp", "--json"))["response"]
    assert response["resolved"]["links"][0]["queue"]["mark_above_packets"] == 20
    late = [cwnd for time, cwnd in zip(response["time_s"], response["cwnd_segments"], strict=True) if time > 5]
    assert 30 < min(late) <= max(late) < 62  # the pipe and the threshold, not the whole queue
    assert response["summary"]["recoveries"] <= 1


def test_a_slow_start(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "limited", "--set", "max_ssthresh=20")
    assert "max_ssthresh" in text
    assert "cwnd (segments)" in text


def test_a_controller_in_python(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        'import ackclock\nclass Mine(ackclock.WindowBased):\n    """Quite new.\n\n    More."""\n'
        "    def __init__(self, keep: float = 0.5) -> None:\n        self.keep = keep\n"
        "    def grow(self, cx, ack, acked):\n        self.cwnd += acked / self.cwnd\n"
        "    def reduce(self, cx, signal):\n        return self.keep * self.cwnd\n"
    )
    (tmp_path / "shown_cc.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    said = printed(capsys, "python:shown_cc:Mine", "--set", "keep=0.8")
    assert "python:shown_cc:Mine: Quite new (shown_cc, sha256:" in said
    assert "keep" in said
    assert "recoveries" in said


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_figure(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"reno.{suffix}"
    assert f"figure: {file}" in printed(capsys, "reno", "--plot", file)
    assert file.stat().st_size > 1000
    assert [item.name for item in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cubi"], "did you mean 'cubic'"),
        (["python:nowhere:Mine"], "no module 'nowhere'"),
        (["cubic", "--set", "beta=7"], "flows.0.cc.beta: 7 is out of range"),
        (["cubic", "--set", "gamma=7"], "--set: unknown parameter 'gamma' of cubic; "),
        (["cubic", "--set", "betta=0.8"], "--set: unknown parameter 'betta' of cubic; did you mean 'beta'?"),
        (["cubic", "--set", "topology.rat=1"], "did you mean 'rate'?"),
        (["cubic", "--set", "beta"], "is not of the form key=value"),
        (["cubic", "--profile", "windows"], "unknown profile 'windows'"),
        (["cubic", "--plot", "x.gif"], "end its name with .png, .svg or .pdf"),
        (["cubic", "--set", "beta=[0.5, 0.6]"], "the test is one run"),
        (["--profile", "linux"], "name a controller"),
        (["--tcp", "--queues"], "one thing is shown at a time"),
        (["cubic", "--tcp"], "one thing is shown at a time"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cc", *arguments]) == BAD_INPUT
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_tcp_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert "min_rto" in printed(capsys, "--tcp")
    options = json.loads(printed(capsys, "--tcp", "--json"))
    assert set(options["profiles"]) == set(options["tcp_options"][0]["defaults"])


def test_queues(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(printed(capsys, "--queues").split())
    for item in catalogue().queues.values():
        assert f"{item.name}: {item.summary}" in text
        assert item.source in text
        assert all(name in text for name in item.params)
    assert "limit 1000 packets" in text
    queues = {item["name"]: item for item in json.loads(printed(capsys, "--queues", "--json"))["queues"]}
    assert set(queues["codel"]) == {"name", "source", "summary", "params", "default_limit"}
    assert [each["name"] for each in queues["codel"]["params"]][:2] == ["target", "interval"]
    assert queues["droptail"]["default_limit"] is None


def test_validation_may_be_absent_or_odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.resources, "files", lambda name: tmp_path)
    assert cc._validation() == {}
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "validation.json"
    for text, found in (
        ("[]", {}),
        ("{", {}),
        ('{"reno": {"cells": 0, "agree": 0}}', {"reno": {"cells": 0, "agree": 0}}),
    ):
        file.write_text(text, encoding="utf-8")
        assert cc._validation() == found
    assert cc._status("reno", cc._validation()) == "validation: no recorded kernel runs to compare with."
    assert cc._status("x", {"x": {"cells": 0, "agree": 0, "note": "instead."}}) == "validation: instead."
    assert cc._status("cubic", cc._validation()) == ""


def test_a_plot_in_characters() -> None:
    time = [index / 10 for index in range(101)]
    ramp: list[Any] = terminal.plot(time, time, width=40, height=5, end=10, braille=False)
    assert ramp[0].startswith("10 |")
    assert ramp[0].rstrip().endswith("*")
    assert ramp[4].startswith(" 0 |*")
    assert ramp[-1].split() == ["0", "2", "4", "6", "8", "10", "s"]
    assert all(len(line) <= 44 for line in ramp)
    assert "⣀" in terminal.plot([0], [0], width=40, height=5, end=10)[4]
