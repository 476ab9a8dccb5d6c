"""Lines and tables in a file or a pipe: what is printed without rich is what rich prints."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ackclock.cli import console
from ackclock.cli.output import Output

TEXT = st.text(st.sampled_from("ab1 .%-±×µ─│▁⣿\n[/]é"), max_size=12)
LONG = st.integers(0, 260).map(lambda n: "word " * (n // 5) + "x" * (n % 5))
STRANGE = st.text(st.sampled_from("a\t\r\x07\u200b日→\u0301\U0001f600\n"), max_size=6)
SIDES = st.lists(st.sampled_from(["left", "right"]), max_size=4)


def printed(content: str | console.Table, **options: bool) -> tuple[str, str, bool]:
    """What is printed, what rich prints of it, and whether rich was needed for the former."""
    plain, rich = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(plain):
        out = Output()
        out.print(content, **options)
    with contextlib.redirect_stdout(rich):
        found = content.rich() if isinstance(content, console.Table) else content
        Output().rich.print(found, soft_wrap=options.get("soft_wrap", False), markup=options.get("markup", True))
    return plain.getvalue(), rich.getvalue(), "rich" in vars(out)


@settings(max_examples=300)
@given(TEXT | LONG | STRANGE, st.booleans(), st.booleans())
@example("trailing blanks  \n", False, True)
@example("\n\n", True, True)
@example("[bold]looks[/bold]", False, True)
def test_text_is_printed_as_rich_prints_it(text: str, soft_wrap: bool, markup: bool) -> None:
    if markup and "[" in text:
        text = "[bold]looks[/bold]"
    ours, theirs, _ = printed(text, soft_wrap=soft_wrap, markup=markup)
    assert ours == theirs


CELL = TEXT | st.sampled_from(["flows", "goodput per flow\nMbit/s", "0.91 (0.70 to 1)", "-", ""]) | STRANGE


@settings(max_examples=300)
@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=4)),
       SIDES, st.booleans())  # fmt: skip
def test_a_table_is_printed_as_rich_prints_it(rows: list[list[str]], sides: list[console.Justify], tight: bool) -> None:
    ours, theirs, _ = printed(console.table(rows, sides, tight=tight))
    assert ours == theirs


def test_a_table_that_is_too_wide_is_printed_as_rich_prints_it() -> None:
    rows = [["name", "words"], ["a", "word " * 60], ["b", "x" * 90 + " " + "y" * 90]]
    ours, theirs, needed = printed(console.table(rows, ["left"] * 2))
    assert ours == theirs
    assert needed


def test_lines_and_tables_of_results_need_no_rich() -> None:
    rows = [["flows", "goodput per flow\nMbit/s", "util.\n%"], ["0 cubic\n1 reno", "4.80 ± 0.20\n4.70", "99"]]
    for content in (console.table(rows, ["left"]), "", "1 run, 6 817 packets, 0.0 s", "tables: results/a"):
        ours, theirs, needed = printed(content)
        assert (ours, needed) == (theirs, False)


@pytest.mark.parametrize("name", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_looks_in_a_pipe_are_those_of_rich(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(name, "1")
    ours, theirs, needed = printed(console.table([["a"], ["b"]]))
    assert ours == theirs
    assert "\x1b[1m" in ours
    assert needed


def test_a_table_in_ascii_is_that_of_rich() -> None:
    code = "from ackclock.cli import console; console.stdout().print(console.table([['a', 'b'], ['1', '2']]))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.isascii()
    assert done.stdout.split() == ["a", "|", "b", "--+--", "1", "|", "2"]
