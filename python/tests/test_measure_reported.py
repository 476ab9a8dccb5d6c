"""What a server says of a test: kept as it is, or a line; never the end of the tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock.measure import reported, series, tcp_info
from ackclock.measure.frames import ProtocolError

ENDED: dict[str, Any] = {
    "type": "ended",
    "begun_ns": 5,
    "begun_unix_s": 1.5e9,
    "took_ns": 10**9,
    "cpu_s": 0.1,
    "load": 0.5,
    "ended": None,
}


def part(number: int = 0, rows: int = 3, **changes: Any) -> dict[str, Any]:
    """Samples as an honest server sends them."""
    whole: dict[str, Any] = {
        "type": "samples",
        "number": number,
        "sends": True,
        "moved": 3000,
        "counted": 2000,
        "failed": None,
        "time_ns": [at * 10**8 for at in range(rows)],
        "so_far": [at * 1000 for at in range(rows)],
        "fields": {name: [at * 7 for at in range(rows)] for name in tcp_info.NAMES},
    }
    return {**whole, **changes}


def tables(connections: list[dict[str, Any]]) -> int:
    """The samples of a test that has this report at both ends, as tables have them; how many there are."""
    ends = {
        "client": {"begun_ns": 0, "connections": [{**each, "sends": True} for each in connections]},
        "server": {"begun_ns": 5, "connections": [{**each, "sends": False} for each in connections]},
    }
    return series.of({"result": {"ends": ends, "clock": [{"offset_ns": 3}, {"offset_ns": 5}]}}).height


def test_what_an_honest_server_says_is_kept_as_it_is() -> None:
    whole = part(rows=5)
    head = {**whole, **{key: whole[key][:2] for key in ("time_ns", "so_far")}}
    head["fields"] = {name: values[:2] for name, values in whole["fields"].items()}
    tail = {**whole, **{key: whole[key][2:] for key in ("time_ns", "so_far")}}
    tail["fields"] = {name: values[2:] for name, values in whole["fields"].items()}
    found = reported.connections([part(1), head, tail], 2)
    assert found[0] == {key: value for key, value in whole.items() if key not in ("type", "number")}
    assert reported.ended(ENDED) == {key: value for key, value in ENDED.items() if key != "type"}
    assert tables(found) > 0


def test_a_field_that_the_server_does_not_have_is_unknown_and_one_of_a_newer_server_left_out() -> None:
    fields = {name: [1, 2, 3] for name in tcp_info.NAMES if name != "snd_mss"}
    (found,) = reported.connections([part(fields={**fields, "of_tomorrow": [1, 2, 3]})], 1)
    assert found["fields"]["snd_mss"] == [None] * 3
    assert set(found["fields"]) == set(tcp_info.NAMES)
    assert tables([found]) > 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cpu_s": float("nan")}, "cpu_s: "),
        ({"cpu_s": -1}, "cpu_s: "),
        ({"load": float("inf")}, "load: "),
        ({"took_ns": "much"}, "took_ns: "),
        ({"took_ns": 10**200}, "took_ns: "),
        ({"begun_ns": None}, "begun_ns: "),
    ],
)
def test_an_end_that_cannot_be_is_said(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ProtocolError, match=f"the server reports what cannot be: {said}"):
        reported.ended({**ENDED, **changes})


@pytest.mark.parametrize("key", sorted(set(ENDED) - {"type", "load", "ended"}))
def test_an_end_that_lacks_something_is_said(key: str) -> None:
    with pytest.raises(ProtocolError, match=f"{key}: Field required"):
        reported.ended({name: value for name, value in ENDED.items() if name != key})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fields": {"cwnd": [1]}}, "not all of the same number"),
        ({"so_far": []}, "not all of the same number"),
        ({"fields": {"cwnd": [-5, 0, 0]}}, "fields.cwnd.0"),
        ({"fields": {"cwnd": [2**70] * 3}}, "fields.cwnd.0"),
        ({"fields": {"cwnd": ["x"] * 3}}, "fields.cwnd.0"),
        ({"fields": {"cwnd": [float("nan")] * 3}}, "fields.cwnd.0"),
        ({"fields": 7}, "fields"),
        ({"time_ns": [10**17] * 3}, "time_ns.0"),
        ({"time_ns": [3, 2, 1]}, "not in order"),
        ({"number": 1}, "reports of connection 1, and there are 1"),
        ({"number": True}, "number"),
        ({"moved": -1}, "moved"),
        ({"sends": None}, "sends"),
        ({"failed": 3}, "failed"),
    ],
)
def test_samples_that_cannot_be_are_said(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        reported.connections([part(**changes)], 1)


@pytest.mark.parametrize("key", ["number", "sends", "moved", "counted", "time_ns", "so_far", "fields"])
def test_samples_that_lack_something_are_said(key: str) -> None:
    with pytest.raises(ProtocolError, match=f"{key}: Field required"):
        reported.connections([{name: value for name, value in part().items() if name != key}], 1)


def test_a_connection_without_samples_and_one_that_is_missing_are_said() -> None:
    with pytest.raises(ProtocolError, match="no sample of connection 0"):
        reported.connections([part(rows=0)], 1)
    with pytest.raises(ProtocolError, match="did not tell of all"):
        reported.connections([part()], 2)


def test_a_report_without_end_is_not_read_to_its_end() -> None:
    read = 0

    def endless(rows: int) -> Any:
        nonlocal read
        while True:
            read += 1
            yield part(rows=rows, time_ns=[0] * rows, so_far=[0] * rows, fields={})

    for rows in (400, 0):
        with pytest.raises(ProtocolError, match="more than"):
            reported.connections(endless(rows), 1)
    assert read < 200_000


def test_what_a_server_writes_cannot_steer_a_terminal() -> None:
    assert reported.words("\x1b[2J\x1b[31mred\nline\u202etwo") == "?[2J?[31mred line?two"
    assert len(reported.words("x" * 10_000)) <= reported.MOST_WORDS
    (found,) = reported.connections([part(failed="\x1b[2J")], 1)
    assert found["failed"] == "?[2J"
    assert reported.ended({**ENDED, "ended": "\x1b]0;x\x07"})["ended"] == "?]0;x?"


@pytest.mark.parametrize("cc", ["../../../x", ["a"], "", 3, "x" * 17])
def test_a_controller_that_is_no_name_is_said(cc: object) -> None:
    with pytest.raises(ProtocolError):
        reported.controller({"type": "all", "cc": cc})


@pytest.mark.parametrize("ns", [10**300, -(10**300), "x", 1.5, None, [1]])
def test_a_clock_that_is_none_is_said(ns: object) -> None:
    with pytest.raises(ProtocolError):
        reported.clock({"type": "clock", "ns": ns})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
counts = st.lists(st.integers(-1, 2**64) | st.none(), min_size=3, max_size=3)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from(sorted(part())), json_values, max_size=2),
    st.dictionaries(st.sampled_from(tcp_info.NAMES), counts, max_size=4),
    st.lists(st.integers(0, 10**16), min_size=3, max_size=3).map(sorted),
)
def test_a_report_is_refused_in_a_line_or_has_tables(
    changes: dict[str, Any], fields: dict[str, Any], times: list[int]
) -> None:
    try:
        found = reported.connections([{**part(time_ns=times, fields=fields), **changes}], 1)
    except ProtocolError as error:
        said = str(error)
    else:
        said = f"{tables(found)} samples"
    assert said.isprintable()
