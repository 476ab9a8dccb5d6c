"""Tests by iperf3 in a campaign, beside those by our own data plane. They need iperf3, as CONTRIBUTING.md says."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.measure import blocks, campaign, iperf3
from ackclock.measure.client import Address
from ackclock.measure.journal import Journal
from measuring import serving

pytestmark = pytest.mark.real_time

CAMPAIGN = """
[campaign]
name = "both"
server = "127.0.0.1:{own}"
iperf3_port = {other}
repetitions = 2
gap = "0 s"
retries = 0
[[lines]]
name = "loopback"
[test]
tool = ["ackclock", "iperf3"]
connections = 2
duration = "2 s"
warmup = "1 s"
pacing = "20 Mbit/s"
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where a server of iperf3 listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found = free.getsockname()[1]
    server = subprocess.Popen(["iperf3", "-s", "-J", "-p", str(found)], stdout=subprocess.DEVNULL)
    while server.poll() is None:
        listening = subprocess.run(["ss", "-Hltn", f"sport = :{found}"], capture_output=True, text=True, check=True)
        if listening.stdout:
            break
        time.sleep(0.05)
    yield found
    server.terminate()
    server.wait()


def test_a_campaign_by_both_tools(tmp_path: Path, port: int) -> None:
    file, out = tmp_path / "both.toml", tmp_path / "out"
    with serving() as (_, address):
        file.write_text(CAMPAIGN.format(own=address.port, other=port))
        assert main(["measure", "run", str(file), "--out", str(out)]) == 0
    result = ackclock.Result.load(out)
    assert result.params == ["tool"]
    assert result.runs.sort("run")["tool"].to_list() == ["ackclock", "ackclock", "iperf3", "iperf3"]
    # Two flows of 20 Mbit/s, which the one has the kernel keep to, and the other keeps to by itself.
    for goodput in result.runs["goodput_bps"]:
        assert 30e6 < goodput < 44e6
    kept = [json.dumps(test["result"]) for _, test in Journal(out).tests() if test["result"].get("tool") == "iperf3"]
    for text in kept:
        assert "127.0.0.0/24" in text, "as the context has addresses"
        assert "127.0.0.1" not in text
        assert f"Linux {os.uname().nodename} " not in text
        assert '"server_output_json"' in text, "both ends"
    theirs = result.flows.filter(tool="iperf3")
    assert theirs["id"].to_list() == ["0", "1"] * 2
    assert theirs["goodput_bytes"].is_not_null().all()
    assert set(result.series.filter(tool="iperf3")["metric"].to_list()) >= {"delivered"}


BEHIND_A_PATH = """
[campaign]
name = "path"
iperf3_port = 5999
repetitions = 1
gap = "0 s"
[[lines]]
name = "dsl"
via = "path.toml"
[test]
tool = "iperf3"
duration = "2 s"
"""


def test_what_a_server_says_of_its_client_is_no_address() -> None:
    said = {
        "start": {
            "system_info": "Linux jane-laptop 6.1.0 #1 SMP x86_64",
            "connected": [{"local_host": "2001:db8:1:2::3"}],
        },
        "server_output_json": {"start": {"accepted_connection": {"host": "::ffff:203.0.113.77", "port": 4000}}},
        "server_output_text": "Accepted connection from 203.0.113.77, port 4\n[  5]   0.00-1.00   sec  1.2 MBytes\n",
        "error": "stopped",
    }
    assert iperf3._nameless(said, keep=False) == {
        "start": {"system_info": "Linux 6.1.0 #1 SMP x86_64", "connected": [{"local_host": "2001:db8:1::/48"}]},
        "server_output_json": {"start": {"accepted_connection": {"host": "203.0.113.0/24", "port": 4000}}},
        "server_output_text": "Accepted connection from 203.0.113.0/24, port 4\n[  5]   0.00-1.00   sec  1.2 MBytes\n",
        "error": "stopped",
    }
    assert "203.0.113.77, port" in iperf3._nameless(said, keep=True)["server_output_text"]


def test_behind_a_path_iperf3_listens_where_the_campaign_says(tmp_path: Path) -> None:
    path = 'kind = "dumbbell"\nrate = "10 Mbit/s"\nrtt = "20 ms"\nqueue = { kind = "droptail", limit = "1 BDP" }\n'
    run = '[[flows]]\ncc = "cubic"\n[run]\nduration = "1 s"\n'
    (tmp_path / "path.toml").write_text(f"[topology]\n{path}{run}", encoding="utf-8")
    file, out = tmp_path / "campaign.toml", tmp_path / "out"
    file.write_text(BEHIND_A_PATH, encoding="utf-8")
    assert main(["measure", "run", str(file), "--out", str(out)]) == 0
    result = ackclock.Result.load(out)
    (goodput,) = result.runs["goodput_bps"]
    assert 5e6 < goodput < 10e6
    assert set(result.series["metric"].to_list()) >= {"delivered", "srtt", "total_retrans"}, "what both ends recorded"


def test_what_iperf3_says_when_it_fails_is_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "none.toml"
    file.write_text(CAMPAIGN.format(own=1, other=1).replace('["ackclock", "iperf3"]', '"iperf3"'))
    assert main(["measure", "run", str(file), "--out", str(tmp_path / "out")]) == 1
    assert "unable to connect to server" in capsys.readouterr().out


def test_a_campaign_without_a_server_ends_and_can_go_on(
    tmp_path: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "none.toml", tmp_path / "out"
    text = (
        CAMPAIGN.format(own=1, other=port).replace('["ackclock", "iperf3"]', '"iperf3"').replace("= 2\ngap", "= 4\ngap")
    )
    file.write_text(text.replace(f"iperf3_port = {port}", "iperf3_port = 1"))
    assert main(["measure", "run", str(file), "--out", str(out)]) == 1
    printed = capsys.readouterr()
    assert "the first 3 tests have failed, so that this ends: " in printed.err
    assert printed.out.count("failed, attempt 1 of 1") == 3
    assert not list((out / "runs.journal.campaign" / "tests").glob("*"))


@pytest.mark.parametrize(
    ("was", "line", "said"),
    [
        ('duration = "2 s"', 'duration = "2500 ms"', "iperf3 takes whole seconds"),
        ('warmup = "1 s"', 'interval = "10 ms"', "ten times a second"),
        ('warmup = "1 s"', 'rcvbuf = "64 kB"', "iperf3 has no such option"),
        ('["ackclock", "iperf3"]', '"netperf"', "iperf3"),
    ],
)
def test_what_iperf3_cannot_do_is_refused_before_anything_is_measured(
    tmp_path: Path, was: str, line: str, said: str
) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(CAMPAIGN.format(own=1, other=1).replace(was, line))
    with pytest.raises(InputError, match=said):
        campaign.load(file)


def test_what_the_receiver_did_not_tell_is_no_goodput() -> None:
    document = json.loads((Path(__file__).parent / "vectors" / "iperf3" / "up-2.json").read_text(encoding="utf-8"))
    found = {"tool": "iperf3", "asked": {}, "document": document}
    assert blocks.goodput(found) == pytest.approx(2 * 8 * 5111808 / 2.078315)
    del document["end"]["streams"][1]["receiver"]
    assert blocks.goodput(found) is None


def test_the_command_is_what_the_test_says(tmp_path: Path) -> None:
    file = tmp_path / "both.toml"
    file.write_text(CAMPAIGN.format(own=1, other=7))
    point = campaign.load(file).points[1]
    assert point.tool == "iperf3"
    words = " ".join(iperf3.command(Address("192.0.2.1", 1), 7, point.asked))
    assert words == ("iperf3 --json --get-server-output -c 192.0.2.1 -p 7 -P 2 -t 1 -i 0.1 -O 1 -R -b 20000000")
    assert json.dumps(point.params) == '{"tool": "iperf3"}'
