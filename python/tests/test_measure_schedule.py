"""Schedules of campaigns, by a clock that is given: nothing here sleeps."""

from __future__ import annotations

import datetime as dt
import fcntl
import json
from pathlib import Path
from typing import Any

import pytest

from ackclock.cli.app import main
from ackclock.errors import AckclockError, InputError
from ackclock.measure import blocks, campaign, runner, schedule
from ackclock.measure.journal import FOLDER, Journal, check_free
from ackclock.measure.schedule import Schedule
from measuring import LINE

MONDAY = dt.datetime(2026, 11, 23, 7, 30)
TEXT = """
[campaign]
name = "try"
server = "127.0.0.1:1"
repetitions = 3
gap = "0 s"
{more}
[[lines]]
name = "here"
[test]
connections = [1, 2]
duration = "100 ms"
[schedule]
at = ["13:00", "08:00"]
"""


class Given:
    """A clock that is where it was put, and goes on when somebody waits."""

    def __init__(self, now: dt.datetime) -> None:
        self.time = now
        self.longest = 0.0

    def now(self) -> dt.datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.longest = max(self.longest, seconds)
        self.time += dt.timedelta(seconds=seconds)


def written(folder: Path, more: str = "", text: str = TEXT) -> Path:
    file = folder / "campaign.toml"
    file.write_text(text.format(more=more), encoding="utf-8")
    return file


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The blocks that were played, with how many tests, in place of playing them."""
    found: list[tuple[int, int]] = []

    def play(made: campaign.Campaign, journal: Journal, job: blocks.Job, _: blocks.Report) -> list[campaign.Point]:
        found.append((job.repetition, len(job.points)))
        for probe in job.probes:
            journal.put_probe(job.number, probe.asked.direction, {"problem": None})
        for place, point in enumerate(job.points):
            run = made.run(point, job.repetition)
            test = {"problem": "made up", "attempts": [], "context": {}, "result": None}
            journal.put(run, {"run": run, "block": job.number, "place": place, "idle_ns": None, **test})
        return []

    monkeypatch.setattr(blocks, "play", play)
    monkeypatch.setattr(runner.tables, "write", lambda *_: None)
    return found


@pytest.mark.parametrize(
    ("now", "days", "expected"),
    [
        ("2026-11-23 07:30", schedule.DAYS, "2026-11-23 08:00"),
        ("2026-11-23 08:00", schedule.DAYS, "2026-11-23 13:00"),
        ("2026-11-23 13:00:01", schedule.DAYS, "2026-11-24 08:00"),
        ("2026-11-23 13:30", ("mon",), "2026-11-30 08:00"),
        ("2026-11-23 07:30", ("sat", "sun"), "2026-11-28 08:00"),
        ("2026-12-31 20:00", schedule.DAYS, "2027-01-01 08:00"),
    ],
)
def test_the_following_time(now: str, days: Any, expected: str) -> None:
    found = Schedule(at=("13:00", "08:00"), days=days)
    assert found.following(dt.datetime.fromisoformat(now)) == dt.datetime.fromisoformat(expected)


def test_a_repetition_is_made_at_each_time(tmp_path: Path, measured: list[tuple[int, int]]) -> None:
    clock, said = Given(MONDAY), list[str]()
    made = runner.keep_time(campaign.load(written(tmp_path)), tmp_path / "out", runner.Asked(), said.append, clock)
    assert measured == [(0, 2), (1, 2), (2, 2)]
    assert [text[-16:] for text in said] == ["2026-11-23 08:00", "2026-11-23 13:00", "2026-11-24 08:00"]
    assert clock.time == dt.datetime(2026, 11, 24, 8, 0)
    assert clock.longest <= 30
    assert made is not None
    assert (made.done, made.missing) == (6, 0)
    assert (
        runner.keep_time(
            campaign.load(tmp_path / "campaign.toml"), tmp_path / "out", runner.Asked(), said.append, clock
        )
        is None
    )


def test_a_daemon_ends_when_the_lines_that_were_chosen_are_measured(
    tmp_path: Path, measured: list[tuple[int, int]]
) -> None:
    file = written(tmp_path, text=TEXT.replace('name = "here"', 'name = "here"\n[[lines]]\nname = "there"'))
    asked = runner.Asked(lines=("here",))
    made = runner.keep_time(campaign.load(file), tmp_path / "out", asked, lambda _: None, Given(MONDAY))
    assert measured == [(0, 2), (1, 2), (2, 2)]
    assert made is not None
    assert (made.done, made.missing) == (6, 6)
    assert runner.keep_time(campaign.load(file), tmp_path / "out", asked, lambda _: None, Given(MONDAY)) is None


def test_a_time_that_passes_meanwhile_is_left_out(tmp_path: Path) -> None:
    clock, begun = Given(MONDAY), list[dt.datetime]()

    def measure() -> bool:
        begun.append(clock.time)
        clock.time += dt.timedelta(hours=6)  # of 08:00 until after 13:00
        return len(begun) < 3

    schedule.keep(Schedule(at=("08:00", "13:00")), clock, measure, lambda _: None)
    assert [time.isoformat(" ", "minutes") for time in begun] == [
        "2026-11-23 08:00",
        "2026-11-24 08:00",
        "2026-11-25 08:00",
    ]


def test_a_time_that_comes_twice_counts_once() -> None:
    clock, begun = Given(MONDAY), list[dt.datetime]()

    def measure() -> bool:
        begun.append(clock.time)
        clock.time -= dt.timedelta(minutes=50)  # summer time ends
        return len(begun) < 2

    schedule.keep(Schedule(at=("08:00",)), clock, measure, lambda _: None)
    assert [time.day for time in begun] == [23, 24]


def test_what_ends_a_repetition_does_not_end_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, tried = list[str](), list[int]()

    def play(*_: Any) -> list[campaign.Point]:
        tried.append(1)
        if len(tried) < 3:
            raise AckclockError("no line")
        raise InputError("the token is another one", "give the right one")

    monkeypatch.setattr(blocks, "play", play)
    with pytest.raises(InputError, match="another one"):
        runner.keep_time(campaign.load(written(tmp_path)), tmp_path / "out", runner.Asked(), said.append, Given(MONDAY))
    assert said.count("no line") == 2


VIA = ('name = "here"', 'name = "here"\nvia = "line.toml"')
PAID = ('name = "here"', 'name = "here"\nmetered = true')
IPERF = ('duration = "100 ms"', 'duration = "1 s"\ntool = "iperf3"')


@pytest.mark.parametrize(
    ("more", "change", "options", "said"),
    [
        ("", PAID, {}, "line 'here' is metered, and much may go over it (nobody has said what it carries)"),
        ('token = "nowhere"', None, {}, "nowhere: cannot be read (no such file"),
        ("", None, {"token": Path("nowhere")}, "nowhere: cannot be read (no such file"),
        ("", VIA, {}, "line.toml"),
        ("", IPERF, {}, "test.tool: iperf3 is not installed here (line 13); apt-get install iperf3"),
        ("", None, {"lines": ["there"]}, "--line: there is no line 'there'"),
        ("", None, {"virtual": True}, "--virtual: line 'here' is a real one"),
        ("", None, {"kernel": "mine"}, "--kernel: it belongs to virtual time"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("begun", [False, True])
def test_a_daemon_does_not_wait_for_what_will_be_refused(
    begun: bool,
    more: str,
    change: tuple[str, str] | None,
    options: dict[str, Any],
    said: str,
    tmp_path: Path,
    measured: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = TEXT if change is None else TEXT.replace(*change)
    found = campaign.load(written(tmp_path, more, text))
    out, clock, told = tmp_path / "out", Given(MONDAY), list[str]()
    if begun:
        journal = Journal.begun(out, found)
        journal.put(0, {"run": 0, "problem": None})
        before = sorted(out.rglob("*"))
    monkeypatch.setenv("PATH", str(tmp_path))
    # It is what is said without --daemon.
    with pytest.raises(InputError) as plain:
        runner.go_on(found, out, runner.Asked(once=True, **options), told.append)
    with pytest.raises(InputError) as error:
        runner.keep_time(found, out, runner.Asked(**options), told.append, clock)
    if "virtual" not in options or not begun:
        assert said in str(error.value)
    assert str(error.value) == str(plain.value)
    assert (told, clock.time, measured) == ([], MONDAY, [])
    assert sorted(out.rglob("*")) == (before if begun else []), "something was written"


@pytest.mark.parametrize("place", ["file", "file/out", "full"])
def test_a_daemon_does_not_wait_for_a_directory_that_it_cannot_have(
    place: str, tmp_path: Path, measured: list[tuple[int, int]]
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    found, told, clock = campaign.load(written(tmp_path)), list[str](), Given(MONDAY)
    with pytest.raises(InputError) as error:
        runner.keep_time(found, tmp_path / place, runner.Asked(), told.append, clock)
    words = {"file": "is a file", "file/out": "not a directory", "full": "something other than a campaign"}
    assert words[place] in str(error.value)
    assert (told, clock.time, measured) == ([], MONDAY, [])


def test_a_directory_that_takes_no_files_is_refused_before_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses = tmp_path / "refuses"
    refuses.mkdir()
    monkeypatch.setattr("os.access", lambda place, _: Path(place) != refuses)
    with pytest.raises(InputError, match=f"cannot write the results there .no file can be made in {refuses}"):
        check_free(refuses / "new" / "out")
    check_free(tmp_path / "new" / "out")


def test_a_daemon_does_not_wait_for_the_end_of_another_campaign(
    tmp_path: Path, measured: list[tuple[int, int]]
) -> None:
    """Not even where that one is whole: its end is not this one's."""
    told, clock, out = list[str](), Given(MONDAY), tmp_path / "out"
    runner.keep_time(campaign.load(written(tmp_path)), out, runner.Asked(), told.append, clock)
    now, played = clock.time, list(measured)
    other = campaign.load(written(tmp_path, "retries = 1"))
    with pytest.raises(InputError, match="the campaign there is not that of"):
        runner.keep_time(other, out, runner.Asked(), told.append, clock)
    assert (clock.time, measured) == (now, played)


def test_once_all_is_there_nothing_is_needed(tmp_path: Path, measured: list[tuple[int, int]]) -> None:
    (tmp_path / "token").write_text("x" * 32)
    (tmp_path / "token").chmod(0o600)
    found, out = campaign.load(written(tmp_path, 'token = "token"')), tmp_path / "out"
    assert runner.keep_time(found, out, runner.Asked(), lambda _: None, Given(MONDAY)) is not None
    (tmp_path / "token").unlink()
    assert runner.keep_time(found, out, runner.Asked(), lambda _: None, Given(MONDAY)) is None
    assert len(measured) == 3


def test_cron_calls_the_same_command_until_all_is_there(tmp_path: Path, measured: list[tuple[int, int]]) -> None:
    command = ["measure", "run", str(written(tmp_path)), "--out", str(tmp_path / "out"), "--once"]
    # 1: the tests of this one have failed.
    assert [main(command) for _ in range(4)] == [1, 1, 1, 1]
    assert measured == [(0, 2), (1, 2), (2, 2)]
    written(tmp_path, "retries = 1")
    assert main(command) == 2, "another campaign is in the directory"


def test_two_processes_do_not_go_on_with_one(
    tmp_path: Path, measured: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["measure", "run", str(written(tmp_path)), "--out", str(tmp_path / "out"), "--once"]
    assert main(command) == 1
    capsys.readouterr()
    with (tmp_path / "out" / FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(command) == 2
    said = capsys.readouterr().err
    assert "another process is going on with it" in said
    assert said.count("\n") == 1
    assert len(measured) == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"13:00"', '"25:00"', "schedule.at.0: '25:00' is not a time of the day"),
        ("at =", "when =", "schedule.when: unknown key 'when'"),
        ('at = ["13:00", "08:00"]', 'at = ["13:00"]\ndays = ["monday"]', "schedule.days.0: unknown day 'monday'"),
        ('at = ["13:00", "08:00"]', "at = []", 'write at = ["08:00", "20:00"]'),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        campaign.load(written(tmp_path, text=TEXT.replace(old, new)))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_daemon_needs_a_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, text=TEXT.partition("[schedule]")[0])
    assert main(["measure", "run", str(file), "--out", str(tmp_path / "out"), "--daemon"]) == 2
    assert "schedule: the campaign has no schedule" in capsys.readouterr().err


def test_one_repetition_and_all_of_them_are_not_asked_for_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path)
    assert main(["measure", "run", str(file), "--out", str(tmp_path / "out"), "--once", "--daemon"]) == 2
    assert "--once: it ends after one repetition, and --daemon after the last" in capsys.readouterr().err


def test_a_plan_says_the_schedule_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, 'token = "token"')
    assert main(["measure", "plan", str(file)]) == 1
    told = capsys.readouterr()
    assert "schedule: one repetition at 08:00, 13:00, every day" in told.out
    assert f"measure run will need the token: {tmp_path / 'token'}: cannot be read (no such file" in told.err
    assert main(["measure", "plan", str(file), "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["problems"]) == 1
    (tmp_path / "token").write_text("x" * 32)
    (tmp_path / "token").chmod(0o600)
    assert main(["measure", "plan", str(file)]) == 0
    assert not capsys.readouterr().err


def test_show_says_what_to_use_of_a_measured_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ackclock.measure import imported
    from ackclock.measure.imports.measured import Test as Measurement

    flow = {"id": "0", "app": "bulk", "cc": "cubic", "start_s": 0.0, "goodput_bps": 1e6}
    imported.write([Measurement(source="a", tool="made up", duration_s=1.0, flows=[flow])], tmp_path / "out")
    assert main(["show", str(tmp_path / "out")]) == 2
    assert (
        "is a result, and show is of scenarios; see it with ackclock measure why, plot or query"
        in capsys.readouterr().err
    )


def test_real_lines_have_no_virtual_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["measure", "run", str(written(tmp_path)), "--out", str(tmp_path / "out")]
    assert main([*command, "--virtual"]) == 2
    assert "--virtual: line 'here' is a real one, and its time is, too" in capsys.readouterr().err
    assert main([*command, "--kernel", "mine"]) == 2
    assert "--kernel: it belongs to virtual time" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("began", "option", "problem"),
    [
        (None, ["--virtual"], "--virtual: the campaign began in real time; leave it out"),
        (("one", "a"), ["--kernel", "two"], "--kernel: the campaign began in virtual time on the kernel one; leave it"),
        (("one", "b"), [], "the kernel one has been built of something else since the campaign began"),
    ],
)
def test_a_campaign_keeps_the_clock_it_began_with(
    began: tuple[str, str] | None,
    option: list[str],
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    text = written(tmp_path).read_text(encoding="utf-8").replace('name = "here"', 'name = "here"\nvia = "line.toml"')
    (tmp_path / "via.toml").write_text(text, encoding="utf-8")
    Journal.begun(tmp_path / "out", campaign.load(tmp_path / "via.toml"), began)
    monkeypatch.setattr(runner.shell, "kernel_of", lambda plan, name: (name, "a"))
    assert main(["measure", "resume", str(tmp_path / "out"), *option]) == 2
    assert problem in capsys.readouterr().err
    assert not Journal(tmp_path / "out").done()


def test_a_real_line_does_not_go_on_in_virtual_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Journal.begun(tmp_path / "out", campaign.load(written(tmp_path)), ("one", "a"))
    assert main(["measure", "resume", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "--line: the campaign began in virtual time, and line 'here' has real time; choose lines with --line" in said
