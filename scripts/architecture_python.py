"""The rules of ARCHITECTURE.md for the Python package: which part may import which, and no circles between folders."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

IMPORTS: dict[str, set[str]] = {
    "errors": set(),
    "files": {"errors"},
    "grouping": set(),
    "host": set(),
    "programs": {"errors"},
    "kernel": {"errors", "programs"},
    "get": {"programs"},
    "proxy": {"errors", "programs"},
    "virtual": {"grouping", "errors", "files", "kernel"},
    "stats": set(),
    "models": set(),
    "notebook": set(),
    "series": set(),
    "extension": {"_ackclock", "errors"},
    "engine": {"errors", "extension"},
    "controllers": {"errors"},
    "reference": {"controllers"},
    "scenario": {"grouping", "files", "controllers", "engine", "errors", "kernel", "series", "virtual"},
    "simulation": {"controllers", "engine", "errors", "results", "scenario", "series"},
    "gym": {"controllers", "engine", "errors", "host", "scenario"},
    "events": {"files", "controllers", "engine", "errors", "scenario"},
    "execution": {
        "grouping",
        "files",
        "controllers",
        "engine",
        "errors",
        "host",
        "kernel",
        "scenario",
        "series",
        "virtual",
    },
    "metrics": {"stats"},
    "results": {
        "grouping",
        "files",
        "errors",
        "metrics",
        "notebook",
        "stats",
    },  # one that was saved is read without scenarios
    "assembly": {"grouping", "engine", "errors", "host", "results", "scenario", "series"},
    "comparison": {"errors", "notebook", "results", "stats"},
    "drawing": {"files", "errors", "metrics", "results", "series", "stats"},
    "ranking": {"comparison", "errors", "notebook", "results", "stats"},
    "pcaps": {"engine", "errors", "extension", "files", "host", "results", "stats"},
    "drawing.probes": {"scenario", "series"},  # which series a figure needs: asked before the run
    "drawing.topology": {"scenario"},  # what is drawn there is a scenario
    "sweeps": {
        "assembly",
        "controllers",
        "engine",
        "errors",
        "execution",
        "files",
        "host",
        "kernel",
        "notebook",
        "results",
        "scenario",
        "virtual",
    },
    "advice": {"errors", "models", "pcaps", "results", "scenario", "stats", "sweeps"},
    "engines": {
        "comparison",
        "drawing",
        "errors",
        "notebook",
        "results",
        "scenario",
        "series",
        "sweeps",
    },
    "measure": {"engine", "errors", "execution", "files", "host", "results", "scenario", "stats", "sweeps"},
    "study": {
        "engine",  # kept reports play single runs again
        "files",
        "pcaps",
        "sweeps",
        "errors",
        "drawing",
        "metrics",
        "notebook",
        "results",
        "scenario",
        "series",
        "stats",
    },
    "studies": {"errors", "metrics", "models", "stats", "study"},  # the claims of each
    "cli": {
        "",
        "advice",
        "comparison",
        "controllers",
        "drawing",
        "engine",
        "engines",
        "errors",
        "execution",
        "files",
        "get",
        "host",
        "kernel",
        "measure",
        "metrics",
        "pcaps",
        "proxy",
        "ranking",
        "results",
        "scenario",
        "study",
        "sweeps",
        "virtual",
    },
    "__main__": {"cli"},
    "": {
        "comparison",
        "controllers",
        "drawing",
        "engine",
        "engines",
        "errors",
        "events",
        "metrics",
        "pcaps",
        "ranking",
        "results",
        "scenario",
        "simulation",
        "stats",
        "study",
        "sweeps",
    },  # ackclock/__init__.py
}
"""What each part of the package may import from the others, for type checkers too. The most specific name counts."""

NAME_ITS_TYPES = {"", "controllers", "reference", "simulation"}
"""Parts that may name the types of the extension, but not load it."""

OWNERS = {
    "cyclopts": ("cli",),
    "rich": ("cli",),
    "gymnasium": ("gym",),
    "matplotlib": ("drawing",),
    "pydantic": ("scenario", "measure"),
    "scipy": ("stats",),
}
"""Libraries that only these parts may know."""

SOURCES = "python/ackclock/"


def imports(tree: ast.Module, inside: str) -> Iterator[tuple[int, str, bool]]:
    """What a file imports: line, dotted name, and whether for type checkers only. A name may be one of a module."""
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, typing = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            pending.extend((child, True) for child in node.body)
            pending.extend((child, typing) for child in node.orelse)
            continue
        pending.extend((child, typing) for child in ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = inside.split(".")[: -node.level] if node.level else []
            module = ".".join([*parents, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}", typing) for alias in node.names)


def most_specific(table: dict[str, set[str]], module: str) -> str | None:
    """The longest entry of `table` that is `module` or a package around it."""
    parts = module.split(".")
    candidates = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in candidates if name in table), None)


def arrows(root: Path, names: list[str]) -> Iterator[str]:
    """Arrows between the parts of the package, and who may know which library."""
    for name in names:
        if not name.startswith(SOURCES) or not name.endswith(".py"):
            continue
        module = name.removeprefix(SOURCES).removesuffix(".py").replace("/", ".")
        module = module.removesuffix("__init__").removesuffix(".")
        entry = most_specific(IMPORTS, module) if module else ""
        if entry is None:
            yield f"{name}: {module} has no place in IMPORTS of scripts/architecture_python.py"
            continue
        package = entry.split(".")[0]
        allowed = IMPORTS[entry] | {package}
        tree = ast.parse((root / name).read_text(encoding="utf-8"), name)
        problems = set()
        for line, target, typing in sorted(imports(tree, f"ackclock.{module}")):
            top, _, rest = target.partition(".")
            if top == "ackclock":
                # A name of the package itself, such as ackclock.run, is an import of the package.
                part = rest.split(".")[0]
                part = part if part in IMPORTS or part == "_ackclock" else ""
                names_types = part == "_ackclock" and typing and package in NAME_ITS_TYPES
                if part not in allowed and not names_types:
                    problems.add((line, f"{module or 'ackclock'} must not import {f'ackclock.{part}'.rstrip('.')}"))
            elif package not in OWNERS.get(top, (package,)):
                owners = " and ".join(f"ackclock.{owner}" for owner in OWNERS[top])
                problems.add((line, f"only {owners} may import {top}"))
        yield from (f"{name}:{line}: {problem}" for line, problem in sorted(problems))


def circles(root: Path, names: list[str]) -> Iterator[str]:
    """Folders that import each other, directly or around a corner. A file that has folders beside it stands for itself.

    What an `__init__` lists does not count: it says what the folder below it offers.
    """
    modules = {
        name.removesuffix(".py").removesuffix("/__init__").removeprefix("python/").replace("/", "."): name
        for name in names
        if name.startswith(SOURCES) and name.endswith(".py") and "/studies/" not in name
    }
    folders = {name.rpartition("/")[0] for name in modules.values()}
    parents = {folder.rpartition("/")[0] for folder in folders}

    def place(name: str) -> str:
        folder = name.rpartition("/")[0]
        return name if folder in parents and not name.endswith("/__init__.py") else folder

    edges: dict[str, dict[str, str]] = {}
    for module, name in modules.items():
        if name.endswith("/__init__.py"):
            continue
        tree = ast.parse((root / name).read_text(encoding="utf-8"), name)
        for line, target, _ in imports(tree, module):
            parts = target.split(".")
            known = (".".join(parts[:length]) for length in range(len(parts), 1, -1))
            found = next((modules[part] for part in known if part in modules), name)
            if place(found) != place(name):
                edges.setdefault(place(name), {}).setdefault(place(found), f"{name}:{line}")
    yield from _circles(edges)


def _circles(edges: dict[str, dict[str, str]]) -> Iterator[str]:
    """One line for each folder that imports one from which it can be reached again; the smallest name of a circle."""
    for start in sorted(edges):
        for first in sorted(edges[start]):
            path = _path(edges, first, start)
            if path is not None and start == min(path):
                yield f"{edges[start][first]}: folders in a circle: {' -> '.join([start, *path])}"
                break


def _path(edges: dict[str, dict[str, str]], begin: str, end: str) -> list[str] | None:
    """The shortest way along the edges."""
    before: dict[str, str | None] = {begin: None}
    pending = [begin]
    for at in pending:
        if at == end:
            path = [at]
            while (previous := before[path[-1]]) is not None:
                path.append(previous)
            return path[::-1]
        for following in sorted(edges.get(at, {})):
            if following not in before:
                before[following] = at
                pending.append(following)
    return None


def layers(root: Path) -> Iterator[str]:
    """The layers of import-linter's contract are those of ARCHITECTURE.md, and the table of imports keeps to them."""
    settings, page = root / "pyproject.toml", root / "ARCHITECTURE.md"
    if not settings.is_file() or not page.is_file():
        return
    contracts = tomllib.loads(settings.read_text(encoding="utf-8")).get("tool", {}).get("importlinter", {})
    contract = next((item for item in contracts.get("contracts", ()) if item.get("id") == "layers"), None)
    if contract is None:
        yield "pyproject.toml: import-linter has no contract with the id 'layers'"
        return
    ours = [_parts(line) for line in contract["layers"]]
    block = re.search(r"^ *```layers\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if block is None or [_parts(line) for line in block[1].splitlines()] != ours:
        yield "ARCHITECTURE.md: its block of layers is not that of import-linter's contract in pyproject.toml"
    height = {part: number for number, layer in enumerate(ours) for part in layer}
    for part, allowed in IMPORTS.items():
        own = part.split(".")[0]
        for other in sorted(allowed - {"", "_ackclock"}):
            if own in height and height.get(other, len(ours)) <= height[own]:
                yield f"scripts/architecture_python.py: IMPORTS lets {part} import {other}, which is not below it"


def _parts(line: str) -> list[str]:
    return sorted(part.strip() for part in line.split("|"))


def check(root: Path, names: list[str]) -> list[str]:
    """Every violation of the Python package."""
    return [*arrows(root, names), *circles(root, names), *layers(root)]
