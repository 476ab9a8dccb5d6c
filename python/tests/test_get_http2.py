"""``ackclock get`` over HTTP/2: pieces, streams and connections that end in the middle, windows, broken protocols."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from h2.errors import ErrorCodes

from getting import certified, content, document, get, names, sha256, started
from getting_http2 import DATA_FRAME, END_STREAM, WINDOW_UPDATE, Served2, Trouble, Wish2, frame, goaway, reset, serving2

MB = 1_000_000
MIB = 1 << 20
DATA = content(8 * MB)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certified(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def trusting(tmp_path: Path, certificate: Path) -> dict[str, Any]:
    """What every download here is given."""
    return {"folder": tmp_path, "ca": str(certificate), "json": True}


def once(number: int, trouble: Trouble) -> Callable[[int], Trouble | None]:
    """Trouble with one answer only."""
    return lambda nth: trouble if nth == number else None


def starts(server: Served2) -> list[int]:
    return [int(piece.removeprefix("bytes=").split("-")[0]) for piece in server.pieces()]


def came_whole(folder: Path, data: bytes = DATA) -> bool:
    return names(folder) == ["a"] and (folder / "a").read_bytes() == data


@pytest.mark.parametrize("end_alone", [False, True])
def test_a_file_comes_by_pieces_on_connections_that_have_one_request_each(
    tmp_path: Path, certificate: Path, trusting: dict[str, Any], end_alone: bool
) -> None:
    # Slow enough for each to have work, and one piece after the other.
    with serving2(Wish2(DATA, rate=8 * MB, end_alone=end_alone), certificate) as server:
        done = get(f"{server.url}/a", connections=3, **trusting)
    assert done.returncode == 0, done.stderr
    assert came_whole(tmp_path)
    summary = json.loads(done.stdout)
    assert (summary["http"], summary["ranges"], summary["received_bytes"]) == ("HTTP/2", True, len(DATA))
    assert {asked.headers[":scheme"] for asked in server.asked} == {"https"}
    assert all(asked.headers["If-Range"] == '"one"' for asked in server.asked[1:])
    assert len(set(starts(server))) == len(server.asked)
    assert server.at_a_time == 1
    # Connections are asked again; but one is closed when another has taken the end of its piece, which is under way.
    assert server.clients() >= 3
    assert max(Counter(asked.client for asked in server.asked).values()) >= 2


def test_a_connection_takes_the_next_piece_wherever_the_end_of_the_last_was_said(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path
) -> None:
    for end_alone in (False, True):
        with serving2(Wish2(DATA, end_alone=end_alone), certificate) as server:
            done = get(f"{server.url}/a", connections=1, force=True, **trusting)
        assert done.returncode == 0, done.stderr
        assert came_whole(tmp_path)
        assert len(server.asked) >= 2
        assert server.connections == 1


@pytest.mark.parametrize("wish", [{"ranges": False}, {"etag": None}])
def test_without_pieces_there_is_one_connection(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, wish: dict[str, Any]
) -> None:
    with serving2(Wish2(DATA, **wish), certificate) as server:
        done = get(f"{server.url}/a", connections=4, **trusting)
    assert done.returncode == 0, done.stderr
    assert came_whole(tmp_path)
    summary = json.loads(done.stdout)
    assert summary["http"] == "HTTP/2"
    assert [step["connections"] for step in summary["connections"]] == [1]
    assert server.at_a_time == 1
    # Asked for a piece first; for all of it anew where a piece came that nothing ties to the file.
    assert server.pieces() == [f"bytes=0-{MIB - 1}"] + ([""] if "etag" in wish else [])


def test_it_goes_on_after_a_kill(trusting: dict[str, Any], tmp_path: Path, certificate: Path) -> None:
    with serving2(Wish2(DATA, rate=2 * MB), certificate) as server:
        given = document(f"{server.url}/a", tmp_path, connections=2, ca=str(certificate))
        process = started(given)
        while (
            not (tmp_path / "a.part.journal").exists()
            or not json.loads((tmp_path / "a.part.journal").read_text())["finished"]
        ):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.wait()
        server.wish.rate = None
        first = len(server.asked)
        done = get(f"{server.url}/a", checksum=["sha256", sha256(DATA)], **trusting)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["http"] == "HTTP/2"
    assert summary["resumed_bytes"] > 0
    assert summary["resumed_bytes"] + summary["received_bytes"] == len(DATA)
    assert summary["checksum"] == f"sha256={sha256(DATA)}"
    assert min(starts(server)[first:]) > 0
    assert came_whole(tmp_path)


@pytest.mark.parametrize(
    ("code", "number", "after"),
    [
        (ErrorCodes.NO_ERROR, 0, 300_000),
        (ErrorCodes.NO_ERROR, 1, 0),
        (ErrorCodes.CANCEL, 1, 300_000),
        (ErrorCodes.INTERNAL_ERROR, 0, 0),
        (ErrorCodes.INTERNAL_ERROR, 1, 300_000),
        (ErrorCodes.REFUSED_STREAM, 1, 0),
    ],
)
def test_the_rest_of_a_stream_that_is_reset_is_asked_for_again(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, code: ErrorCodes, after: int, number: int
) -> None:
    trouble = Trouble(after, lambda stream: reset(stream, code))
    with serving2(Wish2(DATA, trouble=once(number, trouble)), certificate) as server:
        done = get(f"{server.url}/a", connections=1, **trusting)
    assert done.returncode == 0, done.stderr
    assert came_whole(tmp_path)
    # From where it ended on, and nothing twice.
    begun = starts(server)
    assert begun[number + 1] == begun[number] + after
    assert json.loads(done.stdout)["received_bytes"] == len(DATA) == server.sent


@pytest.mark.parametrize(
    "said",
    [
        lambda stream: reset(stream, ErrorCodes.NO_ERROR),
        lambda stream: reset(stream, ErrorCodes.CANCEL),
        lambda stream: frame(DATA_FRAME, stream, b"", flags=END_STREAM),
    ],
)
def test_a_server_that_ends_every_stream_before_its_time_ends_it(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, said: Callable[[int], bytes]
) -> None:
    wish = Wish2(DATA, length=False, trouble=lambda number: Trouble(0 if number else 400_000, said))
    with serving2(wish, certificate) as server:
        done = get(f"{server.url}/a", connections=1, retries=1, **trusting)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "the same command goes on" in done.stderr
        assert names(tmp_path) == ["a.part", "a.part.journal"]
        server.wish.trouble = lambda number: None
        done = get(f"{server.url}/a", **trusting)
    assert json.loads(done.stdout)["resumed_bytes"] == 400_000
    assert came_whole(tmp_path)


@pytest.mark.parametrize("code", [ErrorCodes.NO_ERROR, ErrorCodes.CANCEL])
def test_half_a_file_of_unknown_length_is_not_taken_for_the_whole(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, code: ErrorCodes
) -> None:
    trouble = Trouble(300_000, lambda stream: reset(stream, code))
    wish = Wish2(DATA, ranges=False, length=False, trouble=once(0, trouble))
    with serving2(wish, certificate) as server:
        done = get(f"{server.url}/a", **trusting)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "after 300000 bytes" in done.stderr
        assert names(tmp_path) == []
        # With its end it is whole.
        assert get(f"{server.url}/a", **trusting).returncode == 0
    assert came_whole(tmp_path)


def test_a_connection_that_takes_no_more_requests_ends_its_piece(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path
) -> None:
    trouble = Trouble(300_000, lambda stream: goaway(stream, ErrorCodes.NO_ERROR), ends_stream=False)
    with serving2(Wish2(DATA, trouble=once(0, trouble)), certificate) as server:
        done = get(f"{server.url}/a", connections=1, **trusting)
    assert done.returncode == 0, done.stderr
    assert came_whole(tmp_path)
    clients = [asked.client for asked in server.asked]
    assert clients[0] not in clients[1:]
    assert len(set(clients)) == 2
    assert starts(server)[:2] == [0, MIB]
    assert server.sent == len(DATA)


@pytest.mark.parametrize("code", [ErrorCodes.NO_ERROR, ErrorCodes.ENHANCE_YOUR_CALM])
def test_what_a_connection_that_goes_away_has_not_brought_is_asked_for_again(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, code: ErrorCodes
) -> None:
    trouble = Trouble(300_000, lambda stream: goaway(0, code), ends_connection=True)
    with serving2(Wish2(DATA, trouble=once(1, trouble)), certificate) as server:
        done = get(f"{server.url}/a", connections=1, **trusting)
    assert done.returncode == 0, done.stderr
    assert came_whole(tmp_path)
    begun = starts(server)
    # What it sent before may be dropped with the connection, but nothing is left out.
    assert begun[1] <= begun[2] <= begun[1] + 300_000
    assert server.asked[1].client != server.asked[2].client


@pytest.mark.parametrize("full", [503, 429])
def test_a_server_that_refuses_more_connections_is_asked_for_no_more(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, full: int
) -> None:
    with serving2(Wish2(DATA, most=1, full=full, rate=8 * MB), certificate) as server:

        def before(number: int) -> None:
            # Others are answered when the first is at work.
            while number and server.sent < 200_000:
                time.sleep(0.005)

        server.wish.before = before
        done = get(f"{server.url}/a", connections=3, **trusting)
    assert done.returncode == 0, done.stderr
    assert came_whole(tmp_path)
    assert server.refused > 0
    steps = [(step["connections"], step["why"]) for step in json.loads(done.stdout)["connections"]]
    assert (steps[0][0], steps[-1]) == (3, (1, "the other end gives no more"))
    assert server.sent == len(DATA)


def test_a_small_window_of_flow_control_is_opened_again_and_again(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path
) -> None:
    data = DATA[:1_600_000]
    rate = MB
    with serving2(Wish2(data), certificate) as server:
        done = get(f"{server.url}/a", connections=2, limit_rate=rate, **trusting)
    assert done.returncode == 0, done.stderr
    assert came_whole(tmp_path, data)
    # What a download is not to be faster than is what it lets the server send: a second of it.
    assert max(server.allowed) <= rate
    assert server.held > 0


def test_the_least_window_is_enough(trusting: dict[str, Any], tmp_path: Path, certificate: Path) -> None:
    data = DATA[:120_000]
    with serving2(Wish2(data, lump=1_000), certificate) as server:
        done = get(f"{server.url}/a", limit_rate=60_000, rcvbuf=4_096, **trusting)
    assert done.returncode == 0, done.stderr
    assert came_whole(tmp_path, data)
    assert server.allowed == [65_535]
    assert server.held > 0


@pytest.mark.parametrize(
    "greeting", [b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", b"\x00" * 64, frame(DATA_FRAME, 1, b"x")]
)
def test_a_server_that_offers_http2_and_speaks_something_else_is_one_line(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, greeting: bytes
) -> None:
    with serving2(Wish2(DATA, greeting=greeting), certificate) as server:
        done = get(f"{server.url}/a", **trusting)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert server.url.removeprefix("https://") in done.stderr
    assert "http2" in done.stderr
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "broken",
    [
        lambda stream: b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        lambda stream: frame(DATA_FRAME, 0, b"of no stream"),
        lambda stream: frame(DATA_FRAME, stream + 100, b"of a stream that nobody opened"),
        lambda stream: frame(WINDOW_UPDATE, 0, bytes(4)),
    ],
)
def test_what_came_before_the_protocol_was_broken_is_kept(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, broken: Callable[[int], bytes]
) -> None:
    trouble = Trouble(300_000, broken)
    with serving2(Wish2(DATA, trouble=lambda number: trouble if number else None), certificate) as server:
        done = get(f"{server.url}/a", connections=1, retries=0, **trusting)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "HTTP/2" in done.stderr
        assert "what has come is kept, and the same command goes on" in done.stderr
        assert names(tmp_path) == ["a.part", "a.part.journal"]
        server.wish.trouble = lambda number: None
        done = get(f"{server.url}/a", **trusting)
    assert json.loads(done.stdout)["resumed_bytes"] >= MIB
    assert came_whole(tmp_path)


@pytest.mark.parametrize("ranges", [True, False])
def test_frames_without_bytes_do_not_hold_it(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, ranges: bool
) -> None:
    with serving2(Wish2(DATA, ranges=ranges, hollow=True), certificate) as server:
        done = get(f"{server.url}/a", timeout_s=1, retries=0, **trusting)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "no byte within 1 s" in done.stderr


def test_a_long_head_is_read_and_one_without_end_is_given_up(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path
) -> None:
    def head(size: int) -> dict[str, str]:
        return {f"X-{number}": "x" * 1_000 for number in range(size // 1_000)}

    with serving2(Wish2(DATA, headers=head(80_000)), certificate) as server:
        done = get(f"{server.url}/a", **trusting)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert names(tmp_path) == []
        server.wish.headers = head(40_000)
        assert get(f"{server.url}/a", **trusting).returncode == 0
    assert came_whole(tmp_path)


@pytest.mark.parametrize("length", [True, False])
def test_an_empty_file_and_one_of_one_byte(
    trusting: dict[str, Any], tmp_path: Path, certificate: Path, length: bool
) -> None:
    for data in (b"", b"x"):
        with serving2(Wish2(data, length=length, end_alone=length), certificate) as server:
            done = get(f"{server.url}/a", force=True, **trusting)
        assert done.returncode == 0, done.stderr
        assert came_whole(tmp_path, data)
