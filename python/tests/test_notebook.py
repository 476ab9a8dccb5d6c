"""What a notebook shows, without a notebook: HTML that is well-formed and escaped, and progress by a stand-in."""

from __future__ import annotations

import dataclasses
import re
import sys
import types
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import study
from ackclock.notebook import html, progress
from ackclock.notebook.html import Mark
from ackclock.results.result import Result
from ackclock.study import wording
from studies import write_study


def parsed(source: str) -> ET.Element:
    """The HTML as a tree. It has no entity that XML does not know, so that a browser reads it the same way."""
    return ET.fromstring(f"<div>{source}</div>")


def texts(tree: ET.Element, name: str) -> list[str]:
    return ["".join(node.itertext()) for node in tree.iter(name)]


@pytest.fixture(scope="module")
def swept() -> Result:
    flow = {"cc": ["reno", "cubic"], "start": {"uniform": ["0 s", "1 s"]}}
    topology = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 BDP"}}
    raw = {"topology": topology, "flows": [flow], "run": {"duration": "3 s", "replications": 8}}
    return ackclock.run(raw, jobs=1)


def test_text_is_escaped_once() -> None:
    tree = parsed(html.table([["<a>"], ["x & y\n<b>"]], 'ti"tle<'))
    assert texts(tree, "th") == ["<a>"]
    assert texts(tree, "td") == ["x & y<b>"]
    assert texts(tree, "caption") == ['ti"tle<']
    assert html.escaped(html.escaped("a & b")) == "a &amp; b"


def test_lines_of_cells_that_stand_beside_each_other_do_not_break() -> None:
    made = html.table(
        [["flows", "Mbit/s", "says"], ["0 cubic\n1 cubic", "9.70 ± 0.51\n9.59 ± 0.51", "one\n" + 50 * "m"]]
    )
    cells = re.findall(r"<td([^>]*)>", made)
    assert cells == [' style="white-space:nowrap"', ' style="white-space:nowrap"', ""]
    assert '<td style="text-align:left;white-space:nowrap">a<br/>b</td>' in html.table([["x"], ["a\nb"]], words=1)
    assert '<td style="text-align:left">a</td>' in html.table([["x"], ["a"]], words=1)


def test_intervals_are_on_one_scale_within_the_picture() -> None:
    low, high, none = html.intervals([[Mark(1.0, 0.5, 1.5)], [Mark(4.0)], [Mark(None), Mark(float("nan"))]], zero=0.0)
    circles = [float(node.attrib["cx"]) for chart in (low, high) for node in parsed(chart).iter("circle")]
    left, right = circles
    dashed = next(float(line.attrib["x1"]) for line in parsed(low).iter("line") if "stroke-dasharray" in line.attrib)
    assert (left - dashed) / (right - dashed) == pytest.approx(1 / 4, abs=0.002)
    assert not list(parsed(none).iter("circle"))
    assert texts(parsed(none), "title") == ["no value; no value"]
    for chart in (low, high, none):
        picture = next(parsed(chart).iter("svg"))
        for node in picture.iter():
            assert all(0 <= float(node.attrib[key]) <= 150 for key in ("x1", "x2", "cx") if key in node.attrib)


def test_no_colour_of_its_own_that_a_dark_page_would_hide(swept: Result) -> None:
    shown = swept._repr_html_() + html.badge("fail", "bad") + ackclock.compare(swept, by="cc")._repr_html_()
    assert "<svg" in shown
    for colour in re.findall(r"(?:fill|stroke|color|background)[=:]\"?([^;\"]+)", shown):
        assert colour in ("currentColor", "none") or colour.startswith("rgba("), colour


def test_a_verdict_is_a_word_and_a_sign_besides_its_tint() -> None:
    said = ["".join(parsed(html.badge("word", tone)).itertext()) for tone in ("good", "bad", "open", "plain")]
    assert said == ["✓ word", "✗ word", "? word", "word"]


def test_a_result_has_a_chart_beside_each_point(swept: Result) -> None:
    tree = parsed(swept._repr_html_())
    main = next(tree.iter("table"))
    charts = list(main.iter("svg"))
    assert len(charts) == 2
    for chart, point in zip(charts, swept.points, strict=True):
        told = point.groups[0].metrics["goodput_bps"].mean
        assert told is not None
        assert texts(chart, "title")[0].startswith(f"{told / 1e6:.4g} (")


def test_a_point_shows_every_metric(swept: Result) -> None:
    point = swept.points[1]
    tree = parsed(point._repr_html_())
    assert texts(tree, "caption") == ["cc = cubic: 8 runs"]
    assert texts(tree, "td")[::3] == list(point.metrics)


def test_a_comparison_has_a_chart_and_a_sign_for_each_row(swept: Result) -> None:
    found = ackclock.compare(swept, by="cc", metrics=["goodput_bps", "utilisation"])
    tree = parsed(found._repr_html_())
    assert len(list(tree.iter("svg"))) == 2
    for line, row in zip(texts(tree, "span"), found.rows, strict=True):
        assert line.removeprefix("? ") == row.verdict


def test_swept_values_cannot_be_markup(swept: Result) -> None:
    points = [dataclasses.replace(point, params={"cc": "<script>a & b</script>"}) for point in swept.points]
    copied = Result(swept.tables, swept.manifest)
    copied.__dict__["points"] = points
    for shown in (copied._repr_html_(), points[0]._repr_html_()):
        assert "<script>" not in shown
        assert "<script>a & b</script>" in "".join(parsed(shown).itertext())


def test_a_ranking_has_a_chart_for_each_candidate_and_its_sentence(swept: Result) -> None:
    found = ackclock.rank(swept)
    tree = parsed(found._repr_html_())
    assert texts(tree, "strong") == [found.sentence]
    order = next(tree.iter("table"))
    assert [row.findall("td")[1].text for row in order.findall("tbody/tr")] == [item.name for item in found.candidates]
    assert len(list(order.iter("circle"))) == 2
    wide = [float(bar.attrib["width"]) for bar in order.iter("rect") if bar.attrib["fill"] == "currentColor"]
    bests = [item.best or 0.0 for item in found.candidates]
    assert max(bests) > 0.99, "or the bar would not have to end before it is full"
    assert wide == pytest.approx([150 * min(max(best, 0.01), 0.99) for best in bests], abs=0.1)
    assert {"> 99 %", "< 1 %"} <= {"".join(title.itertext()) for title in order.iter("title")}


def test_a_study_shows_claims_with_words(tmp_path: Path) -> None:
    report = study.run(write_study(tmp_path), quick=True, jobs=1)
    *tables, claims = parsed(report._repr_html_()).iter("table")
    assert texts(tables[0], "caption") == [report.study.tables[0].title]
    for sign, item in zip(texts(claims, "span"), report.claims, strict=True):
        assert (item.verdict.outcome if item.judged else "not judged") in sign
        assert sign.endswith("(quick: not evidence)" if item.judged else "(quick)")


def test_a_study_has_units_and_rounds_as_in_the_terminal(tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    claims = folder / "claims.py"
    claims.write_text(claims.read_text().replace("paper=9.5,", 'paper=9.5, unit="Mbit/s",'), encoding="utf-8")
    report = study.run(folder, quick=True, jobs=1)
    *_, table = parsed(report._repr_html_()).iter("table")
    head = texts(table, "th")
    rows = [["".join(cell.itertext()) for cell in row.findall("td")] for row in table.findall("tbody/tr")]
    for row, item in zip(rows, report.claims, strict=True):
        own = dict(zip(head, row, strict=True))
        assert own["measured"] == wording.measured(item)
        assert own["paper"] == wording.paper(item.claim)
    first, second = (dict(zip(head, row, strict=True)) for row in rows)
    assert first["measured"].endswith(" Mbit/s")
    assert first["paper"] == "9.5 Mbit/s"
    assert second["paper"] == "-", "a word is not the quantity that is measured"


class _Shown:
    def __init__(self, content: str, log: list[str]) -> None:
        self.log = log
        log.append(content)

    def update(self, content: str) -> None:
        self.log.append(content)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stand-in for IPython in a notebook; the list has what it was asked to show, in order."""
    log: list[str] = []
    display = types.ModuleType("IPython.display")
    display.HTML = str  # type: ignore[attr-defined]
    display.display = lambda content, display_id: _Shown(content, log)  # type: ignore[attr-defined]
    package = types.ModuleType("IPython")
    package.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return log


def several(raw: dict[str, Any]) -> dict[str, Any]:
    """Six runs."""
    return {**raw, "run": {"duration": "1 s", "replications": 6}}


def test_a_notebook_is_told_how_far_a_run_is(notebook: list[str], raw: dict[str, Any]) -> None:
    ackclock.run(several(raw), jobs=1)
    assert notebook[0].endswith("0 of 6 runs")
    assert re.fullmatch(r"6 runs, \d+\.\d s", notebook[-1])


def test_a_notebook_is_told_how_far_a_sweep_is(notebook: list[str], raw: dict[str, Any], tmp_path: Path) -> None:
    ackclock.sweep(several(raw), tmp_path / "out", jobs=1)
    assert re.fullmatch(r"6 runs, \d+\.\d s", notebook[-1])


def test_an_own_progress_takes_the_place_of_the_bar(notebook: list[str], raw: dict[str, Any]) -> None:
    told: list[int] = []
    ackclock.run(several(raw), jobs=1, progress=lambda finished, total: told.append(finished))
    assert told[-1] == 6
    assert not notebook


def test_a_notebook_that_cannot_show_loses_no_run(
    notebook: list[str], raw: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(sys.modules["IPython.display"], "display")
    assert ackclock.run(several(raw), jobs=1).runs.height == 6
    assert not notebook


def test_a_terminal_and_a_script_have_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert progress.bar() is None
    package = types.ModuleType("IPython")
    package.get_ipython = lambda: types.SimpleNamespace()  # type: ignore[attr-defined]  # IPython in a terminal
    monkeypatch.setitem(sys.modules, "IPython", package)
    assert progress.bar() is None


def test_the_bar_says_what_is_left() -> None:
    tree = parsed(progress.text(3, 12, 6.0))
    assert "".join(tree.itertext()) == " 3 of 12 runs, about 18 s left"
    assert next(tree.iter("progress")).attrib == {"value": "3", "max": "12"}
