"""The tutorial and the how-to pages, played: every fenced block runs, and what a page shows is what comes out.

    python scripts/guides.py docs/tutorial.md --update     # renews the outputs in the page that have no line "..."

A block is ``sh`` or ``python`` and runs in the order of the page, in a folder of its own with `scenarios/` and
`conformance/`; or it begins with a comment that is a file's name and is that file; or it is ``rust``, begins with the
name of a file of the repository, and stands there word for word, so that it is compiled with it. A block ``text`` is
the output of the one before it. A line ``...`` stands for any output; numbers may differ by 0.5 %, as three digits do.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    *(ROOT / "docs" / name for name in ("tutorial.md", "plot.md", "rank.md", "pcap.md")),
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
)
KERNELS = (ROOT / "docs" / "howto" / "patch-the-kernel.md",)
"""Of these the pages that build kernels, which takes minutes: make test-kernel-vt plays them."""
TIMED = (ROOT / "docs" / "howto" / "measure-a-line.md",)
"""Those that measure by the clock of the computer, which nothing else may keep busy then."""

LANGUAGES = ("python", "rust", "sh", "text", "toml")
ELSEWHERE = re.compile(r"(make|cargo) |\. \.venv/bin/activate$|python3? -m venv |pip install ")
"""Commands that build: `make test` has done what they do before any page is played."""

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?:#|//) ([\w./-]+\.\w+)\b.*\n")
_WALL = re.compile(r"packets, [\d.]+ s\b")
_LINES = re.compile(r"[─━│┃]+")
_TOLERANCE = 0.005


class StaleError(Exception):
    """A block that does not do what its page says."""


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and where the text begins in the page."""

    language: str
    text: str
    at: int

    @property
    def file(self) -> str | None:
        """The file that the block is, if its first line names one."""
        named = _FILE.match(self.text)
        return named[1] if named else None


def blocks(page: Path) -> list[Block]:
    """The blocks of a page. Raises :class:`StaleError` for one that nothing would check."""
    source = page.read_text(encoding="utf-8")
    found = [Block(match[1], match[2], match.start(2)) for match in _BLOCK.finditer(source)]
    if source.count("```") != 2 * len(found):
        raise StaleError(f"{page.name}: a block that is not closed, or not at the start of a line")
    for before, block in zip([None, *found], found, strict=False):
        if block.language not in LANGUAGES:
            raise StaleError(f"{page.name}: a block of '{block.language}', which nothing runs")
        if block.language in ("rust", "toml") and block.file is None:
            raise StaleError(f"{page.name}: a block of {block.language} without a file's name")
        if block.language == "text" and (before is None or before.language not in ("python", "sh")):
            raise StaleError(f"{page.name}: an output without a command before it")
    return found


def play(page: Path, folder: Path) -> Iterator[tuple[Block, str, Block | None]]:
    """Run a page in a folder; yields each block that ran with its output, and the output that the page shows."""
    prepared(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(page)
    for block, after in zip(found, [*found[1:], None], strict=True):
        shown = after if after is not None and after.language == "text" else None
        if block.language == "rust":
            _quoted(block)
        elif block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            yield block, _shell(block.text, folder), shown
        elif block.language == "python":
            yield block, _python(block.text, folder, names), shown


def prepared(folder: Path) -> None:
    """What of the repository a page may name."""
    shutil.copytree(ROOT / "scenarios", folder / "scenarios", dirs_exist_ok=True)
    if not (folder / "conformance").exists():
        (folder / "conformance").symlink_to(ROOT / "conformance")


def check(page: Path, folder: Path) -> int:
    """Play a page. Returns how many blocks ran; raises :class:`StaleError` where an output is another one."""
    count = 0
    for block, output, shown in play(page, folder):
        count += 1
        if shown is not None and (problem := differs(shown.text, output)):
            raise StaleError(f"{page.name}: the output of\n{block.text}is another one: {problem}\n\n{output}")
    return count


def differs(shown: str, output: str) -> str:
    """Where an output is not what a page shows; empty if it is."""
    real, place = _tokens(output), 0
    parts = [_tokens(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if last and index and part:
            starts = [len(real) - len(part)]
        elif index == 0:
            starts = [0]
        else:
            starts = list(range(place, len(real) - len(part) + 1))
        start = next((at for at in starts if at >= place and _alike(part, real[at : at + len(part)])), None)
        if start is None:
            return _first(part, real[starts[0] if len(starts) == 1 and starts[0] >= 0 else place :])
        place = start + len(part)
        if last and not index and place != len(real):
            return f"it goes on with '{real[place]}'"
    return ""


def _first(part: list[str], real: list[str]) -> str:
    for want, got in zip(part, real, strict=False):
        if not _same(want, got):
            return f"'{got}' where the page has '{want}'"
    return f"'{' '.join(part[:8])}' is not there"


def _tokens(text: str) -> list[str]:
    return _LINES.sub(" ", _WALL.sub("packets, T s", text)).split()


def _alike(part: list[str], real: list[str]) -> bool:
    return len(part) == len(real) and all(_same(*pair) for pair in zip(part, real, strict=True))


def _same(a: str, b: str) -> bool:
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return abs(x - y) <= _TOLERANCE * max(abs(x), abs(y))


def _shell(text: str, folder: Path) -> str:
    lines = [line for line in text.splitlines() if not ELSEWHERE.match(line)]
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": paths, "COLUMNS": "110", "PYTHONWARNINGS": "error"}
    command = ["bash", "-e", "-u", "-o", "pipefail", "-c", "\n".join(lines)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StaleError(f"exit code {done.returncode} of\n{text}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def _python(text: str, folder: Path, names: dict[str, Any]) -> str:
    said, path = io.StringIO(), list(sys.path)
    sys.path.insert(0, str(folder))
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(said):
            exec(compile(text, "<page>", "exec"), names)  # noqa: S102  # the pages are ours
    finally:
        sys.path[:] = path
    return said.getvalue()


def _quoted(block: Block) -> None:
    """Whether a quotation of a source file is one. A line ``// ...`` leaves something out."""
    assert block.file is not None
    first, _, body = block.text.partition("\n")
    source, place = (ROOT / block.file).read_text(encoding="utf-8"), 0
    for part in re.split(r"^ *// \.\.\.\n", body, flags=re.MULTILINE):
        at = source.find(part.strip("\n"), place)
        if at < 0:
            raise StaleError(f"{first}: not in that file any more:\n{part}")
        place = at + len(part.strip("\n"))


def update(page: Path) -> None:
    """Renew the outputs in a page."""
    with tempfile.TemporaryDirectory() as folder:
        played = [(output, shown) for _, output, shown in play(page, Path(folder)) if shown is not None]
    source = page.read_text(encoding="utf-8")
    for output, shown in reversed(played):
        if "...\n" not in shown.text:
            clean = "".join(f"{line.rstrip()}\n" for line in output.strip("\n").splitlines())
            source = source[: shown.at] + clean + source[shown.at + len(shown.text) :]
        elif problem := differs(shown.text, output):
            sys.stderr.write(f"{page.name}: by hand, {problem}:\n{output}\n")
    page.write_text(source, encoding="utf-8")


def main() -> None:
    """Check pages, or with ``--update`` renew them."""
    for name in (argument for argument in sys.argv[1:] if argument != "--update"):
        page = Path(name).resolve()
        if "--update" in sys.argv:
            update(page)
            continue
        with tempfile.TemporaryDirectory() as folder:
            sys.stdout.write(f"{page.name}: {check(page, Path(folder))} blocks\n")


if __name__ == "__main__":
    main()
