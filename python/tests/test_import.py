"""Results of other tools in our tables: what iperf3 wrote over a loopback, and logs whose figures are worked out here.

The files of iperf3 are of version 3.12, with ``-J``: ``-P 3 -R -O 1 -t 2 -i 0.5``, ``-P 2 -C reno -t 2``,
``--bidir -t 2`` and ``-u -R -t 1``.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.measure.causes.verdict import explain
from ackclock.measure.imports import mahimahi

IPERF3 = Path(__file__).parent / "vectors" / "iperf3"


def imported(tool: str, out: Path, *files: Path | str) -> ackclock.Result:
    assert main(["import", tool, *map(str, files), "--out", str(out)]) == 0
    return ackclock.Result.load(out)


def test_a_test_of_iperf3_from_the_server(tmp_path: Path) -> None:
    result = imported("iperf3", tmp_path / "out", IPERF3 / "down-3.json")
    [run] = result.runs.to_dicts()
    assert result.manifest["engine"]["name"] == "live"
    assert (run["duration_s"], run["warmup_s"], run["tool"]) == (3.0, 1.0, "iperf 3.12")
    assert result.manifest["points"][0]["resolved"]["live"] == {
        "tool": "iperf 3.12", "connections": 3, "direction": "down", "cc": "bbr", "protocol": "TCP",
    }  # fmt: skip
    assert result.flows["id"].to_list() == ["0", "1", "2"]
    # 12582912 bytes in 1.999972 s, as its receiver says, and not what its sender was given.
    assert result.flows["goodput_bps"].to_list() == [pytest.approx(8 * 12582912 / 1.999972)] * 3
    assert run["goodput_bps"] == pytest.approx(3 * 8 * 12582912 / 1.999972)
    assert result.flows["retransmitted_segments"].to_list() == [4, 4, 4]
    # It writes 0 where it has no round trip.
    assert result.flows["mean_rtt_s"].to_list() == [None] * 3
    # The intervals of the warm-up come first, and time goes on from there.
    series = result.series.filter(id="0", metric="delivered")
    assert series["time_s"].to_list() == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.5, 3.0], abs=0.01)
    assert series["value"].is_sorted()


def test_a_test_of_iperf3_to_the_server_has_what_the_kernel_said(tmp_path: Path) -> None:
    result = imported("iperf3", tmp_path / "out", IPERF3 / "up-2.json")
    assert result.flows["cc"].to_list() == ["reno", "reno"]
    assert result.flows["mean_rtt_s"].to_list() == pytest.approx([0.001132, 0.001171])
    assert result.flows["mean_cwnd_bytes"].to_list() == [720313.0] * 2
    first = result.series.filter(id="1").group_by("metric").first()
    assert dict(first.select("metric", "value").iter_rows())["rttvar"] == pytest.approx(0.002292)


def test_both_ways_have_the_flow_of_the_server_first(tmp_path: Path) -> None:
    result = imported("iperf3", tmp_path / "out", IPERF3 / "both.json")
    [run] = result.runs.to_dicts()
    assert result.manifest["points"][0]["resolved"]["live"]["direction"] == "both"
    groups = result.manifest["points"][0]["groups"]
    assert groups == [{"first": 0, "count": 1, "label": "down"}, {"first": 1, "count": 1, "label": "up"}]
    down, up = result.flows.to_dicts()
    assert (down["retransmitted_segments"], up["retransmitted_segments"]) == (4, 1)
    assert run["goodput_bps"] == pytest.approx(down["goodput_bps"] + up["goodput_bps"])


def test_datagrams_of_iperf3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = imported("iperf3", tmp_path / "out", IPERF3 / "udp-down.json")
    [flow] = result.flows.to_dicts()
    assert (flow["app"], flow["received_packets"], flow["lost_packets"]) == ("udp", 20, 0)
    assert "UDP: goodput is what was sent less" in capsys.readouterr().err


def test_tests_in_which_settings_differ_are_points_and_others_replications(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text((IPERF3 / "up-2.json").read_text() * 2 + (IPERF3 / "down-3.json").read_text())
    result = imported("iperf3", tmp_path / "out", log)
    assert result.params == ["connections", "direction", "cc"]
    assert result.runs.select("point", "replication").rows() == [(0, 0), (0, 1), (1, 0)]
    assert len(result.points) == 2
    assert main(["plot", str(tmp_path / "out"), "--x", "connections", "--y", "total_goodput_bps"]) == 0


def test_an_older_result_is_replaced_and_anything_else_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert imported("iperf3", out, IPERF3 / "up-2.json").flows.height == 2
    assert imported("iperf3", out, IPERF3 / "down-3.json").flows.height == 3
    (out / "notes.txt").touch()
    assert main(["import", "iperf3", str(IPERF3 / "up-2.json"), "--out", str(out)]) == 2
    assert f"{out}: holds something other than a result ('notes.txt')" in capsys.readouterr().err
    assert ackclock.Result.load(out).flows.height == 3


@pytest.mark.parametrize(
    "command", ["run", "shell", "pcap", *(f"import {tool}" for tool in ("iperf3", "flent", "mahimahi", "proxy"))]
)
def test_the_help_of_out_says_that_it_replaces(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    # Without what frames the text, and where its lines end.
    words = " ".join(re.sub(r"[│╭╮╰╯─]", " ", capsys.readouterr().out).split()).casefold()
    assert "an older result there is replaced" in words


def test_groups_are_a_column(tmp_path: Path) -> None:
    labels = [f"--label=fibre={IPERF3 / 'down*.json'}", f"--label=radio={IPERF3 / 'up-2.json'},{IPERF3 / 'both.json'}"]
    result = imported("iperf3", tmp_path / "out", *labels)
    assert result.runs["label"].to_list() == ["fibre", "radio", "radio"]


def test_a_receiver_that_says_nothing_has_no_goodput(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads((IPERF3 / "up-2.json").read_text())
    for stream in document["end"]["streams"]:
        del stream["receiver"]
    file = tmp_path / "old.json"
    file.write_text(json.dumps(document))
    result = imported("iperf3", tmp_path / "out", file)
    assert result.flows["goodput_bps"].to_list() == [None, None]
    assert result.runs["goodput_bps"].to_list() == [None]
    assert "the receiver has not told what it got" in capsys.readouterr().err


def test_a_test_that_failed_is_said_and_the_others_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"start": {"version": "iperf 3.12"}, "error": "unable to connect: refused"}')
    code = main(["import", "iperf3", str(broken), str(IPERF3 / "up-2.json"), "--out", str(tmp_path / "out")])
    assert code == 1
    assert "broken.json: iperf3: unable to connect: refused" in capsys.readouterr().err
    assert ackclock.Result.load(tmp_path / "out").runs.height == 1


@pytest.mark.parametrize(
    ("tool", "text", "said"),
    [
        ("iperf3", "Connecting to host", "no JSON at character 0"),
        ("iperf3", "[1, 2]", "it has no 'start'"),
        ("iperf3", "[" * 100_000, "no JSON at character 0"),
        ("iperf3", '{"start": {"test_start": {"protocol": "TCP"}}}', "not what iperf3 writes"),
        ("iperf3", "", "log.iperf3: is empty; give what iperf3 --json has written"),
        ("flent", "{}", "no result of flent (it has no 'metadata')"),
        ("mahimahi", "12 + many", "no line of a log of mahimahi or Pantheon"),
        ("pantheon", "12 ? 5", "is no event"),
        ("pantheon", "# nothing\n", "nothing came through the link"),
    ],
)
def test_what_is_no_result_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: str, text: str, said: str
) -> None:
    file = tmp_path / f"log.{tool}"
    file.write_text(text)
    assert main(["import", tool, str(file), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_without_a_directory_a_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "iperf3", str(IPERF3 / "up-2.json")]) == 2
    assert (
        "no directory for the tables is given; write ackclock import iperf3 FILE... --out DIR"
        in capsys.readouterr().err
    )


def flent(tmp_path: Path, **series: list[dict[str, Any]]) -> Path:
    document = {
        "version": 3,
        "metadata": {
            "NAME": "tcp_ndown", "LENGTH": 10, "T0": "2026-01-02T03:04:05Z", "FLENT_VERSION": "2.1.1",
            "TEST_PARAMETERS": {"tcp_cong_control": "bbr"},
        },
        "x_values": [], "results": {},
        "raw_values": {name.replace("__", "::").replace("_", " "): rows for name, rows in series.items()},
    }  # fmt: skip
    file = tmp_path / "test.flent.gz"
    file.write_bytes(gzip.compress(json.dumps(document).encode()))
    return file


def test_flent(tmp_path: Path) -> None:
    rows = [{"t": 101.0, "val": 8.0, "dur": 1.0}, {"t": 103.0, "val": 2.0, "dur": 2.0, "tcp_rtt": 40.0}]
    late = [{"t": 102.0, "val": 4.0, "dur": 1.0}]
    pings = [{"t": 101.0, "val": value} for value in (10.0, 30.0, 20.0)]
    file = flent(
        tmp_path, TCP_download__1=rows, TCP_download__2=late, TCP_download_sum=rows, **{"Ping_(ms)_ICMP": pings}
    )
    result = imported("flent", tmp_path / "out", file)
    assert result.flows["id"].to_list() == ["0", "1"]
    # 8 Mbit in the first second, 4 Mbit in two; 4 Mbit in one, begun 1 s after the first.
    assert result.flows["goodput_bps"].to_list() == pytest.approx([4e6, 4e6])
    assert result.flows["start_s"].to_list() == pytest.approx([0.0, 1.0])
    assert result.flows["mean_rtt_s"].to_list() == [pytest.approx(0.040), None]
    assert result.series.filter(id="0", metric="delivered")["value"].to_list() == pytest.approx([1e6, 1.5e6])
    assert result.runs["began_unix_s"].to_list() == [1767323045.0]
    assert result.manifest["runs"][0]["told"] == {"Ping (ms) ICMP": {"p50_ms": 20.0, "p95_ms": 30.0, "max_ms": 30.0}}


def test_flent_in_both_directions(tmp_path: Path) -> None:
    rows = [{"t": 101.0, "val": 8.0, "dur": 1.0}]
    names = ("TCP_upload__1", "TCP_upload__2", "TCP_download__1")
    result = imported("flent", tmp_path / "out", flent(tmp_path, **dict.fromkeys(names, rows)))
    groups = result.manifest["points"][0]["groups"]
    assert groups == [{"first": 0, "count": 1, "label": "down"}, {"first": 1, "count": 2, "label": "up"}]


def test_one_test_is_not_ranked_beside_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.json"
    three = json.loads((IPERF3 / "down-3.json").read_text())
    three["start"]["test_start"]["num_streams"] = 4
    log.write_text((IPERF3 / "down-3.json").read_text() * 2 + json.dumps(three))
    imported("iperf3", tmp_path / "out", log)
    capsys.readouterr()
    assert main(["rank", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "of connections=4 there is one run with total_goodput_bps, of others several" in said
    assert "as many tests of each number of connections are needed: make 2 or more" in said


def test_why_says_which_end_records_what_arrives(tmp_path: Path) -> None:
    imported("iperf3", tmp_path / "out", IPERF3 / "up-2.json")
    with pytest.raises(InputError, match=r"the end that receives records it: of iperf3, .* iperf3 -s -J"):
        explain(tmp_path / "out")


LOG = """\
# base timestamp: 1446577800000
100 # 1504
100 + 1500 1
110 + 1000 2
120 - 1500 20 1
200 # 1504
210 + 1500 1
300 - 1000 190 2
"""


def test_pantheon(tmp_path: Path) -> None:
    file = tmp_path / "bbr_datalink_run1.log"
    file.write_text(LOG)
    result = imported("pantheon", tmp_path / "out", file)
    one, two = result.flows.to_dicts()
    # From 100 ms to 300 ms; the third packet never left.
    assert (one["goodput_bps"], two["goodput_bps"]) == (pytest.approx(60_000), pytest.approx(40_000))
    assert (one["cc"], one["lost_packets"], two["lost_packets"]) == ("bbr", 1, 0)
    assert (one["mean_delay_s"], two["p99_delay_s"]) == (pytest.approx(0.020), pytest.approx(0.190))
    [link] = result.links.to_dicts()
    assert (link["id"], link["rate_bps"], link["sent_bytes"]) == ("datalink", 120_320, 2500)
    assert link["utilisation"] == pytest.approx(2500 / 3008)
    assert result.runs["began_unix_s"].to_list() == [1446577800.0]


def test_mahimahi_has_one_flow_and_drops(tmp_path: Path) -> None:
    file = tmp_path / "down.log"
    file.write_text("0 # 1504\n0 + 1504\n1 d 3 4512\n5 - 1504 5\n")
    result = imported("mahimahi", tmp_path / "out", file)
    assert result.links["drops"].to_list() == [3]
    assert result.flows["received_packets"].to_list() == [1]


def test_mahimahi_may_have_played_a_script_of_many_lines(tmp_path: Path) -> None:
    script = "# command line: 'mm-link' 'up' 'down' '--' 'bash' '-c' '\n  # of 10 d long\n  sleep 1\n\n5 - 1 1\n'\n"
    header = f"# mahimahi mm-link (Uplink) [up] > up.log\n{script}# queue: infinite\n# init timestamp: 1751273666603\n"
    file = tmp_path / "up.log"
    file.write_text(header + "# base timestamp: 36\n43 # 1504\n44 + 64\n44 - 64 0\n")
    result = imported("mahimahi", tmp_path / "out", file)
    assert result.flows.select("received_packets", "goodput_bytes").rows() == [(1, 64)]
    assert result.links["drops"].to_list() == [None]
    file.write_text(header + "43 # 1504\n44 ? 64\n")
    with pytest.raises(InputError, match=r"up.log.*line 11"):
        mahimahi.read(file)
