"""What is generated and committed is up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from ackclock.engine import catalogue
from shared import ROOT


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "scripts" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _load()


def test_nothing_is_stale() -> None:
    assert sorted(generate.stale(ROOT)) == [], "run: make docs"


def test_a_changed_table_is_stale(tmp_path: Path) -> None:
    for name in [*generate.TABLES, *generate.FILES]:
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace("initial window, segments", "first window"), encoding="utf-8")
    assert "docs/tcp.md" in generate.stale(tmp_path)
    assert "docs/controllers.md" not in generate.stale(tmp_path)


def test_a_page_without_its_marker_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"docs/tcp\.md must have one place"):
        generate.fill("docs/tcp.md", "# no marker", generate.TABLES["docs/tcp.md"])


def test_pictures_of_rules_show_what_the_rules_say() -> None:
    marks = {
        "duplicate": "captured twice", "probe": "probe or keepalive", "reordered": "out of order",
        "repaired": "sent again: cause unknown", "fast": "sent again: fast", "timeout": "sent again: after timeout",
        "probe-of-the-tail": "sent again: tail loss probe", "needless": "needless",
    }  # fmt: skip
    drawn = generate.rules()
    assert sorted(drawn) == sorted(f"docs/pictures/rule-{name}.svg" for name in marks)
    for name, mark in marks.items():
        words = {word for found in generate.structure(drawn[f"docs/pictures/rule-{name}.svg"]) for word in found}
        assert mark in words, name


def test_an_example_of_a_rule_is_read_packet_by_packet() -> None:
    sent, answered = "60 > 1..1001  id 7   60.1 > 1001..2001  TS 61   later (TS 9)", "110 < ack 1001 sack 2001..3001"
    text = f"{sent}\n{answered} sack 5..6  window 0\n"
    one, two, answer = generate.rule_pictures.packets(text)
    assert (one.ms, one.sent, one.begin, one.length, one.identification) == (60.0, True, 1, 1000, 7)
    assert (two.begin, two.length, two.options[4:8]) == (1001, 1000, (61).to_bytes(4, "big"))
    assert (answer.sent, answer.ack, answer.window, len(answer.options)) == (False, 1001, 0, 20)


def test_every_controller_has_a_section() -> None:
    text = (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("#")]
    for name in [*catalogue().controllers, *catalogue().slow_starts]:
        assert any(f"`{name}`" in heading for heading in headings), name


def test_every_queue_has_a_section() -> None:
    text = (ROOT / "docs" / "queues.md").read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("#")]
    for name in catalogue().queues:
        assert any(f"`{name}`" in heading for heading in headings), name


def test_every_relative_link_leads_somewhere() -> None:
    import re

    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"
