"""The tutorial and the how-to pages do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import guides

SMOKE = guides.ROOT / "docs" / "howto" / "use-a-trace.md"


def _played() -> list[Any]:
    """The pages; those that measure by the clock of the computer have it alone. One is in `make test`."""
    marks = {page: [pytest.mark.real_time] for page in guides.TIMED} | {SMOKE: [pytest.mark.smoke]}
    return [
        pytest.param(page, id=page.stem, marks=marks.get(page, []))
        for page in sorted({*guides.PAGES} - {*guides.KERNELS})
    ]


@pytest.mark.parametrize("page", _played())
def test_every_block_of_a_page_runs_and_shows_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    assert guides.check(page, tmp_path) >= 2


def test_pages_that_build_kernels_are_played_with_them() -> None:
    assert all(guides.blocks(page) for page in guides.KERNELS)
    assert "guides.KERNELS" in (Path(__file__).parent / "kernel_vt.py").read_text(encoding="utf-8")


def test_a_changed_output_is_noticed() -> None:
    assert guides.differs("a 1.00 b\n", "a   1.001\n━━━\n b\n") == ""
    assert "'1.02'" in guides.differs("a 1.00 b\n", "a 1.02 b\n")
    assert "'c'" in guides.differs("a b\n", "a c\n")
    assert "goes on" in guides.differs("a b\n", "a b c\n")
    assert guides.differs("a b\n", "a\n")
    assert guides.differs("x packets, 2.1 s\n", "x packets, 40 s\n") == ""


def test_three_points_stand_for_any_output() -> None:
    assert guides.differs("...\nc d\n...\n", "a b\nc d\ne\n") == ""
    assert guides.differs("a\n...\n", "a b c\n") == ""
    assert guides.differs("...\ne\n", "a b\ne\n") == ""
    assert guides.differs("...\nd\n", "a b\ne\n")
    assert guides.differs("...\nc e\n...\n", "a b\nc d\ne\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```console\nls\n```\n", "which nothing runs"),
        ("```\nls\n```\n", "which nothing runs"),
        ("```text\nls\n```\n", "without a command"),
        ("```rust\nlet a = 1;\n```\n", "without a file's name"),
        ("* a list\n  ```sh\n  ls\n  ```\n", "not at the start of a line"),
    ],
)
def test_no_block_goes_unchecked(tmp_path: Path, text: str, problem: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(guides.StaleError, match=problem):
        guides.blocks(page)


def test_what_fails_and_what_is_not_in_a_source_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for text in (
        "```sh\nackclock rank nowhere\n```\n",
        "```rust\n// crates/ackclock-core/src/cc/reno.rs\nnot there\n```\n",
    ):
        page.write_text(text, encoding="utf-8")
        with pytest.raises(guides.StaleError):
            guides.check(page, tmp_path)


@pytest.mark.parametrize("page", guides.PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in slugs, target
