"""Owners: who is still there, and whose runs may be ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest

from storage.owner import is_gone, is_neighbour, this_process

HOST = socket.gethostname()
NO_PID = 2**22 + 1
"""Above the highest pid that Linux gives."""


def test_this_process_is_there() -> None:
    place, pid, _ = this_process().rsplit("/", 2)
    assert (place.partition("~")[0], pid) == (HOST, str(os.getpid()))
    assert not is_gone(this_process())
    assert is_neighbour(this_process())


@pytest.mark.parametrize(
    ("owner", "gone"),
    [
        (f"{HOST}/{NO_PID}/1", True),
        (f"{HOST}/{NO_PID}/-", True),
        (f"{HOST}/{os.getpid()}/-", False),
        (f"{HOST}/1/-", False),
        (f"not-{HOST}/{NO_PID}/1", False),
        (f"{HOST}~0123abcd/{NO_PID}/1", False),
    ],
    ids=["no pid", "no pid nor start", "this one", "the first one", "on another host", "in a container"],
)
def test_an_owner_is_gone_when_its_process_is(owner: str, gone: bool) -> None:
    assert is_gone(owner) == gone


@pytest.mark.skipif(sys.platform != "linux", reason="start times come from /proc")
def test_a_neighbour_is_of_this_machine_since_it_was_started() -> None:
    place = this_process().rsplit("/", 2)[0]
    assert [is_neighbour(f"{where}/1/1") for where in (place, HOST, f"{HOST}~other", "other")] == [
        True,
        True,
        False,
        False,
    ]
    assert is_gone(f"{place}/{NO_PID}/1")


@pytest.mark.skipif(sys.platform != "linux", reason="start times come from /proc")
def test_a_later_process_of_the_same_pid_is_another() -> None:
    assert is_gone(f"{HOST}/{os.getpid()}/1")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="zombies are seen in /proc")
def test_a_killed_process_that_nobody_waited_for_is_gone() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import storage.owner as o; print(o.this_process(), flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        owner = child.stdout.readline().strip()
        assert not is_gone(owner)
        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(owner)
