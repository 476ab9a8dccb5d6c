"""The rule checker finds what breaks a rule, and nothing else."""

from __future__ import annotations

import ast
import importlib.util
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

from shared import ROOT


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "scripts" / "architecture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


architecture = _load()

CORE = "crates/ackclock-core"
SIM = "crates/ackclock-sim"
LIB = "#![forbid(unsafe_code)]\n"


def manifest(name: str, rest: str = "") -> str:
    return f'[package]\nname = "{name}"\n\n{rest}\n'


def found(root: Path, name: str, text: str) -> list[str]:
    """Violations of a tree of one file."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    violations: list[str] = architecture.check(root)
    return violations


@pytest.mark.parametrize(
    ("crate", "table", "ok"),
    [
        ("ackclock-core", '[dev-dependencies]\nproptest = "1"', True),
        ("ackclock-core", '[dependencies]\nserde = "1"', False),
        ("ackclock-core", '[build-dependencies]\ncc = "1"', False),
        ("ackclock-core", '[target."cfg(unix)".dependencies]\nlibc = "0.2"', False),
        ("ackclock-core", '[dev-dependencies]\nackclock-sim = { path = "../ackclock-sim" }', False),
        ("ackclock-sim", '[dependencies]\nackclock-core = { path = "../ackclock-core" }\nserde = "1"', True),
        ("ackclock-sim", '[dependencies]\nackclock-py = { path = "../ackclock-py" }', False),
        ("ackclock-sim", '[dependencies]\npyo3 = "0.30"', False),
        ("ackclock-sim", '[dev-dependencies]\narrow-array = "60"', False),
        ("ackclock-py", '[dependencies]\nackclock-sim = { path = "../ackclock-sim" }\npyo3 = "0.30"', True),
        ("ackclock-new", "", False),
    ],
)
def test_arrows_between_crates(tmp_path: Path, crate: str, table: str, ok: bool) -> None:
    violations = found(tmp_path, f"crates/{crate}/Cargo.toml", manifest(crate, table))
    assert len(violations) == (0 if ok else 1), violations


@pytest.mark.parametrize(
    "code",
    [
        "use std::time::Instant;",
        "use std::{\n    fmt,\n    fs::File,\n};",
        "fn f() { let t = std::thread::spawn(|| ()); }",
        "use std::collections::HashMap;",
        "static mut COUNT: u64 = 0;",
        "thread_local! { static X: u8 = 0; }",
        "use std::sync::OnceLock;",
        "fn f() { println!(); }",
        "fn f(w: f32) {}",
        "fn f(w: f64) -> f64 { w.powf(0.75) }",
        "fn f(w: f64) -> f64 { f64::ln(w) }",
        "fn f() -> u32 { rand::random() }",
    ],
)
def test_core_is_pure(tmp_path: Path, code: str) -> None:
    violations = found(tmp_path, f"{CORE}/src/a.rs", f"//! Pure.\n{code}\n")
    assert violations
    assert all(violation.startswith(f"{CORE}/src/a.rs:") for violation in violations)


@pytest.mark.parametrize(
    "code",
    [
        "// std::time and HashMap are not used here\n/* nor std::fs */",
        'const WHY: &str = "std::time is a clock";',
        'const RAW: &str = r#"HashMap "quoted" std::fs"#;',
        "const QUOTE: char = '\"'; // HashMap\nconst OTHER: char = '\\'';",
        "fn f<'a>(x: &'a f64) -> f64 { x.sqrt() }",
        "use std::collections::VecDeque;\nuse crate::time::Time;",
        "#[cfg(test)]\nmod tests {\n    use std::time::Instant;\n    fn f() { if true { } }\n}\nfn g() {}",
        '#[cfg(test)]\n#[path = "a_tests.rs"]\nmod tests;',
    ],
)
def test_what_core_may_say(tmp_path: Path, code: str) -> None:
    assert found(tmp_path, f"{CORE}/src/a.rs", code) == []


def test_code_after_a_test_module_is_seen(tmp_path: Path) -> None:
    code = "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n\nuse std::net::IpAddr;\n"
    (violation,) = found(tmp_path, f"{CORE}/src/a.rs", code)
    assert violation.startswith(f"{CORE}/src/a.rs:6: net in ackclock-core")


def test_sim_has_no_clock_and_no_hash_maps(tmp_path: Path) -> None:
    assert len(found(tmp_path, f"{SIM}/src/a.rs", "use std::time::Instant;\nuse std::collections::HashSet;\n")) == 2


@pytest.mark.parametrize("name", ["examples/run.rs", "tests/order.rs", "src/wire_tests.rs"])
def test_tests_and_examples_may_measure_time(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, f"{SIM}/{name}", "use std::time::Instant;\n") == []


def test_unsafe_code_is_forbidden(tmp_path: Path) -> None:
    assert len(found(tmp_path, f"{CORE}/src/lib.rs", "pub mod cc;\n")) == 1
    assert found(tmp_path, f"{CORE}/src/lib.rs", LIB) == []


@pytest.mark.parametrize(
    ("module", "line", "ok"),
    [
        ("cli/run.py", "from ackclock.results import text", True),
        ("cli/run.py", "import ackclock", True),
        ("results/text.py", "from ackclock.cli import console", False),
        ("results/text.py", "from ackclock.sweeps import run", False),
        ("drawing/figures.py", "from ackclock.results.result import Result", True),
        ("drawing/figures.py", "from ackclock.drawing import style", True),
        ("drawing/figures.py", "from ackclock import engine", False),
        ("drawing/figures.py", "from ackclock.scenario.plan import Plan", False),
        ("drawing/probes.py", "from ackclock.scenario.plan import Plan", True),
        ("drawing/figures.py", "from ackclock import run", False),
        ("drawing/figures.py", "from ..engine import run", False),
        ("drawing/figures.py", "def f():\n    from ackclock import engine", False),
        ("drawing/figures.py", "if TYPE_CHECKING:\n    from ackclock.engine import Output", False),
        ("drawing/figures.py", "if TYPE_CHECKING:\n    from ackclock.results.result import Result", True),
        ("errors.py", "if typing.TYPE_CHECKING:\n    from ackclock.results.result import Result", False),
        ("reference/reno.py", "if TYPE_CHECKING:\n    from ackclock._ackclock import Ack", True),
        ("reference/reno.py", "from ackclock._ackclock import Ack", False),
        ("sweeps/run.py", "if TYPE_CHECKING:\n    from ackclock._ackclock import Ack", False),
        ("extension.py", "from ackclock import _ackclock", True),
        ("sweeps/run.py", "from ackclock import _ackclock", False),
        ("sweeps/run.py", "from ackclock._ackclock import run", False),
        ("sweeps/run.py", "import ackclock.drawing.figures", False),
        ("scenario/model.py", "import pydantic", True),
        ("results/result.py", "from pydantic import BaseModel", False),
        ("stats.py", "from scipy.special import stdtrit", True),
        ("drawing/style.py", "import rich.table", False),
        ("novel/thing.py", "import math", False),
    ],
)
def test_arrows_between_python_modules(tmp_path: Path, module: str, line: str, ok: bool) -> None:
    violations = found(tmp_path, f"python/ackclock/{module}", f"{line}\n")
    assert len(violations) == (0 if ok else 1), violations


def plant(root: Path, sources: dict[str, str]) -> list[str]:
    """Violations of a tree of a few files."""
    for name, text in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    violations: list[str] = architecture.check(root)
    return violations


def test_folders_do_not_import_each_other_around_a_corner(tmp_path: Path) -> None:
    package = "python/ackclock/scenario"
    sources = {
        f"{package}/__init__.py": "from ackclock.scenario.links import rate\n",
        f"{package}/links/rate.py": "from ackclock.scenario.flows import route\n",
        f"{package}/flows/route.py": "if TYPE_CHECKING:\n    from ackclock.scenario.model import Scenario\n",
        f"{package}/model.py": "from ackclock.scenario.text import units\n",
        f"{package}/text/units.py": "import math\n",
    }
    assert plant(tmp_path, sources) == []
    (violation,) = plant(tmp_path, {f"{package}/text/units.py": "import ackclock.scenario.links.rate\n"})
    assert violation == (
        f"{package}/flows/route.py:2: folders in a circle: {package}/flows -> {package}/model.py -> {package}/text"
        f" -> {package}/links -> {package}/flows"
    )


LAYERS = """[tool.importlinter]
root_package = "ackclock"
[[tool.importlinter.contracts]]
id = "layers"
layers = {layers}
"""


def test_the_contract_is_that_of_the_page_and_of_the_table(tmp_path: Path) -> None:
    ours = ["cli", "sweeps", "drawing | results", "scenario", "errors | stats"]
    settings = LAYERS.format(layers=ours)
    page = "\n".join(["```layers", *ours[:2], "results | drawing", *ours[3:], "```"])
    tree = {"pyproject.toml": settings, "ARCHITECTURE.md": page}
    (violation,) = plant(tmp_path, tree)
    assert violation.endswith("IMPORTS lets drawing import results, which is not below it")
    ours[2:3] = ["drawing", "results"]
    tree["pyproject.toml"] = LAYERS.format(layers=ours)
    (violation,) = plant(tmp_path, tree)
    assert violation.startswith("ARCHITECTURE.md: its block of layers")
    tree["ARCHITECTURE.md"] = page.replace("results | drawing", "drawing\nresults")
    assert plant(tmp_path, tree) == []
    (violation,) = plant(tmp_path, tree | {"pyproject.toml": LAYERS.format(layers=ours).replace('"layers"', '"x"')})
    assert "no contract" in violation


@pytest.mark.parametrize(("has_target", "broken"), [(False, ""), (True, ""), (True, "ackclock-sim")])
def test_what_could_not_be_built_is_said_to_be_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], has_target: bool, broken: str
) -> None:
    tools, target = tmp_path / "tools", tmp_path / "rustlib"
    tools.mkdir()
    if has_target:
        target.mkdir()
    built = tmp_path / "built"
    programs = {
        "rustc": f"echo {target}",
        "cargo": f'echo "$@" >> {built}\ncase "$*" in *"{broken or "nothing"}"*) echo no clock >&2; exit 1;; esac',
    }
    for name, text in programs.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    tree = tmp_path / "tree"
    tree.mkdir()
    monkeypatch.setattr(architecture.sys, "argv", ["architecture.py", str(tree)])
    code = architecture.main()
    *problems, last = capsys.readouterr().out.splitlines()
    assert code == bool(broken)
    if not has_target:
        assert not built.exists()
        assert last == (
            "architecture: 0 violations; skipped: ackclock-core and ackclock-run and ackclock-sim not"
            " built for wasm32-unknown-unknown, which rustc does not have"
        )
        return
    crates = [line.split()[line.split().index("--package") + 1] for line in built.read_text().splitlines()]
    assert crates == ["ackclock-core", "ackclock-run", "ackclock-sim"]
    assert last == f"architecture: {int(bool(broken))} violations; nothing skipped"
    assert problems == ([f"crates/{broken}: does not build for wasm32-unknown-unknown: no clock"] if broken else [])


def test_files_are_short(tmp_path: Path) -> None:
    assert found(tmp_path, "crates/ackclock-py/src/a.rs", "//\n" * 540) == []
    assert len(found(tmp_path, "crates/ackclock-py/src/b.rs", "//\n" * 541)) == 1
    assert len(found(tmp_path, "python/tests/test_a.py", "#\n" * 541)) == 2
    assert len(found(tmp_path, "crates/ackclock-py/src/b_tests.rs", "//\n" * 541)) == 3


# A ~ in each keeps this file itself within the rule; the test takes it out.
@pytest.mark.parametrize(
    ("text", "ok"),
    [
        ("cd /~home/somebody", False),
        ('path = "/~work/main"', False),
        ("out=/~tmp", False),
        ("see https://example.org/home/page and network/~workers", True),
        ("$HOME/~tmp and a/~tmp/b", True),
        ("pip install --index~-url x", False),
        ("--no-emit-index-url", True),
        ("http://~localhost:3141/simple", False),
        ("https://~mirror.internal/simple", False),
        ("https://~10.1.2.3/simple", False),
        ("https://www.rfc-editor.org/rfc/rfc9438", True),
        ('source = "~registry+https://github.com/rust-lang/crates.io-index"', True),
        ('source = "~registry+https://crates.example.org/index"', False),
    ],
)
def test_nothing_of_one_machine(tmp_path: Path, text: str, ok: bool) -> None:
    violations = found(tmp_path, "notes.txt", text.replace("~", ""))
    assert len(violations) == (0 if ok else 1), violations


def test_binary_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe" + bytes([47]) + b"home/x")
    assert architecture.check(tmp_path) == []


def modules_of_tests(root: Path) -> dict[str, list[Path]]:
    """The modules that tests import by bare names, those of the folders of `pythonpath`, by name."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    found = defaultdict(list)
    for folder in settings["tool"]["pytest"]["ini_options"]["pythonpath"]:
        for path in sorted((root / folder).glob("*.py")):
            if path.name != "conftest.py":
                found[path.stem].append(path)
    return found


def ambiguous(root: Path) -> list[str]:
    """Names of modules that several files have, or one file and the standard library."""
    modules = modules_of_tests(root)
    return [name for name, paths in modules.items() if len(paths) > 1 or name in sys.stdlib_module_names]


def imports_of_tests(root: Path) -> list[str]:
    """Imports of modules that have tests."""
    parsed = {
        path: ast.parse(path.read_text(encoding="utf-8")) for paths in modules_of_tests(root).values() for path in paths
    }
    with_tests = {
        path.stem
        for path, tree in parsed.items()
        if any(isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name.startswith("test") for node in tree.body)
    }
    found = []
    for path, tree in parsed.items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                names = [node.module]
            found += [f"{path.name}:{node.lineno}: imports {name}" for name in names if name in with_tests]
    return found


def test_modules_of_tests_have_names_of_their_own_and_tests_import_no_tests(tmp_path: Path) -> None:
    """Which module a bare name means must not depend on the order of folders."""
    assert ambiguous(ROOT) == []
    assert imports_of_tests(ROOT) == []
    for name, text in {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["one", "two"]\n',
        "one/test_a.py": "def test_it() -> None:\n    pass\n",
        "one/kernels.py": "def test_it() -> None:\n    import test_a\n",
        "two/test_a.py": "from helper import test_me\n",
        "two/helper.py": "from kernels import test_it\n",
        "two/json.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert ambiguous(tmp_path) == ["test_a", "json"]
    assert imports_of_tests(tmp_path) == ["kernels.py:2: imports test_a", "helper.py:1: imports kernels"]
