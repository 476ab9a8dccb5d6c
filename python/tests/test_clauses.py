"""Claims of RFC clauses name clauses that exist, and the page shows them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from shared import ROOT


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("clauses", ROOT / "scripts" / "clauses.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["clauses"] = module
    spec.loader.exec_module(module)
    return module


clauses = _load()

REGISTER = """
[[rfc]]
number = 8985
title = "RACK-TLP"
[[rfc.clause]]
section = "6.3"
id = "timeout"
level = "MUST"
text = "a timeout"
[[rfc.clause]]
section = "7.3"
id = "content"
level = "SHOULD"
text = "a probe"
[[rfc.clause]]
section = "7.3"
id = "one-probe"
level = "MUST NOT"
text = "a second probe"
gap = "not done"
"""
CODE = "//= RFC 8985 §6.3\nfn mark() {}\n//= RFC 8985 §7.3 content\nfn probe() {}\n"
TEST = "#[test]\n//= test: RFC 8985 §6.3 timeout\n//= test: RFC 8985 §7.3 content\nfn timeouts() {}\n"


def tree(root: Path, code: str, register: str = REGISTER) -> Path:
    """A tree of one source file."""
    for name, text in {"crates/core/src/a.rs": code, clauses.REGISTER: register}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / "docs").mkdir(exist_ok=True)
    return root


def test_the_page_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert clauses.main(["--check"]) == 0, capsys.readouterr().out


def test_the_page_names_code_tests_and_gaps(tmp_path: Path) -> None:
    text, problems = clauses.build(tree(tmp_path, CODE + TEST))
    assert problems == []
    assert "3 clauses of 1 RFCs: 2 claimed by code, 0 of them without a test; 1 claimed by nobody." in text
    assert "| 6.3 | `timeout` | MUST | a timeout | [a.rs](../crates/core/src/a.rs) | `timeouts` |" in text
    assert "| RFC 8985 §7.3 one-probe | MUST NOT | a second probe | not done |" in text


def test_a_page_that_differs_from_the_tree_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tree(tmp_path, CODE + TEST)
    assert clauses.main(["--check"], root) == 1
    assert clauses.main([], root) == clauses.main(["--check"], root) == 0
    tree(tmp_path, CODE)
    assert clauses.main(["--check"], root) == 1
    assert "docs/rfc-clauses.md: stale" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("//= RFC 8985 §9 timeout", "a.rs:5: RFC 8985 §9 has no clause"),
        ("//= RFC 8985 §7.3", "a.rs:5: name one of the clauses of this section: content, one-probe"),
        ("//= RFC 8985 §7.3 probe", "a.rs:5: unknown clause 'probe'"),
        ("//= RFC8985 6.3", "a.rs:5: a claim must be"),
        ("//= test: RFC 8985 §6.3\nlet x = 1;", "a.rs:5: a claim of a test must stand above the line of its 'fn'"),
        ("//= test: RFC 8985 §7.3 one-probe\nfn t() {}", "one-probe: a test covers it, but no code claims it"),
    ],
)
def test_a_wrong_claim_is_named_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    _, problems = clauses.build(tree(tmp_path, CODE + line + "\n"))
    assert len(problems) == 1
    assert problem in problems[0]


def test_a_clause_without_code_needs_a_reason(tmp_path: Path) -> None:
    register = REGISTER.replace('gap = "not done"\n', "").replace('"MUST NOT"', '"NEVER"')
    _, problems = clauses.build(tree(tmp_path, CODE, register))
    assert [p.partition(": ")[2].partition(":")[0] for p in problems] == ["RFC 8985 §7.3 one-probe"] * 2
