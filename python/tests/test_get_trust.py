"""What servers, links and folders of others cannot make ``ackclock get`` do."""

from __future__ import annotations

from pathlib import Path

import pytest

from getting import Wish, certified, content, get, serving

DATA = content(2_000_000)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certified(tmp_path_factory.mktemp("certificate"))


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("path", "disposition", "name"),
    [
        ("/%2e%2e%2f%2e%2e%2fescaped", None, "escaped"),
        ("/x/..%5c..%5cescaped", None, "escaped"),
        ("/a", 'attachment; filename="../../escaped"', "escaped"),
        ("/a", "attachment; filename*=UTF-8''%2e%2e%2f%2e%2e%2fescaped", "escaped"),
        ("/a", 'attachment; filename="/etc/escaped"', "escaped"),
        ("/a", 'attachment; filename=".bashrc"', "bashrc"),
        ("/a", 'attachment; filename=".."', "a"),
        ("/a", 'attachment; filename=""', "a"),
        ("/", None, "download"),
        ("/a", f'attachment; filename="{"x" * 4000}"', "x" * 200),
        ("/a", 'attachment; filename="new\tname"', "new_name"),
    ],
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, path: str, disposition: str | None, name: str) -> None:
    folder = tmp_path / "one" / "two"
    folder.mkdir(parents=True)
    headers = {"Content-Disposition": disposition} if disposition else {}
    with serving(Wish(DATA, headers=headers)) as server:
        done = get(server.url + path, folder)
    assert done.returncode == 0, done.stderr
    assert everything(tmp_path) == ["one", "one/two", f"one/two/{name}"]


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("mine")
    with serving(Wish(DATA)) as server:
        done = get(f"{server.url}/a", tmp_path)
        assert (done.returncode, "--force overwrites it" in done.stderr) == (2, True)
        assert file.read_text() == "mine"
        assert get(f"{server.url}/a", tmp_path, force=True).returncode == 0
        assert file.read_bytes() == DATA
        # Neither is a part that no download of ours has left.
        (tmp_path / "b.part").write_text("mine")
        done = get(f"{server.url}/b", tmp_path)
        assert (done.returncode, "not of a download that can go on" in done.stderr) == (1, True)
        assert (tmp_path / "b.part").read_text() == "mine"


def test_a_file_that_comes_to_be_meanwhile_is_kept(tmp_path: Path) -> None:
    with serving(Wish(DATA)) as server:
        server.wish.before = lambda number: (tmp_path / "a").write_text("mine") and None if number == 1 else None
        done = get(f"{server.url}/a", tmp_path)
    assert (done.returncode, "it has come to be meanwhile" in done.stderr) == (1, True)
    assert (tmp_path / "a").read_text() == "mine"


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("mine")
    (folder / "a.part").symlink_to(outside)
    (folder / "a.part.journal").symlink_to(outside)
    (folder / "b").symlink_to(outside)
    with serving(Wish(DATA)) as server:
        for name in ("a", "b"):
            done = get(f"{server.url}/{name}", folder)
            assert done.returncode in (1, 2)
            assert outside.read_text() == "mine"
        # With --force the link is replaced, not what it leads to.
        assert get(f"{server.url}/b", folder, force=True).returncode == 0
    assert outside.read_text() == "mine"
    assert (folder / "b").read_bytes() == DATA


def test_redirects_are_followed_ten_times(tmp_path: Path) -> None:
    chain = {f"/{n}": f"/{n + 1}" for n in range(20)}
    with serving(Wish(DATA, redirects={**chain, "/loop": "/loop"})) as server:
        assert get(f"{server.url}/10", tmp_path).returncode == 0
        assert everything(tmp_path) == ["10"]
        for path in ("/9", "/loop"):
            done = get(server.url + path, tmp_path)
            assert (done.returncode, "more than 10 redirects" in done.stderr) == (1, True)


def test_redirects_never_lead_from_https_to_http(tmp_path: Path, certificate: Path) -> None:
    with serving(Wish(DATA)) as plain, serving(Wish(DATA, redirects={"/a": f"{plain.url}/a"}), certificate) as server:
        done = get(f"{server.url}/a", tmp_path, ca=str(certificate))
    assert (done.returncode, "from https to http" in done.stderr) == (1, True)
    assert plain.asked == []


def test_redirects_lead_to_nothing_but_http(tmp_path: Path) -> None:
    with serving(Wish(DATA, redirects={"/a": "file:///etc/passwd", "/b": "ftp://a/b"})) as server:
        for path in ("/a", "/b"):
            assert get(server.url + path, tmp_path).returncode == 1
    assert everything(tmp_path) == []


def test_headers_and_cookies_go_to_their_own_host_only(tmp_path: Path) -> None:
    secret = [["Authorization", "secret"], ["Cookie", "secret=1"]]
    with serving(Wish(DATA)) as other, serving(Wish(DATA, redirects={"/a": f"{other.url}/a"})) as server:
        assert get(f"{server.url}/a", tmp_path, headers=secret).returncode == 0
    assert server.asked[0].headers["Cookie"] == "secret=1"
    assert all("secret" not in str(asked.headers) for asked in other.asked)


def test_certificates_are_checked(tmp_path: Path, certificate: Path) -> None:
    with serving(Wish(DATA), certificate) as server:
        done = get(f"{server.url}/a", tmp_path)
        assert done.returncode != 0
        assert done.stderr.count("\n") == 1
        assert everything(tmp_path) == []
        assert get(f"{server.url}/a", tmp_path, ca=str(certificate), connections=2).returncode == 0
        assert (tmp_path / "a").read_bytes() == DATA
        # The right certificate at the wrong place.
        wrong = server.url.replace("127.0.0.1", "localhost")
        done = get(f"{wrong}/b", tmp_path, ca=str(certificate))
        assert (done.returncode, "TLS" in done.stderr) == (1, True)
        assert get(f"{wrong}/b", tmp_path, insecure=True).returncode == 0


def test_a_head_without_end_is_given_up(tmp_path: Path) -> None:
    with serving(Wish(DATA, headers={"X-Long": "x" * 200_000})) as server:
        done = get(f"{server.url}/a", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert everything(tmp_path) == []
