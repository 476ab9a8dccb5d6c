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
