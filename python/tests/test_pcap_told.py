"""What ``ackclock pcap`` says where there is little to say, where a word is wrong, and where nobody can read it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pcaps
from ackclock import InputError, pcap
from ackclock.cli.app import main
from ackclock.pcaps import text
from ackclock.pcaps.groups import Gain
from ackclock.stats.intervals.mean import Interval

UNANSWERED = [*pcaps.HELLO[:4], (1.342, pcaps.HELLO[3][1]), (1.942, pcaps.HELLO[3][1])]
"""A handshake, and a segment three times that nobody acknowledges."""


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int) -> str:
    """What a command says, and ends with that exit code."""
    assert main(["pcap", *map(str, arguments)]) == code
    out, err = capsys.readouterr()
    return out if code == 0 else err


def test_a_header_alone_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = pcaps.pcap(tmp_path / "a.pcap", [])
    assert said(capsys, file, code=0).startswith("a.pcap: a header and no packets\n")
    told = said(capsys, file, "--plot", tmp_path / "a.svg", code=2)
    assert told == "ackclock: plot: nothing to draw: no connection of TCP carries data in it; capture where they pass\n"
    lost = pcaps.pcapng(tmp_path / "b.pcapng", [], drops=3)
    assert said(capsys, lost, code=0).startswith("b.pcapng: a header and no packets, 3 lost by the capture\n")


def test_data_that_nobody_acknowledged_are_drawn_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, figure = pcaps.pcap(tmp_path / "a.pcap", UNANSWERED), tmp_path / "a.svg"
    assert main(["pcap", str(file), "--plot", str(figure)]) == 0
    out, err = capsys.readouterr()
    assert "note       none of its data were acknowledged" in out
    assert "sequence numbers over time of 0.0: 192.0.2.1:40000 > 192.0.2.2:80" in out
    assert err == "ackclock: no acknowledgment of its data passed\n"
    assert "timeout" in figure.read_text()
    every = said(capsys, file, "--plot", figure, "--connection", "all", code=2)
    assert "no data of any connection were acknowledged; draw one of them: --connection N" in every
    answered = pcaps.pcap(tmp_path / "b.pcap", pcaps.HELLO)
    assert "none of its data" not in said(capsys, answered, code=0)
    both = said(capsys, file, answered, "--plot", figure, code=0)
    assert "acknowledged bytes over time since the first packet: " in both
    assert both.count(", 1 transfer") == 1


def test_who_sent_the_first_packet_opened_what_began_before(tmp_path: Path) -> None:
    whole = pcap(pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO)).flows
    assert whole.select("id", "initiator", "started_mid").rows() == [("0.0", True, False), ("0.1", False, False)]
    answer = pcap(pcaps.pcap(tmp_path / "b.pcap", pcaps.HELLO[1:])).flows
    assert answer.select("src", "initiator", "started_mid").rows() == [
        ("192.0.2.2", False, False),
        ("192.0.2.1", True, False),
    ]
    middle = pcap(pcaps.pcap(tmp_path / "c.pcap", pcaps.HELLO[3:])).flows
    assert middle.select("src", "initiator", "started_mid").rows() == [
        ("192.0.2.1", True, True),
        ("192.0.2.2", False, True),
    ]


def test_an_option_that_is_none_is_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO)
    for word in ("--evnts", "-x"):
        assert said(capsys, "a.pcap", word, code=2) == f"ackclock: Unknown option: {word}; see: ackclock --help\n"
    pcaps.pcap(tmp_path / "-x", pcaps.HELLO)
    assert said(capsys, "-x", code=0).startswith("-x: 5 packets")


def test_the_end_of_a_list_that_goes_on_stays(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pcapp"]) == 2
    assert ", ...; see: ackclock --help\n" in capsys.readouterr().err


def test_a_capture_that_is_named_twice_is_shown_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO)
    assert said(capsys, "a.pcap", "a.pcap", code=0).splitlines()[:3] == [
        "a.pcap: 5 packets in 90 ms, all of TCP"
    ] * 2 + [""]


def test_datagrams_alone_are_nothing_to_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "a.toml"
    scenario.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "20 Mbit/s"\nrtt = "40 ms"\n'
        'queue = { kind = "droptail", limit = "1 BDP" }\n[[flows]]\n'
        'app = { kind = "cbr", rate = "1 Mbit/s", packet = "500 B" }\n[run]\nduration = "1 s"\n'
    )
    assert main(["run", str(scenario), "--capture", str(tmp_path / "a.pcapng")]) == 0
    capsys.readouterr()
    told = said(capsys, tmp_path / "a.pcapng", "--check", code=2)
    assert told == "ackclock: a.pcapng: has no data of TCP to compare; give a capture of flows over TCP\n"


def test_large_gains_have_no_power_of_ten() -> None:
    wide = Interval(4.13, -27.94, 36.12, n=2)
    (line,) = text.gains(Gain("on", "off", {"goodput_bps": wide}), "sender")
    assert line.endswith("  +413 % (-2790 to +3610)")


def test_one_capture_of_each_label_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [pcaps.pcap(tmp_path / name, pcaps.HELLO) for name in ("a.pcap", "b.pcap")]
    pcap(labels={"off": files[0], "on": files[1]}, out=tmp_path / "kept")
    assert main(["compare", str(tmp_path / "kept"), "--by", "label"]) == 2
    assert "one capture of each has no spread" in (err := capsys.readouterr().err)
    assert err.endswith("; analyse several captures of each label\n")


def test_what_cannot_be_printed_is_one_line(tmp_path: Path) -> None:
    file = pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO)
    for asked in ([], ["--flows"], ["--json"]):
        command = [sys.executable, "-c", "import sys; from ackclock.cli.entry import main; sys.exit(main())"]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [*command, "pcap", str(file), *asked], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 1
        assert done.stderr == "ackclock: what is printed cannot be written (no space left on device)\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((3,), "files: 3 of type int is no capture; give a path, or a list of paths"),
        ((None,), "files: None of type NoneType is no capture; give a path, or a list of paths"),
        ((["a.pcap", 3],), "files: 3 of type int is no capture; give a path, or a list of paths"),
        ((b"a.pcap",), "files: b'a.pcap' of type bytes is no capture; give a path, or a list of paths"),
        (({"off": "a.pcap"},), "files: groups are no captures; name them in labels={'off': ..., 'on': ...}"),
    ],
)
def test_what_is_no_path_is_one_line(given: tuple[Any, ...], said: str) -> None:
    with pytest.raises(InputError) as caught:
        pcap(*given)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"off": 3}, "labels.off: 3 of type int is no capture; give a path, or a list of paths"),
        (["a.pcap"], "labels: these are no groups; give captures by label: labels={'off': ..., 'on': ...}"),
        ({3: "a.pcap"}, "label: '3' is no label; write it as in --label off=a.pcap"),
    ],
)
def test_what_are_no_labels_is_one_line(labels: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        pcap(labels=labels)
    assert str(caught.value) == said


def test_checksums_are_looked_at_if_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = pcaps.pcap(tmp_path / "bare.pcap", pcaps.HELLO)  # without checksums, and data without their bytes
    assert pcap(bare).captures.select("checksums", "wrong_checksums").rows() == [(None, None)]
    assert pcap(bare, checksums=True).captures.select("checksums", "wrong_checksums").rows() == [(4, 4)]
    assert said(capsys, bare, "--checksums", code=0).startswith(
        "bare.pcap: 5 packets in 90 ms, all of TCP, 4 of 4 checksums wrong\n"
    )
    assert "checksum" not in said(capsys, bare, code=0)
    data = pcaps.pcap(tmp_path / "data.pcap", pcaps.HELLO[3:4])
    assert "no checksum to look at, as no packet of TCP is whole" in said(capsys, data, "--checksums", code=0)
    right = pcaps.download(tmp_path / "right.pcapng", run__duration="1 s")
    found = pcap(right, checksums=True)
    assert found.captures["checksums"][0] > 100  # acknowledgments, which are whole
    assert set(found.captures["wrong_checksums"]) == {0}
    assert found.flows.equals(pcap(right).flows)
    line = said(capsys, right, "--checksums", code=0).splitlines()[0]
    assert line.endswith(" checksums wrong")
    assert ", none of " in line


@pytest.mark.parametrize(("behind", "why"), [("zeros", "zeros follow"), ("again", "the header of another capture")])
def test_what_follows_the_packets_is_none(
    behind: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO)
    content = whole.read_bytes()
    longer = tmp_path / "b.pcap"
    longer.write_bytes(content + (bytes(4096) if behind == "zeros" else content))
    found = pcap(longer)
    assert found.captures["duration_s"].to_list() == pcap(whole).captures["duration_s"].to_list()
    assert found.captures["packets"].to_list() == [len(pcaps.HELLO)]
    assert found.flows.drop("file").equals(pcap(whole).flows.drop("file"))
    assert main(["pcap", str(longer)]) == 0
    printed = capsys.readouterr()
    assert "TRUNCATED" in printed.out
    assert why in printed.err
