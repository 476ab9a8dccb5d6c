"""The map from changed files to slower tests: every unit has its day, and a change selects what its paths say."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import pytest

import select_tests
import tiers
from select_tests import Rule, commands, day_of_week, selection, units_for_change
from shared import ROOT

MONDAY = dt.date(2026, 11, 30)


def test_every_unit_is_selected_within_a_week_without_any_change() -> None:
    week = [selection([], MONDAY + dt.timedelta(days=day)) for day in range(7)]
    assert sorted(unit for day in week for unit in day) == sorted(select_tests.units())
    assert {reason for day in week for reason in day.values()} == set(select_tests.DAYS)


def test_days_cost_about_the_same() -> None:
    known = select_tests.units()
    days = day_of_week(known)
    load = [sum(cost for unit, cost in known.items() if days[unit] == day) for day in range(7)]
    assert max(load) - min(load) <= max(known.values())


def test_a_file_that_no_rule_matches_selects_everything() -> None:
    known = ["slow/a.py", "fuzz"]
    table = [Rule(("known/*",), ("fuzz",))]
    assert units_for_change(["known/x"], table, known) == {"fuzz": "known/x"}
    assert units_for_change(["elsewhere"], table, known) == dict.fromkeys(known, "elsewhere")


@pytest.mark.parametrize(
    ("changed", "selected", "not_selected"),
    [
        ("crates/ackclock-core/src/cc/reno.rs", {"instructions", "cases"}, {"fuzz"}),
        ("crates/ackclock-capture/src/reader/mod.rs", {"fuzz", "guides/pcap"}, {"kernel_vt/kernel_vt.py"}),
        ("crates/ackclock-emu/src/play.rs", {"kernel_vt/kernel_vt.py", "real_time/test_kernel.py"}, {"fuzz"}),
        ("python/ackclock/virtual/build.py", {"kernel_vt/kernel_vt_get.py"}, {"fuzz", "instructions"}),
        ("python/ackclock/measure/server.py", {"real_time/test_measure_server.py"}, {"instructions"}),
        ("docs/rank.md", {"guides/rank"}, {"guides/plot", "instructions"}),
        ("docs/howto/use-a-trace.md", {"guides/use-a-trace"}, {"guides/rank"}),
        ("python/tests/test_kernel_relays.py", {"real_time/test_kernel_relays.py"}, {"real_time/test_kernel.py"}),
        ("no/such/place", {"fuzz", "instructions", "guides/rank", "kernel_vt/kernel_vt.py"}, set()),
    ],
)
def test_paths_select_what_they_touch(changed: str, selected: set[str], not_selected: set[str]) -> None:
    found = units_for_change([changed], select_tests.rules(), select_tests.units())
    assert selected <= found.keys()
    assert not not_selected & found.keys()


def test_every_pattern_of_the_map_matches_a_file_and_a_unit() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    known = select_tests.units()
    tiers_used = {*tiers.TIERS, *select_tests.COMMANDS}
    for rule in select_tests.rules():
        for pattern in rule.paths:
            assert any(select_tests.fnmatchcase(path, pattern) for path in listed), pattern
        for pattern in rule.units:
            # A tier may have no slow file of an area: its tests are quick then, and always run.
            assert pattern.startswith("@") or pattern.partition("/")[0] in tiers_used, pattern
            if "*" not in pattern and pattern.startswith(("guides/", "kernel_vt/", "real_time/")):
                assert pattern in known, pattern


def test_units_become_one_call_for_each_tier() -> None:
    chosen = ["conformance/test_l4s.py", "guides/rank", "guides/measure-a-line", "real_time/test_kernel.py", "fuzz"]
    made = commands([*chosen, "kernel_vt/kernel_vt_get.py", "slow/test_wheel.py", "studies/test_study_split.py"])
    assert made[0] == ["make", "fuzz"]
    together, alone, kernel = made[1:]
    assert {"conformance/test_l4s.py", "python/tests/test_wheel.py", "python/tests/test_study_split.py"} <= {*together}
    assert any(node.endswith("[rank]") for node in together)
    assert "python/tests/test_kernel.py" in alone
    assert alone[-1].endswith("[measure-a-line]")
    assert kernel == ["scripts/kernel_vt.sh", "test", "python/tests/kernel_vt_get.py"]


def test_slow_tests_that_are_listed_exist() -> None:
    for node in tiers.slow_tests():
        path, _, test = node.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not test or f"def {test.partition('[')[0]}(" in text, node


def test_the_change_is_counted_from_a_commit_four_hours_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select_tests, "ROOT", tmp_path)

    def commit(name: str, hour: int) -> None:
        (tmp_path / name).write_text(name)
        when = {"GIT_AUTHOR_DATE": f"2026-11-29T{hour:02}:00:00Z", "GIT_COMMITTER_DATE": f"2026-11-29T{hour:02}:00:00Z"}
        who = {f"GIT_{role}_{part}": "x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        for arguments in (["add", "."], ["commit", "-qm", name]):
            subprocess.run(["git", *arguments], cwd=tmp_path, check=True, env=os.environ | when | who)

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name, hour in (("first", 1), ("before", 8), ("one", 13), ("two", 14)):
        commit(name, hour)
    assert select_tests.changed_since(None)[1] == ["one", "two"]
    assert select_tests.changed_since("HEAD~1")[1] == ["two"]


def test_the_script_prints_what_it_selects() -> None:
    script = ROOT / "scripts" / "select_tests.py"
    done = subprocess.run(
        [sys.executable, str(script), "--base", "HEAD", "--date", "2026-11-30"],
        capture_output=True,
        text=True,
        check=True,
    )
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("slower tests for 0 files changed since ")
    assert first.endswith(" and for Monday:")
    assert last.startswith("left out until their day: ")
