"""Advice from captures: the rate of the link, what contradicts the file, calibration, and the sender's controller."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.advice import calibration, observed
from ackclock.advice.calibration import RefusedError, settle
from ackclock.advice.path import Proxy
from ackclock.advice.rate import contradiction, estimate
from ackclock.cli.app import main
from ackclock.results.captured import carrying

ROOT = Path(__file__).parents[2]


def _rates() -> Any:
    """``conformance/capture_rates.py``, which writes the captures."""
    spec = importlib.util.spec_from_file_location("capture_rates", ROOT / "conformance" / "capture_rates.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["capture_rates"] = module
    spec.loader.exec_module(module)
    return module


RATES = _rates()


def scenario(cc: str, loss: str = "0", size: str = "8 MB", window: str = "6 MB") -> dict[str, Any]:
    """A download over a link of 40 Mbit/s and 100 ms, with a queue of one BDP."""
    far = {"rate": "40 Mbit/s", "delay": "20 ms", "queue": {"kind": "droptail", "limit": "333 packets"}, "loss": loss}
    near = {"rate": "1 Gbit/s", "delay": "30 ms", "queue": {"kind": "droptail", "limit": "4000 packets"}}
    app = {"kind": "files", "arrivals": {"every": "1000 s"}, "size": size, "request": "200 B", "most": 1}
    return {
        "topology": {"kind": "chain", "hops": [near, far if loss != "0" else {k: far[k] for k in far if k != "loss"}]},
        "flows": [{"cc": cc, "profile": "linux", "tcp": {"receive_buffer": window}, "app": app}],
        "run": {"duration": "60 s", "capture": ["flows", "links"]},
    }


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Captures of a download, by controller, loss, size, window and view."""
    folder = tmp_path_factory.mktemp("views")

    def made(view: str, cc: str, loss: str = "0", size: str = "8 MB", window: str = "6 MB") -> Path:
        stem = "-".join((cc, loss, size, window)).replace(" ", "").replace("%", "")
        every, file = folder / f"{stem}.pcapng", folder / f"{stem}-{view.replace(' ', '-')}.pcap"
        document = scenario(cc, loss, size, window)
        if view == "both ends":
            ackclock.capture(document | {"run": {"duration": "60 s"}}, every)
            return every
        ackclock.capture(document, every)
        file.write_bytes(RATES.seen(every.read_bytes(), view))
        return file

    return made


def seen(file: Path, rate: float | None = None) -> observed.Observed:
    return observed.path(file, rate=rate, window=None, proxy=Proxy(), queue=None)


@pytest.mark.parametrize("loss", ["0", "0.2 %"])
@pytest.mark.parametrize("view", ["sender", "both ends", "merged at the receiver"])
@pytest.mark.parametrize("cc", ["bbr1", "bbr3"])
def test_bbr_senders_do_not_inflate_the_rate_of_the_link(views: Any, cc: str, view: str, loss: str) -> None:
    link = seen(views(view, cc, loss)).link
    assert link.low <= 40e6 <= link.high
    assert link.value == pytest.approx(40e6, rel=0.05)


def test_the_receivers_interface_is_used_where_the_file_has_it(views: Any) -> None:
    assert seen(views("both ends", "bbr1")).link.place == "receiver"
    assert seen(views("sender", "bbr1")).link.place == "sender"


def test_held_out_paths_are_in_the_interval_of_their_rate(tmp_path: Path) -> None:
    found = [one for point in range(RATES.HELD_OUT, RATES.HELD_OUT + 5) for one in RATES.estimates(point, tmp_path)]
    assert len(found) == 5 * len(RATES.VIEWS)
    sure = [one for one in found if one.rate.certain]
    assert len(sure) >= 8
    assert [one for one in sure if not one.covered] == []
    # What does not know the rate has to say so, and the true rate never contradicts its own capture.
    assert all(one.rate.doubts for one in found if not one.covered)
    assert [one for one in found if one.wrong] == []


@pytest.mark.parametrize("rate", [10e6, 30e6, 80e6, 189e6, 1020e6])
@pytest.mark.parametrize("cc", ["cubic", "bbr1", "bbr3"])
def test_a_rate_that_contradicts_what_the_file_delivered_is_refused(views: Any, cc: str, rate: float) -> None:
    file = views("sender", cc)
    with pytest.raises(ackclock.InputError, match=r"--rate: a link of .* Mbit/s .*the same file"):
        seen(file, rate)
    assert seen(file, 40e6).path.pieces[-1].rate == 40e6


def test_a_queue_of_bursts_does_not_contradict_a_faster_link(tmp_path: Path) -> None:
    (found,) = (one for one in RATES.estimates(2022, tmp_path) if one.view == "middle")
    assert found.wrong is None
    assert found.true > 1.5 * found.rate.sustained


def test_a_link_that_a_window_leaves_idle_is_not_contradicted(views: Any) -> None:
    result = ackclock.pcap(views("sender", "cubic", size="2 MB", window="100 kB"), series=True, events=True)
    row = carrying(result.flows.lazy()).collect().row(0, named=True)
    link = estimate(result, row)
    assert contradiction(40e6, link, row) is None
    assert not link.certain
    assert any("the receiver's window" in doubt for doubt in link.doubts)


@pytest.mark.parametrize(("cc", "loss"), [("cubic", "0"), ("bbr3", "0"), ("bbr1", "0.2 %"), ("bbr3", "0.2 %")])
def test_a_sender_is_never_taken_for_another_controller(views: Any, cc: str, loss: str) -> None:
    found = seen(views("sender", cc, loss))
    fits = calibration.calibrate(found.path, found.transfer)
    assert cc in [fit.cc for fit in fits if fit.fits]
    sure = fits[0].off_by <= calibration.RECOGNISED and fits[1].off_by >= calibration.CLEARLY
    if sure:
        assert calibration.choose(fits, None, at_receiver=False).cc == cc
    else:
        with pytest.raises(RefusedError, match=r"could be of .*; give --cc"):
            calibration.choose(fits, None, at_receiver=False)
    assert calibration.choose(calibration.calibrate(found.path, found.transfer, cc), cc, at_receiver=False).cc == cc


@pytest.mark.parametrize("name", ["loss1_bbr", "overflow", "overflow_bbr", "scalable", "vegas", "loss01"])
def test_captures_of_kernels_are_asked_about_and_not_guessed(name: str) -> None:
    found = seen(ROOT / "conformance" / "captures" / "kernel" / f"{name}.sender.pcap.gz")
    with pytest.raises(RefusedError, match=r"no advice: .*--cc"):
        settle(found.path, found.otherwise, found.transfer, None, at_receiver=False)


def test_bbr_of_a_kernel_is_recognised() -> None:
    found = seen(ROOT / "conformance" / "captures" / "kernel" / "burst_bbr.sender.pcap.gz")
    settled = settle(found.path, found.otherwise, found.transfer, None, at_receiver=False)
    assert settled.path.cc == "bbr1"
    assert any("clearly fits bbr1 alone" in note for note in settled.notes)


def fit(cc: str, off_by: float) -> calibration.Fit:
    return calibration.Fit(cc, 1.0, 1.0, off_by)


def test_a_controller_is_recognised_only_if_no_other_is_near() -> None:
    assert calibration.choose([fit("bbr1", 0.4), fit("cubic", 2.1)], None, at_receiver=False).cc == "bbr1"
    for near in ([fit("bbr1", 0.4), fit("cubic", 1.9)], [fit("bbr1", 0.6), fit("cubic", 9)]):
        with pytest.raises(RefusedError, match="cannot be recognised"):
            calibration.choose(near, None, at_receiver=False)


@pytest.mark.parametrize("cc", ["bbr1", "bbr3"])
def test_a_bbr_sender_is_not_predicted_as_cubic(views: Any, cc: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(views("both ends", cc))
    assert main(["advise", "split", "--from-capture", file, "--cc", "cubic", "--json"]) == 1
    out, error = capsys.readouterr()
    found = json.loads(out)
    assert found["pays"] is None
    assert [fit["fits"] for fit in found["refused"]["calibration"]] == [False]
    assert error.startswith(f"ackclock: {file}: no advice: ")
    assert error.count("\n") == 1


def test_a_calibrated_capture_has_advice_with_its_controller(views: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(views("both ends", "bbr1"))
    assert main(["advise", "split", "--from-capture", file, "--cc", "bbr1", "--sizes", "1 MB", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["refused"], found["cc"], found["link"]["certain"]) == (None, "bbr1", True)
    (fit,) = found["calibration"]
    assert fit["predicted_s"] == pytest.approx(fit["observed_s"], rel=calibration.TOLERANCE)
    assert found["whole_bps"]["link"] == pytest.approx(40e6 * 1448 / 1500, rel=0.05)


def test_a_path_that_does_not_reproduce_the_transfer_gives_no_advice(views: Any) -> None:
    found = observed.path(views("sender", "cubic"), rate=None, window=30_000, proxy=Proxy(), queue=None)
    with pytest.raises(RefusedError, match=r"took .* s, and the estimated path predicts .* s with"):
        settle(found.path, None, found.transfer, "cubic", at_receiver=False)


def test_at_the_receiver_alone_the_controller_is_asked_for(views: Any) -> None:
    found = seen(views("receiver", "cubic"))
    assert found.at_receiver
    assert found.path.rtt == pytest.approx(0.1, rel=0.01)
    assert found.path.initial == 10
    with pytest.raises(RefusedError, match=r"was taken at the receiver.*; give --cc"):
        settle(found.path, found.otherwise, found.transfer, None, at_receiver=True)
    assert settle(found.path, found.otherwise, found.transfer, "cubic", at_receiver=True).fit.fits
