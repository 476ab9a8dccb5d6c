#!/usr/bin/env python3
"""Checks the rules of ARCHITECTURE.md. One line per violation; exit code 1 if there is any.

    python3 scripts/architecture.py [ROOT]

Standard library only, so that it runs before anything is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import architecture_python

# --- Crates: which of our own crates each may depend on. A crate that is not listed is a violation.
CRATES: dict[str, set[str]] = {
    "ackclock-core": set(),
    "ackclock-run": {"ackclock-core"},
    "ackclock-sim": {"ackclock-core", "ackclock-run"},
    "ackclock-capture": {"ackclock-core"},
    "ackclock-emu": {"ackclock-capture", "ackclock-core", "ackclock-run"},
    "ackclock-get": {"ackclock-core"},
    "ackclock-proxy": set(),
    "ackclock-py": {"ackclock-capture", "ackclock-core", "ackclock-run", "ackclock-sim"},
}
WITHOUT_DEPENDENCIES = {"ackclock-core"}
BOUND_TO_PYTHON = {"ackclock-py"}
PYTHON_CRATES = re.compile(r"(pyo3|arrow|numpy)\b")
ASYNCHRONOUS = {"ackclock-get", "ackclock-proxy"}
ASYNCHRONOUS_CRATES = re.compile(r"(tokio|mio|futures|hyper)\b")

# --- Rust: what library code must not name, and why. Tests, examples and benches may.
_STD = r"\b(?:std|core|alloc)\s*::\s*(?:\{{[^;]*?)?\b({})\b"
_OUTSIDE = {
    _STD.format("time|thread|net|fs|env|process"): "the world outside: time and input are arguments",
    r"\b(HashMap|HashSet|RandomState)\b": "its order differs between runs; use Vec, VecDeque or BTreeMap",
    r"\b(static\s+mut|thread_local\s*!)": "a global: state belongs to a value",
    r"\b(rand|getrandom|fastrand)\s*::": "randomness comes from named streams (rng.rs)",
    r"(?:\.|\bf64\s*::)\s*(powf|powi|exp|exp2|exp_m1|ln|ln_1p|log|log2|log10|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|cbrt"
    r"|hypot)\s*\(": "its last bit differs between machines; see math.rs",
}
DENIED: dict[str, dict[str, str]] = {
    "ackclock-core": _OUTSIDE
    | {
        _STD.format(r"io|os|sync(?!::Arc;)"): "core does no input or output, and shares only what nobody changes (Arc)",
        r"\b(OnceLock|OnceCell|LazyLock|LazyCell)\b": "a global: state belongs to a value",
        r"\b(e?print(?:ln)?|dbg)\s*!": "core does no output",
        r"\b(f32)\b": "windows and estimates are f64",
    },
    "ackclock-run": _OUTSIDE,
    "ackclock-sim": _OUTSIDE,
}
FORBIDS_UNSAFE = {"ackclock-capture", "ackclock-core", "ackclock-run", "ackclock-sim"}

MOST_LINES, MOST_TEST_LINES = 540, 540
UNSAFE_PLACES = {name: f"crates/{name}/src/sys/" for name in ("ackclock-get", "ackclock-proxy")}
"""The one folder of a crate that may have unsafe code, each with its proof beside it."""

SIZED = ("crates/", "python/", "scripts/", "conformance/")

# --- Text that only makes sense on one machine or behind one proxy. Written so that this file does not match itself.
_BEFORE = r"(?<![\w.~/\-{})\]>*])"
PRIVATE = {
    _BEFORE + r"/(?:home|root|work|tmp)(?![\w.-])": "a path of one machine",
    r"--(?:extra-)?index-url\b|--find[-]links\b|\breplace-with\s*=": "a package index; clients are configured outside",
    r"https?://(?:localhost|\d+\.\d+\.\d+\.\d+|[\w-]+)(?=[:/])": "a host of one network",
    r"https?://[\w.-]+\.(?:internal|local|lan|corp|intranet)\b": "a host of one network",
    r'source = "(?:registry|sparse)\+(?!https://github\.com/rust-lang/crates\.io-index")': "another registry",
}


def files(root: Path) -> list[str]:
    """The files of the repository, or of any directory, as relative paths with slashes."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (root / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
        return sorted(name for name in set(listed) if name and (root / name).is_file())
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    built = {"target", "results", ".venv"}
    return sorted(path.as_posix() for path in found if path.parts[0] not in built and "__pycache__" not in path.parts)


def crates(root: Path) -> Iterator[str]:
    """Arrows between crates, and who may depend on what from outside."""
    for manifest in sorted((root / "crates").glob("*/Cargo.toml")):
        where = manifest.relative_to(root).as_posix()
        content: dict[str, Any] = tomllib.loads(manifest.read_text(encoding="utf-8"))
        name = str(content["package"]["name"])
        if name not in CRATES:
            yield f"{where}: crate {name} has no place in CRATES of scripts/architecture.py"
            continue
        tables = [content, *content.get("target", {}).values()]
        needed = {key for table in tables for kind in ("", "build-") for key in table.get(f"{kind}dependencies", {})}
        tested = {key for table in tables for key in table.get("dev-dependencies", {})}
        for dependency in sorted(needed | tested):
            if dependency.startswith("ackclock") and dependency not in CRATES[name]:
                yield f"{where}: {name} must not depend on {dependency}"
            elif dependency in needed and name in WITHOUT_DEPENDENCIES:
                yield f"{where}: {name} has no dependencies, but lists {dependency}"
            elif PYTHON_CRATES.match(dependency) and name not in BOUND_TO_PYTHON:
                yield f"{where}: only {', '.join(sorted(BOUND_TO_PYTHON))} may know {dependency}"
            elif ASYNCHRONOUS_CRATES.match(dependency) and name not in ASYNCHRONOUS:
                yield f"{where}: only {', '.join(sorted(ASYNCHRONOUS))} may know {dependency}"


_RUST_TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n]{1,8}?|[^\\\n])\'', re.DOTALL
)
_TEST_ITEM = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*([;{])")


def library_code(text: str) -> str:
    """Rust source without comments, literals and test modules; line numbers stay."""

    def blank(part: str) -> str:
        return re.sub(r"[^\n]", " ", part)

    code = _RUST_TOKENS.sub(lambda match: blank(match[0]), text)
    while match := _TEST_ITEM.search(code):
        end = match.end()
        depth = 1 if match[2] == "{" else 0
        while depth and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        code = code[: match.start()] + blank(code[match.start() : end]) + code[end:]
    return code


def is_test(name: str) -> bool:
    """Whether a file belongs to tests, examples or benches."""
    *folders, last = name.split("/")
    stem = last.rpartition(".")[0]
    inside = not {"tests", "examples", "benches", "conformance"}.isdisjoint(folders)
    return inside or stem in ("tests", "testing", "conftest") or stem.endswith("_tests") or stem.startswith("test_")


def rust(root: Path, names: list[str]) -> Iterator[str]:
    """What library code of the pure crates must not name."""
    for crate in sorted(FORBIDS_UNSAFE):
        top = f"crates/{crate}/src/lib.rs"
        if top in names and "#![forbid(unsafe_code)]" not in (root / top).read_text(encoding="utf-8"):
            yield f"{top}: #![forbid(unsafe_code)] is missing"
    for crate, place in UNSAFE_PLACES.items():
        for name in names:
            if not name.startswith(f"crates/{crate}/") or not name.endswith(".rs"):
                continue
            text = (root / name).read_text(encoding="utf-8")
            places, proofs = re.findall(r"\bunsafe\s*\{", library_code(text)), text.count("// SAFETY:")
            if places and not name.startswith(place):
                yield f"{name}: unsafe outside {place}"
            elif len(places) != proofs:
                yield f"{name}: {len(places)} unsafe blocks and {proofs} proofs"
    for crate, denied in DENIED.items():
        for name in names:
            if not name.startswith(f"crates/{crate}/") or not name.endswith(".rs") or is_test(name):
                continue
            code = library_code((root / name).read_text(encoding="utf-8"))
            for pattern, why in denied.items():
                for match in re.finditer(pattern, code):
                    line = code.count("\n", 0, match.start(1)) + 1
                    yield f"{name}:{line}: {match[1]} in {crate}: {why}"


def sizes(root: Path, names: list[str]) -> Iterator[str]:
    """One concept, one file: files stay short."""
    for name in names:
        if name.startswith(SIZED) and name.endswith((".rs", ".py")):
            most = MOST_TEST_LINES if is_test(name) else MOST_LINES
            lines = len((root / name).read_text(encoding="utf-8").splitlines())
            if lines > most:
                yield f"{name}: {lines} lines, at most {most}"


def places(root: Path, names: list[str]) -> Iterator[str]:
    """Nothing that exists on one machine only."""
    for name in names:
        try:
            text = (root / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for pattern, what in PRIVATE.items():
            for match in re.finditer(pattern, text):
                yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}: {what}"


def check(root: Path) -> list[str]:
    """Every violation under `root`."""
    names = files(root)
    python = architecture_python.check(root, names)
    return [*crates(root), *rust(root, names), *python, *sizes(root, names), *places(root, names)]


WITHOUT_A_SYSTEM = "wasm32-unknown-unknown"
"""WebAssembly has no clock, threads or files."""
PORTABLE = ("ackclock-core", "ackclock-run", "ackclock-sim")
"""The crates that must build for it."""


def portable(root: Path) -> tuple[list[str], list[str]]:
    """Builds the pure crates for WebAssembly. Violations, and what could not be checked for want of the target."""
    found = None
    if shutil.which("cargo") and shutil.which("rustc"):
        command = ["rustc", "--print", "target-libdir", "--target", WITHOUT_A_SYSTEM]
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()
    if not found or not Path(found).is_dir():
        return [], [f"{' and '.join(PORTABLE)} not built for {WITHOUT_A_SYSTEM}, which rustc does not have"]
    violations = []
    for crate in PORTABLE:
        command = ["cargo", "build", "--quiet", "--package", crate, "--target", WITHOUT_A_SYSTEM]
        built = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if built.returncode:
            violations.append(f"crates/{crate}: does not build for {WITHOUT_A_SYSTEM}: {built.stderr.strip()}")
    return violations, []


def main() -> int:
    """Prints every violation and what was skipped; returns the exit code."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    not_portable, skipped = portable(root)
    violations = check(root) + not_portable
    for violation in violations:
        print(violation)
    summary = f"{len(violations)} violations" + (f"; skipped: {'; '.join(skipped)}" if skipped else "; nothing skipped")
    print(f"architecture: {summary}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
