"""Whose rights ``ackclock proxy`` has once it listens."""

from __future__ import annotations

import pwd
import shutil
import tempfile
from pathlib import Path

import pytest

import spaces
from ackclock import proxy

WHY_NOT, AS_ROOT = spaces.why_not(), spaces.why_not(root=True)
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))

SERVER = """
import socket
listener = socket.create_server(("127.0.0.1", 8080))
print("ready", flush=True)
while True:
    stream, _ = listener.accept()
    stream.sendall(b"there")
    stream.close()
"""


def controllers(which: str) -> list[str]:
    """Of the kernel: those that are ``available``, or that everybody is ``allowed``."""
    path = Path(f"/proc/sys/net/ipv4/tcp_{which}_congestion_control")
    return path.read_text(encoding="utf-8").split() if path.exists() else []


ROOTS = sorted(set(controllers("available")).difference(controllers("allowed")))
"""Controllers that only root may choose."""

NET_ADMIN = 12
"""Of `linux/capability.h`."""

CLIENT = """
import socket
print(socket.create_connection(("127.0.0.1", 80), timeout=60).makefile("rb").read().decode())
"""


@pytest.mark.skipif(AS_ROOT is not None, reason=str(AS_ROOT))
@pytest.mark.parametrize("user", [None, "daemon"])
def test_root_opens_the_door_and_is_nobody_behind_it(user: str | None) -> None:
    with spaces.hosts("here", root=True) as net:
        net.python("here", SERVER)
        more = {} if user is None else {"user": user}
        # A port that takes root.
        started = net.proxy("here", {"to": "127.0.0.1:8080"}, listen="127.0.0.1:80", **more)
        status, entry = started.status(), pwd.getpwnam(user or "nobody")
        assert status["Uid"].split() == [str(entry.pw_uid)] * 4
        assert status["Gid"].split() == [str(entry.pw_gid)] * 4
        assert status["Groups"].split() == []
        assert [int(status[f"Cap{which}"], 16) for which in ("Eff", "Prm", "Inh", "Amb")] == [0] * 4
        # Nor is any program that it might start more than that.
        assert status["NoNewPrivs"] == "1"
        assert net.told("here", CLIENT) == "there"
        assert started.line()["why"] == "finished"


@pytest.mark.skipif(AS_ROOT is not None, reason=str(AS_ROOT))
def test_capabilities_that_somebody_else_was_given_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["--inh-caps=+net_admin,+net_bind_service", "--ambient-caps=+net_admin,+net_bind_service"]
    with tempfile.TemporaryDirectory() as place, spaces.hosts("here", root=True) as net:
        # Where this program is not everybody may look.
        Path(place).chmod(0o755)
        program = shutil.copy(proxy.program(), place)
        monkeypatch.setattr(proxy, "program", lambda: program)
        net.python("here", SERVER)
        before = ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", *given]
        status = net.proxy("here", {"to": "127.0.0.1:8080"}, *before, listen="127.0.0.1:80").status()
        assert status["Uid"].split() == [str(pwd.getpwnam("daemon").pw_uid)] * 4
        assert [int(status[f"Cap{which}"], 16) for which in ("Eff", "Prm", "Inh", "Amb")] == [0] * 4
        assert status["NoNewPrivs"] == "1"
        assert net.told("here", CLIENT) == "there"


@pytest.mark.skipif(AS_ROOT is not None, reason=str(AS_ROOT))
@pytest.mark.skipif(not ROOTS, reason="everybody is allowed each controller that this kernel has")
def test_what_the_user_may_not_set_of_a_socket_is_refused_at_the_start() -> None:
    """Not of each connection: whose rights these have is not who starts it."""
    with spaces.hosts("here", root=True) as net:
        asked = {"server": {"cc": ROOTS[0]}, "listen": "127.0.0.1:80"}
        with pytest.raises(AssertionError) as caught:
            net.proxy("here", {"to": "127.0.0.1:8080"}, **asked)
        said = caught.value.args[0][-1]
        assert said.startswith(f'ackclock: --server cc: the kernel refuses "{ROOTS[0]}"; it has ')
        remedy = "add it to net.ipv4.tcp_allowed_congestion_control, or take --user root"
        assert said.endswith(f"; who is not root may use {' '.join(controllers('allowed'))}; {remedy}\n")
        net.python("here", SERVER)
        started = net.proxy("here", {"to": "127.0.0.1:8080"}, user="root", **asked)
        assert net.told("here", CLIENT) == "there"
        assert started.line()["why"] == "finished"


@pytest.mark.parametrize(
    "root", [False, pytest.param(True, marks=pytest.mark.skipif(bool(AS_ROOT), reason=str(AS_ROOT)))]
)
def test_what_changes_routes_has_one_right_and_so_has_what_it_starts(root: bool) -> None:
    """As root of a namespace that has nobody else, and as nobody."""
    with spaces.hosts("here", root=root) as net:
        started = net.proxy("here", {"to": "127.0.0.1:8080"}, user="root", server={"initcwnd": 20})
        pid = started.process.pid
        (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        status = spaces.status(int(child))
        assert [int(status[f"Cap{which}"], 16) for which in ("Eff", "Prm", "Inh", "Amb")] == [1 << NET_ADMIN] * 4
        # Without it a program that root starts has all of root's capabilities.
        assert status["NoNewPrivs"] == "1"
        assert set(status["Uid"].split()) == {str(pwd.getpwnam("nobody").pw_uid if root else 0)}


def test_root_that_can_become_nobody_else_does_not_start() -> None:
    # Root of a namespace in which there is no other user.
    with spaces.hosts("here") as net, pytest.raises(AssertionError) as caught:
        net.proxy("here", {"to": "127.0.0.1:8080"}, listen="127.0.0.1:80")
    said = caught.value.args[0][-1]
    assert said.startswith("ackclock: --user nobody: the system does not let root become it (")
    assert said.endswith("); give another, or --user root\n")
