"""Groups of captures: weighted means with intervals, gains, and the place that figures of losses are seen from."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest

import ackclock
import pcaps
from ackclock import InputError, stats
from ackclock.cli.app import main
from ackclock.pcaps import strata, weights
from ackclock.pcaps.groups import groups

A, B = [1.0, 2.0, 3.0, 4.0], [4.0, 6.0, 8.0, 10.0]


def test_a_single_stratum_has_the_interval_of_a_mean() -> None:
    found = strata.mean({"all": A}, {"all": 1.0})
    expected = stats.mean_interval(A)
    assert (found.value, found.n) == (expected.value, expected.n)
    assert found.low == pytest.approx(expected.low)
    assert found.high == pytest.approx(expected.high)


def test_weights_are_shares_of_their_sum() -> None:
    """Means 2.5 and 7, weights 1 to 3; variances of means 5/12 and 5/3, that of the sum (5/12 + 9 * 5/3) / 16."""
    found = strata.mean({"a": A, "b": B}, {"a": 10.0, "b": 30.0})
    assert found.value == pytest.approx((2.5 + 3 * 7) / 4)
    variance = (5 / 12 + 9 * 5 / 3) / 16
    own = [5 / 12 / 16, 9 * 5 / 3 / 16]
    degrees = int(variance**2 / sum(part**2 / 3 for part in own))
    assert found.low is not None
    assert found.value - found.low == pytest.approx(stats.t_quantile(0.975, degrees) * variance**0.5)


def test_a_gain_is_that_of_means() -> None:
    """7 / 2.5 - 1 = 1.8; its variance by the delta method: 5/3 / 2.5^2 + (2.8 / 2.5)^2 * 5/12."""
    found = strata.gain({"all": A}, {"all": B}, {"all": 1.0})
    assert found.value == pytest.approx(1.8)
    parts = [5 / 3 / 2.5**2, (2.8 / 2.5) ** 2 * 5 / 12]
    degrees = int(sum(parts) ** 2 / sum(part**2 / 3 for part in parts))
    assert found.high is not None
    assert found.high - 1.8 == pytest.approx(stats.t_quantile(0.975, degrees) * sum(parts) ** 0.5)
    assert strata.difference({"all": A}, {"all": B}, {"all": 1.0}).value == pytest.approx(4.5)


def test_strata_that_only_one_group_has_do_not_count_for_a_gain() -> None:
    found = strata.gain({"a": A, "c": [1.0, 1.0]}, {"a": B, "b": [9.0]}, {"a": 1.0, "b": 5.0, "c": 5.0})
    assert found.value == pytest.approx(1.8)
    assert strata.gain({"a": [0.0]}, {"a": B}, {"a": 1.0}).n == 0


def test_equal_values_have_no_interval() -> None:
    found = strata.mean({"all": [0.1 + 0.2, 0.3, 0.3]}, {"all": 1.0})
    assert (found.low, found.high, found.n) == (None, None, 3)


def test_a_single_value_has_no_interval_and_none_makes_none() -> None:
    assert strata.mean({"a": A, "b": [3.0]}, {"a": 1.0, "b": 1.0}).low is None
    assert strata.mean({}, {}).value is None


@pytest.mark.parametrize(
    ("file", "size", "stratum", "weight"),
    [
        ("trial/NC/S1-10MB-3.pcap", 10e6, "NC, from 10 MB", 25 * 25),
        ("fc_0.1.pcapng", 1e5, "FC, up to 1 MB", 45 * 45),
        ("NC/mc/x.pcap", 5e6, "MC, 5 MB", 30 * 30),
    ],
)
def test_the_field_trial_weighs_sizes_and_places(file: str, size: float, stratum: str, weight: float) -> None:
    own = weights.read("field-trial")
    assert own.stratum(file, size) == stratum
    assert own.of(stratum) == weight


def test_the_field_trials_weights_are_per_cent() -> None:
    own = weights.read("field-trial")
    assert sum(own.words.values()) == sum(size.weight for size in own.sizes) == 100
    assert own.stratum("nothing.pcap", 1e6) is None


@pytest.mark.parametrize("given", ["", "NC", "NC=0", "NC=x", "NC=nan", "N C=1", "=3", {"a": -1.0}])
def test_weights_that_are_none_are_refused(given: str | dict[str, float]) -> None:
    with pytest.raises(InputError, match="they are no weights"):
        weights.read(given)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Downloads over a link that loses packets, and over one that does not: off and on, at two places."""
    folder = tmp_path_factory.mktemp("trial")
    for label, loss in (("off", "1 %"), ("on", "0 %")):
        (folder / label).mkdir()
        for seed in (1, 2, 3):
            for place, size in (("NC", "1 MB"), ("FC", "5 MB")):
                changes = {"flows__0__bytes": size, "topology__loss": loss, "run__seed": seed, "flows__0__count": 1,
                           "topology__queue__limit": "1000 packets"}  # fmt: skip
                pcaps.download(folder / label / f"{place}-{seed}.pcapng", **changes)
    return folder


def test_groups_of_a_trial(trial: Path) -> None:
    result = ackclock.pcap([trial / "off", trial / "on"])
    found = groups(result, weights="field-trial")
    off, on = found.groups
    assert (off.label, off.captures, off.connections, off.vantage) == ("off", 6, 6, "sender")
    assert found.weights == {"NC, up to 1 MB": pytest.approx(5 / 14), "FC, 5 MB": pytest.approx(9 / 14)} or (
        sum(found.weights.values()) == pytest.approx(1)
    )
    assert on.metrics["retransmitted_percent"].value == 0
    flows = result.flows.filter(pl.col("main")).join(result.runs.select("run", file_="file"), on="run")
    means = {
        (label, place): flows.filter(pl.col("label") == label, pl.col("file").str.contains(place))["goodput_bps"].mean()
        for label in ("off", "on")
        for place in ("NC", "FC")
    }
    gain = sum(
        share * (means["on", name[:2]] / means["off", name[:2]] - 1)  # type: ignore[operator]
        for name, share in found.weights.items()
    )
    (only,) = found.gains
    own = only.metrics["goodput_bps"]
    assert own.value == pytest.approx(gain)
    assert own.value is not None
    assert own.low is not None
    assert 0 < own.low < own.value
    reverse = groups(result, base="on").gains[0]
    assert (reverse.label, reverse.base) == ("off", "on")
    assert set(found.frame.filter(pl.col("metric") == "retransmitted_percent")["vantage"]) == {"sender"}
    assert found.frame.filter(pl.col("metric") == "goodput_bps")["vantage"].null_count() == 3


def test_the_command_prints_groups_and_gains(trial: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--label", f"off={trial}/off", "--label", f"on={trial}/on", "--weights", "FC=2,NC=1"]
    assert main(["pcap", *options]) == 0
    out = capsys.readouterr().out
    assert "12 captures" in out
    assert "on against off\n  goodput          +" in out
    assert "seen from the sender" in out
    assert "weighted: FC 66.7 %, NC 33.3 %" in out or "weighted: NC 33.3 %, FC 66.7 %" in out
    assert main(["pcap", *options, "--json", "--base", "on"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [group["vantage"] for group in answer["groups"]] == [["sender"], ["sender"]]
    assert answer["gains"][0]["label"] == "off"
    assert answer["gains"][0]["goodput_bps"]["value"] < 0


def test_losses_seen_from_other_places_are_not_compared(trial: Path, tmp_path: Path) -> None:
    only = tmp_path / "sink.pcapng"
    command = ["tshark", "-r", str(trial / "on" / "NC-1.pcapng"), "-Y", 'frame.interface_name == "flows.0.sink"']
    subprocess.run([*command, "-w", str(only)], check=True, capture_output=True)
    found = groups(ackclock.pcap(labels={"off": trial / "off" / "NC-1.pcapng", "on": only}))
    assert [group.vantage for group in found.groups] == ["sender", "receiver"]
    assert not {"retransmitted_percent", "reordered_percent", "dup_ack_percent"} & set(found.gains[0].metrics)
    assert "goodput_bps" in found.gains[0].metrics
    assert any("losses are not compared" in note for note in found.notes)
    mixed = groups(ackclock.pcap(labels={"off": [trial / "off" / "NC-1.pcapng", only]}))
    assert any("are mixed" in note for note in mixed.notes)


def test_what_is_no_group_is_refused(trial: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = ackclock.pcap(labels={"off": trial / "off" / "NC-1.pcapng"})
    with pytest.raises(InputError, match=r"no captures have the label 'onn'"):
        groups(result, base="onn")
    with pytest.raises(InputError, match="no file name has one of the words"):
        groups(result, weights={"ZZ": 1.0})
    with pytest.raises(InputError, match="is not of captures"):
        groups(ackclock.run(pcaps.LOSSY, jobs=1))
    for options, problem in (
        (["--label", "off"], "names no captures"),
        (["--label", "off=nothing.pcap"], "cannot be read"),
        (["--weights", "field-trial", str(trial / "off" / "NC-1.pcapng")], "they are of groups"),
        (["--base", "on", "--label", f"off={trial}/off"], "no captures have the label 'on'"),
        ([], "no capture is named"),
        ([str(tmp_path)], "has no captures"),
    ):
        assert main(["pcap", *options]) == 2, options
        err = capsys.readouterr().err
        assert problem in err
        assert err.count("\n") == 1
