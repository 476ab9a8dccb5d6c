"""``ackclock get``: pieces, what servers do wrong, what is kept, and where it may write."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from getting import COMMAND, PROGRAM, Wish, content, document, environment, get, names, serving, sha256, started

LOOPBACK = "127.0.0.1"
MB = 1_000_000
NOBODY = f"http://{LOOPBACK}:9"
"""Where nobody listens."""


def test_a_file_comes_whole_by_pieces_that_do_not_overlap(tmp_path: Path) -> None:
    data = content(20 * MB)
    with serving(Wish(data)) as server:
        done = get(f"{server.url}/file.bin", tmp_path, connections=4, json=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "file.bin").read_bytes() == data
    assert names(tmp_path) == ["file.bin"]
    summary = json.loads(done.stdout)
    assert (summary["bytes"], summary["received_bytes"], summary["ranges"]) == (len(data), len(data), True)
    assert [step["connections"] for step in summary["connections"]] == [4]
    # All but the first say which file they mean, and ask for what nobody else does.
    assert all(asked.headers.get("If-Range") == '"one"' for asked in server.asked[1:])
    starts = [int(piece.removeprefix("bytes=").split("-")[0]) for piece in server.pieces()]
    assert len(set(starts)) == len(starts) >= 4
    assert server.clients() >= 4


def test_a_file_that_arrives_in_a_moment_takes_one_connection(tmp_path: Path) -> None:
    data = content(3 * MB)
    with serving(Wish(data)) as server:
        done = get(f"{server.url}/a", tmp_path, json=True)
    assert [(step["connections"], step["why"]) for step in json.loads(done.stdout)["connections"]] == [(1, "start")]
    assert server.clients() == 1


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"ranges": False}, "the server gives no pieces"),
        ({"etag": None}, "nothing says that pieces are of one file"),
        ({"etag": 'W/"weak"'}, "nothing says that pieces are of one file"),
        ({"headers": {"Accept-Ranges": "none"}, "ranges": False}, "the server gives no pieces"),
    ],
)
def test_without_pieces_or_what_says_they_are_of_one_file_there_is_one_connection(
    tmp_path: Path, wish: dict[str, object], why: str
) -> None:
    data = content(5 * MB)
    with serving(Wish(data, **wish)) as server:  # type: ignore[arg-type]
        done = get(f"{server.url}/a", tmp_path, connections=4, json=True)
    assert [(step["connections"], step["why"]) for step in json.loads(done.stdout)["connections"]] == [(1, why)]
    assert (tmp_path / "a").read_bytes() == data


def test_an_empty_file_and_one_of_one_byte(tmp_path: Path) -> None:
    for data in (b"", b"x"):
        with serving(Wish(data)) as server:
            assert get(f"{server.url}/a", tmp_path, force=True).returncode == 0
        assert (tmp_path / "a").read_bytes() == data


def test_connections_that_are_cut_are_made_again(tmp_path: Path) -> None:
    data = content(20 * MB)
    with serving(Wish(data, cut=lambda number: 300_000 if number % 2 == 0 else None)) as server:
        done = get(f"{server.url}/a", tmp_path, connections=3)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a").read_bytes() == data


def test_a_server_that_always_cuts_ends_it_and_what_has_come_is_kept(tmp_path: Path) -> None:
    data = content(5 * MB)
    with serving(Wish(data, cut=lambda number: None if number < 1 else 0)) as server:
        done = get(f"{server.url}/a", tmp_path, connections=1, retries=1)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "the same command goes on" in done.stderr
        assert names(tmp_path) == ["a.part", "a.part.journal"]
        server.wish.cut = None
        done = get(f"{server.url}/a", tmp_path, json=True)
    summary = json.loads(done.stdout)
    assert summary["resumed_bytes"] >= MB
    assert summary["received_bytes"] + summary["resumed_bytes"] == len(data)
    assert (tmp_path / "a").read_bytes() == data


@pytest.mark.parametrize("full", [503, 429])
def test_a_server_that_refuses_more_connections_is_asked_for_no_more(tmp_path: Path, full: int) -> None:
    data = content(12 * MB)
    with serving(Wish(data, most=1, full=full, rate=8 * MB)) as server:

        def before(number: int) -> None:
            # Others are answered when the first is at work.
            while number and server.sent < 200_000:
                time.sleep(0.005)

        server.wish.before = before
        done = get(f"{server.url}/a", tmp_path, connections=3, json=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a").read_bytes() == data
    assert server.refused > 0
    steps = [(step["connections"], step["why"]) for step in json.loads(done.stdout)["connections"]]
    assert (steps[0][0], steps[-1]) == (3, (1, "the other end gives no more"))
    assert server.clients() == 3, "another connection was made after some were refused"


def test_a_file_that_changes_meanwhile_starts_anew_and_says_so(tmp_path: Path) -> None:
    old, new = content(12 * MB, 1), content(12 * MB, 2)
    with serving(Wish(old)) as server:

        def change(number: int) -> None:
            if number == 1:  # there are two at least: each connection's first
                server.wish.data, server.wish.etag = new, '"two"'

        server.wish.before = change
        done = get(f"{server.url}/a", tmp_path, connections=2)
    assert done.returncode == 0, done.stderr
    assert "has changed on the server; it starts anew" in done.stderr
    assert (tmp_path / "a").read_bytes() == new
    assert names(tmp_path) == ["a"]


def test_a_server_with_another_tag_for_every_answer_is_asked_for_the_whole_file(tmp_path: Path) -> None:
    """Replicas behind a balancer: an answer that is whole is of one of them."""
    with serving(Wish(content(9 * MB))) as server:

        def change(number: int) -> None:
            server.wish.etag = f'"{number}"'

        server.wish.before = change
        done = get(f"{server.url}/a", tmp_path, connections=2)
    assert done.returncode == 0, done.stderr
    assert "its pieces are of another file each time; it is asked for as a whole" in done.stderr
    assert (tmp_path / "a").read_bytes() == content(9 * MB)
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize(
    "said",
    [
        lambda start, end, total: f"bytes {start + 1}-{end}/{total}",
        lambda start, end, total: f"bytes {start}-{end + 5}/{total}",
        lambda start, end, total: f"bytes 0-{total - 1}/{total}",
        lambda start, end, total: "bytes */5",
        lambda start, end, total: "nonsense",
    ],
)
def test_a_wrong_content_range_is_not_written(tmp_path: Path, said: object) -> None:
    with serving(Wish(content(3 * MB), content_range=said)) as server:  # type: ignore[arg-type]
        done = get(f"{server.url}/a", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a").read_bytes() == content(3 * MB)
    assert server.pieces()[-1] == "", "the whole file"


@pytest.mark.parametrize("connections", [None, 1, 4])
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (200, "the server answers 200 OK where bytes "),
        (416, "the server answers 416 Range Not Satisfiable where bytes "),
        (403, "the server answers 403 Forbidden"),
        (503, "the server answers 503 Service Unavailable"),
    ],
)
def test_a_server_that_gives_the_first_piece_alone_is_asked_for_the_whole_file(
    tmp_path: Path, status: int, said: str, connections: int | None
) -> None:
    with serving(Wish(content(3 * MB), later=status)) as server:
        done = get(f"{server.url}/a", tmp_path, connections=connections, retries=1)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert "it is asked for as a whole, over one connection" in done.stderr
    assert (tmp_path / "a").read_bytes() == content(3 * MB)
    assert names(tmp_path) == ["a"]


def test_a_server_that_forbids_pieces_is_asked_for_the_whole_file(tmp_path: Path) -> None:
    with serving(Wish(content(3 * MB), first=403)) as server:
        done = get(f"{server.url}/a", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a").read_bytes() == content(3 * MB)


def test_what_has_come_is_kept_where_the_whole_file_is_refused_too(tmp_path: Path) -> None:
    with serving(Wish(content(3 * MB), later=403, whole=False)) as server:
        done = get(f"{server.url}/a", tmp_path, connections=1)
        assert done.returncode == 1
        assert "403 Forbidden" in done.stderr
        assert names(tmp_path) == ["a.part", "a.part.journal"]
        server.wish.later = None
        done = get(f"{server.url}/a", tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a").read_bytes() == content(3 * MB)


def test_a_kill_before_the_first_byte_leaves_what_goes_on(tmp_path: Path) -> None:
    """The moment is chosen by what is there: the journal, before anything of the file has come."""
    held = threading.Event()
    with serving(Wish(content(3 * MB), hold=held)) as server:
        running = started(document(f"{server.url}/a", tmp_path))
        while "a.part.journal" not in names(tmp_path):
            assert running.poll() is None
            time.sleep(0.001)
        running.kill()
        running.wait()
        held.set()
        assert (tmp_path / "a.part").stat().st_size == 0
        done = get(f"{server.url}/a", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a").read_bytes() == content(3 * MB)


def test_what_an_answer_of_an_error_says(tmp_path: Path) -> None:
    with serving(Wish(b"x", status={"/gone": 404, "/bad": 500})) as server:
        for path, code in (("/gone", "404 Not Found"), ("/bad", "500 Internal Server Error")):
            done = get(server.url + path, tmp_path)
            assert (done.returncode, done.stderr.count("\n")) == (1, 1)
            assert f"the server answers {code}" in done.stderr
    done = get(f"{NOBODY}/x", tmp_path)
    assert (done.returncode, done.stderr) == (1, "ackclock: 127.0.0.1:9: Connection refused (os error 111)\n")
    assert names(tmp_path) == []


def test_a_proxy_of_the_environment_is_asked(tmp_path: Path) -> None:
    with serving(Wish(content(MB))) as server:
        # A proxy is asked for the whole URL; this server does not mind.
        done = get("http://elsewhere.example/x/a", tmp_path, env={"http_proxy": server.url})
        assert done.returncode == 0, done.stderr
        assert {asked.path for asked in server.asked} == {"http://elsewhere.example/x/a"}
        assert {asked.headers["Host"] for asked in server.asked} == {"elsewhere.example"}
        done = get(f"{server.url}/b", tmp_path, env={"http_proxy": NOBODY, "no_proxy": "127.0.0.1"})
        assert done.returncode == 0, done.stderr
    done = get("http://elsewhere.example/a", tmp_path, env={"all_proxy": "socks5://127.0.0.1:9"}, force=True)
    assert (done.returncode, "socks5 is not spoken here" in done.stderr) == (2, True)


def test_a_rate_is_not_exceeded(tmp_path: Path) -> None:
    with serving(Wish(content(4 * MB))) as server:
        done = get(f"{server.url}/a", tmp_path, connections=4, limit_rate=2 * MB, json=True)
    # Never faster, however long it took: 50 ms may be made up for.
    assert json.loads(done.stdout)["seconds"] > 1.9


def test_checksums(tmp_path: Path) -> None:
    data = content(2 * MB)
    with serving(Wish(data)) as server:
        done = get(f"{server.url}/a", tmp_path, checksum=["sha256", "0" * 64])
        assert done.returncode == 1
        assert f"its sha256 is {sha256(data)}" in done.stderr
        assert names(tmp_path) == ["a.part", "a.part.journal"]
        done = get(f"{server.url}/a", tmp_path, checksum=["sha256", sha256(data).upper()], json=True)
        assert get(f"{server.url}/b", tmp_path, checksum=["sha256", "0" * 64]).returncode == 1
        again = get(f"{server.url}/b", tmp_path, checksum=["sha256", sha256(data)])
    assert again.stderr.splitlines()[-1].endswith("b: 2 MB, all of it was there, checksum right")
    assert done.returncode == 0, done.stderr
    # What was there did not have to come again, but for the byte that shows that it is the same file.
    assert json.loads(done.stdout)["resumed_bytes"] == len(data)


def test_it_goes_on_after_fifty_kills_at_random_moments(tmp_path: Path) -> None:
    data = content(64 * MB)
    dice = random.Random(7)
    kills = 0
    with serving(Wish(data, rate=1.5 * MB)) as server:
        while kills < 50:
            process = started(document(f"{server.url}/a", tmp_path, connections=dice.choice((1, 4)), quiet=True))
            time.sleep(dice.uniform(0.0, 0.25 if kills % 5 else 1.6))
            assert process.poll() is None, "it was done before it could be killed"
            process.kill()
            process.wait()
            kills += 1
        server.wish.rate = None
        done = get(f"{server.url}/a", tmp_path, json=True, checksum=["sha256", sha256(data)])
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["resumed_bytes"] > MB
    assert (tmp_path / "a").read_bytes() == data
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_what_has_come(tmp_path: Path, number: int, code: int) -> None:
    data = content(20 * MB)
    with serving(Wish(data, rate=2 * MB)) as server:
        said = tmp_path / "said"
        process = started(document(f"{server.url}/a", tmp_path), said)
        while server.sent < 2 * MB:
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        assert said.read_text() == "ackclock: interrupted; the same command goes on\n"
        server.wish.rate = None
        done = get(f"{server.url}/a", tmp_path, json=True)
    assert json.loads(done.stdout)["resumed_bytes"] > MB
    assert (tmp_path / "a").read_bytes() == data


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_kill_leaves_of_a_download_without_pieces_needs_force(tmp_path: Path, number: int) -> None:
    data = content(8 * MB)
    with serving(Wish(data, rate=2 * MB, ranges=False, etag=None)) as server:
        process = started(document(f"{server.url}/a", tmp_path, quiet=True))
        while server.sent < MB:
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(timeout=60)
        server.wish.rate = None
        if number == signal.SIGKILL:
            assert names(tmp_path) == ["a.part"]
            for _ in range(2):
                done = get(f"{server.url}/a", tmp_path)
                assert (done.returncode, "remove it, or --force overwrites it" in done.stderr) == (1, True)
        assert get(f"{server.url}/a", tmp_path, force=number == signal.SIGKILL).returncode == 0
    assert (tmp_path / "a").read_bytes() == data


def test_two_downloads_do_not_write_one_file(tmp_path: Path) -> None:
    with serving(Wish(content(20 * MB), rate=MB)) as server:
        first = started(document(f"{server.url}/a", tmp_path, quiet=True))
        while server.sent < MB // 2:
            time.sleep(0.02)
        second = get(f"{server.url}/a", tmp_path)
        first.kill()
        first.wait()
    assert (second.returncode, "another download writes it" in second.stderr) == (1, True)


def test_the_command_has_the_options_in_units(tmp_path: Path) -> None:
    data = content(MB)
    with serving(Wish(data)) as server:
        options = [
            "--dir",
            tmp_path,
            "--header",
            "X-Mine: 1",
            "--cookie",
            "a=1",
            "--cookie",
            "b=2",
            "--limit-rate",
            "80 Mbit/s",
        ]
        command = [COMMAND, "get", f"{server.url}/x/file", *options, "--checksum", f"sha256={sha256(data)}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"ackclock: {tmp_path / 'file'}: 1 MB in ")
    assert done.stderr.endswith("1 connection, checksum right\n")
    assert (server.asked[0].headers["X-Mine"], server.asked[0].headers["Cookie"]) == ("1", "a=1; b=2")
    for wrong, said in [
        (["--connections", "many"], "give auto, or 1 to 16"),
        (["--max", "17"], "give 1 to 16"),
        (["--checksum", "md5=0"], "sha256 and sha512 are"),
        (["--header", "x"], "write 'NAME: VALUE'"),
        (["--cookie", "x"], "--cookie: 'x' is no cookie; write NAME=VALUE"),
        (["--cookie", "a=b\nc"], "is no cookie; write NAME=VALUE"),
        (["--header", "Range: bytes=0-1"], "the download's own"),
        (["--limit-rate", "fast"], "--limit-rate"),
        (["--name", "../x"], "is not the name of a file"),
        (["--dir", str(tmp_path / "none")], "give a folder that is there"),
    ]:
        command = [COMMAND, "get", f"{NOBODY}/a", *wrong]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert said in done.stderr


def test_a_file_of_the_folder_that_one_is_in_is_said_by_its_name(tmp_path: Path) -> None:
    data = content(MB)

    def said(*more: str) -> str:
        command = [COMMAND, "get", f"{server.url}/file", *more]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
        )
        return done.stderr

    with serving(Wish(data)) as server:
        assert said("--checksum", f"sha256={'0' * 64}").endswith("; file.part is kept; remove it to download again\n")
        (tmp_path / "file.part").unlink()
        assert said().startswith("ackclock: file: 1 MB in ")
        assert said() == "ackclock: file is there already; --force overwrites it\n"
        assert f"{tmp_path / 'b'}.part is kept" in said(
            "--dir", str(tmp_path), "--name", "b", "--checksum", f"sha256={'0' * 64}"
        )


def test_no_descriptor_is_needed_beyond_those_of_connections(tmp_path: Path) -> None:
    with serving(Wish(content(8 * MB))) as server:
        limit = ["sh", "-c", f"ulimit -n 40; exec {PROGRAM} run -"]
        given = document(f"{server.url}/a", tmp_path, connections=8)
        done = subprocess.run(limit, input=given, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == ["a"]
