"""How much may go over an interface on which data costs money before somebody has to say yes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.measure import campaign, context, costs, runner
from ackclock.measure.journal import Journal
from lines import Computer

# 2 tests and a probe of 10 s, ten times: 300 s, which at 25 Mbit/s are 937.5 MB on each line.
TEXT = """
[campaign]
name = "two"
server = "192.0.2.1"
repetitions = 10
[[lines]]
name = "standing"
{standing}
[[lines]]
name = "moving"
{moving}
[test]
connections = [1, 8]
duration = "10 s"
"""
USB = 'interface = "usb0"\nrate = "25 Mbit/s"\n'
PAID = USB + "metered = true\n"


def two(standing: str, moving: str, folder: Path = Path()) -> campaign.Campaign:
    return campaign.parsed(TEXT.format(standing=standing, moving=moving), "two.toml", folder)


@pytest.mark.parametrize(
    ("standing", "moving", "said"),
    [
        (PAID, PAID, "lines 'standing' and 'moving' go over one metered interface (usb0), and much may go over it"
                     " (about 1.88 GB); say that it may be: --yes"),
        (PAID, PAID.replace("usb0", "usb1"), None),
        (PAID, USB + "metered = false", None),
        (PAID.replace("25", "27"), PAID.replace("usb0", "usb1"), "line 'standing' is metered, and much may go over it"
                                                                 " (about 1.01 GB); say that it may be: --yes"),
        (PAID.replace("25", "12"), PAID.replace("25", "14"), None),  # 975 MB
        (PAID, PAID.replace('rate = "25 Mbit/s"\n', ""),
         "lines 'standing' and 'moving' go over one metered interface (usb0), and much may go over it (nobody has said"
         " what 'moving' carries); say what it carries, rate = \"25 Mbit/s\", or --yes"),
        ("metered = true", PAID, "line 'standing' is metered, and much may go over it (nobody has said what it carr"),
        ('metered = true\nrate = "25 Mbit/s"', PAID, "lines 'standing' and 'moving' go over one metered interface (us"),
    ],
)  # fmt: skip
def test_it_is_the_volume_of_an_interface(
    standing: str, moving: str, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A line without an interface goes by that of the routes.
    monkeypatch.setattr(context, "interface_to", lambda _: "usb0" if "rate" in standing else "wlan0")
    found = two(standing, moving)
    if said is None:
        costs.check(found, found.lines)
        return
    with pytest.raises(InputError) as error:
        costs.check(found, found.lines)
    assert str(error.value).startswith(said)


def test_what_the_system_says_of_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computer = Computer(tmp_path, monkeypatch)
    computer.interface("usb0", "rndis_host")
    found = two(USB, USB)
    with pytest.raises(InputError, match=r"\(about 1\.88 GB\)"):
        costs.check(found, found.lines)
    costs.check(found, found.lines[:1])
    costs.check(found, found.lines[1:])


def test_what_is_there_is_not_paid_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = two(PAID.replace("25", "50"), PAID)  # 1.875 GB and 0.9375 GB

    def asked(done: set[int]) -> str:
        try:
            costs.check(found, found.lines, done)
        except InputError as error:
            return str(error)
        return ""

    first, second = set(range(20)), set(range(20, 40))
    assert "about 1.88 GB" in asked(second)
    assert "about 1.5 GB" in asked({*second, 0, 1, 2, 3})
    assert asked(first) == "", "the other line has less than 1 GB"
    unknown = two("metered = true", 'interface = "usb0"')
    costs.check(unknown, unknown.lines, first)

    # The same by resume; of tests that are made again, too.
    journal = Journal.begun(tmp_path / "out", two(PAID.replace("25", "50"), PAID, tmp_path))
    for run in first:
        journal.put(run, {"run": run, "problem": "made up"})
    monkeypatch.setattr(runner, "_go_on", lambda *_: runner.Made(0, {}, 0))
    runner.resume(tmp_path / "out", runner.Asked(), print)
    with pytest.raises(InputError, match=r"\(about 2\.81 GB\)"):
        runner.resume(tmp_path / "out", runner.Asked(retry_failed=True), print)
    assert journal.done() == first, "nothing is forgotten before it may be made"


def test_plan_and_run_ask_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "two.toml", tmp_path / "out"
    file.write_text(TEXT.format(standing=PAID, moving=PAID), encoding="utf-8")
    assert main(["measure", "plan", str(file), "--json"]) == 1, "there is no usb0"
    words = "lines 'standing' and 'moving' go over one metered interface (usb0), and much may go over it"
    asks = [problem for problem in json.loads(capsys.readouterr().out)["problems"] if words in problem]
    assert len(asks) == 1
    assert asks[0].startswith("measure run will ask: ")
    assert main(["measure", "run", str(file), "--out", str(out)]) == 2
    assert words in capsys.readouterr().err
    assert not out.exists()
