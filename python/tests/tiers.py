"""Tiers of tests: which tests `make test` runs, which it leaves out, and what each costs. A plugin of pytest.

A test that needs more than a second of CPU time is listed in `slow.tsv` beside this file, with its cost. The plugin
marks it with the tier of its place: `guides`, `conformance`, `studies`, else `slow`. Tests that need a kernel in
virtual time are marked `kernel_vt`; tests that measure by the clock of the host are marked `real_time` in their
source. All others are quick.

    pytest -m quick                # quick tests, and the tests of every tier that are marked `smoke`
    pytest -m conformance          # one tier
    pytest --cpu-times FILE        # writes the CPU time of every test that ran; scripts/tiers.py makes slow.tsv of it
"""

from __future__ import annotations

import csv
import os
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SLOW = Path(__file__).with_name("slow.tsv")
TIERS = {
    "slow": "tests of more than a second of CPU time",
    "guides": "tutorial and how-to pages, played",
    "conformance": "comparisons with recorded runs of Linux, ns-3 and ns-2",
    "studies": "published evaluations",
    "kernel_vt": "runs on a kernel in virtual time, which is built first",
    "real_time": "tests that measure by the clock of the host, one at a time",
}
"""Each has a target, `make test-slow` for instance."""


def slow_tests() -> dict[str, float]:
    """The CPU time of every slow test, in seconds, by node id. A file without `::` stands for all tests in it."""
    with SLOW.open(encoding="utf-8") as file:
        return {row["test"]: float(row["cpu_s"]) for row in csv.DictReader(file, delimiter="\t")}


def slow_tier(node: str) -> str:
    """The tier of a slow test."""
    path = node.partition("::")[0]
    if path.startswith("conformance/"):
        return "conformance"
    name = Path(path).name
    if name in ("test_guides.py", "test_tutorial_notebook.py"):
        return "guides"
    return "studies" if name.startswith("test_study") else "slow"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-times", type=Path, metavar="FILE", help="write the CPU time of each test, tab-separated")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "quick: in make test")
    config.addinivalue_line("markers", "smoke: in make test, though its tier is left out there")
    for name, meaning in TIERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    config.stash[_LEFT_OUT] = Counter()
    config.pluginmanager.register(_Workers())
    path = config.getoption("--cpu-times")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Costs(path))


_LEFT_OUT = pytest.StashKey[Counter[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    listed = slow_tests()
    for item in items:
        node = item.nodeid
        file = Path(node.partition("::")[0])
        if item.get_closest_marker("real_time"):
            tier = "real_time"
        elif file.name.startswith("kernel_vt"):
            tier = "kernel_vt"
        elif node in listed or file.as_posix() in listed:
            tier = slow_tier(node)
        else:
            tier = ""
        if tier:
            item.add_marker(tier)
        if not tier or item.get_closest_marker("smoke"):
            item.add_marker("quick")


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        tier = next((name for name in TIERS if item.get_closest_marker(name)), "quick")
        item.config.stash[_LEFT_OUT][tier] += 1


def _cpu() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_BEGAN] = _cpu()
    return (yield)


_BEGAN = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when in ("setup", "teardown"):
        report.user_properties.append((f"cpu_{report.when}", f"{_cpu() - item.stash[_BEGAN]:.2f}"))
    return report


@pytest.hookimpl
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = dict(config.stash[_LEFT_OUT])


class _Costs:
    """Collects what tests cost, in the process that reports."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cpu = {key: str(value) for key, value in report.user_properties if key.startswith("cpu_")}
        self.rows.setdefault(report.nodeid, {}).update(cpu)

    def pytest_sessionfinish(self) -> None:
        with self.path.open("w", encoding="utf-8") as file:
            file.write("test\tcpu_s\tset_up_cpu_s\n")
            for node, cpu in sorted(self.rows.items()):
                file.write(f"{node}\t{cpu.get('cpu_teardown', '0')}\t{cpu.get('cpu_setup', '0')}\n")


class _Workers:
    """Takes over from the workers of pytest-xdist what they have left out: each collects all tests."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        output = getattr(node, "workeroutput", {})
        config: pytest.Config = node.config  # type: ignore[attr-defined]
        config.stash[_LEFT_OUT] = Counter(output.get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash[_LEFT_OUT]
    parts = [f"{left_out[tier]} {tier} (make test-{tier.replace('_', '-')})" for tier in TIERS if left_out[tier]]
    if parts and config.option.markexpr.startswith("quick"):
        terminalreporter.write_line(f"left out: {', '.join(parts)}; everything: make test-all")
