"""What a limited process reaches of its machine: nothing, by namespaces or by Landlock, or it is not run."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from limited_supervisor import NO_NAMESPACES, changed_isolation, changed_supervisor

from conductor.errors import WorkerError
from conductor.evaluation.scorers.program import UNSAFE_CODE, check_isolation
from conductor.limited import supervisor
from conductor.limited.command import Ended, limited, python
from conductor.limited.supervisor import Limits

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

WAYS = ("namespaces", "Landlock", "Landlock, since mounts are refused")


@pytest.fixture
def refusing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces the supervisor by one on a system that refuses some ways."""

    def refuse(*, namespaces: bool = False, **isolation: str) -> None:
        lines = (NO_NAMESPACES if namespaces else "") + changed_isolation(tmp_path, **isolation)
        monkeypatch.setattr(supervisor, "__file__", changed_supervisor(tmp_path, lines))

    return refuse


@pytest.fixture(params=WAYS)
def isolated(request: pytest.FixtureRequest, refusing: Callable[..., None]) -> Callable[..., Ended]:
    """Runs a program in one of the ways, or skips where this system has not that way."""
    if request.param == "Landlock":
        refusing(namespaces=True)
    elif request.param != "namespaces":
        refusing(_PIVOT_ROOT="{}")
    else:
        refusing(_LANDLOCK="10_000")

    def run(program: str, **limits: float) -> Ended:
        try:
            return asyncio.run(limited(python(program), limits=Limits(isolated=True, **limits)))  # type: ignore[arg-type]
        except WorkerError as refused:
            pytest.skip(f"{request.param}: {refused}")

    return run


@pytest.fixture
def port() -> Iterator[int]:
    """One with a listener."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


ATTEMPTS = {
    "a file is read": "print(open(SECRET).read())",
    "a folder is listed": "print(os.listdir(os.path.dirname(SECRET)))",
    "the home is listed": "print([each for each in os.listdir(HOME) if not each.startswith('.')] or 1 / 0)",
    "a file is changed": "open(SECRET, 'a')",
    "a file is made beside it": "open(SECRET + 'x', 'w')",
    "a file is made where Python reads paths": "open(os.path.join(PACKAGES, 'x.pth'), 'w')",
    "a file is made among shared memory that stays": "open('/dev/shm/' + NAME, 'w'); os._exit(1)",
    "the environment of its parent is read": "open(f'/proc/{os.getppid() or OUTSIDE}/environ').read()[0]",
    "the environment of the server is read": "print(open(f'/proc/{OUTSIDE}/environ').read())",
    "its memory is opened": "open(f'/proc/{OUTSIDE}/mem', 'rb')",
    "a connection is made": "import socket; socket.create_connection(('127.0.0.1', PORT), timeout=5)",
    "a disk is mounted": "import ctypes; 1 / (ctypes.CDLL(None).mount(b'none', b'/', b'tmpfs', 0, None) + 1)",
    "a cover is taken away": "import ctypes; 1 / (ctypes.CDLL(None).umount2(b'/proc', 2) + 1)",
    "namespaces are taken to mount": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.unshare(0x10020000)\n"
        "libc.umount2(b'/', 2); libc.umount2(b'/tmp', 2)\nprint(open(SECRET).read())"
    ),
    "the root is left": (
        "os.mkdir('x'); os.chroot('x')\nfor _ in range(99): os.chdir('..')\n"
        "os.chroot('.')\nprint(open(SECRET).read())"
    ),
}  # fmt: skip


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_nothing_of_the_machine_is_in_reach(
    isolated: Callable[..., Ended], tmp_path: Path, port: int, attempt: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("sk-secret", encoding="utf-8")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    values = {
        "SECRET": str(secret), "HOME": str(Path.home()), "PACKAGES": packages, "PORT": port,
        "OUTSIDE": os.getpid(), "NAME": tmp_path.name,
    }  # fmt: skip
    ended = isolated(
        "import os\n" + "".join(f"{name} = {value!r}\n" for name, value in values.items()) + ATTEMPTS[attempt]
    )
    assert "sk-secret" not in ended.output
    assert ended.code not in (0, None), ended
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith("secret")] == ["secret"]
    assert not Path("/dev/shm", tmp_path.name).exists()


def test_it_has_its_interpreter_its_packages_and_a_folder(isolated: Callable[..., Ended]) -> None:
    ended = isolated(
        "import numpy, ssl\nopen('a', 'w').write('x')\nprint(open('a').read(), open('/dev/null').read())"
    )
    assert (ended.output, ended.code) == ("x \n", 0)


def test_a_link_to_the_interpreter_takes_nothing_of_its_folder_along(
    isolated: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "secret").write_text("sk-secret", encoding="utf-8")
    (home / "bin" / "python").symlink_to(sys.executable)
    (home / "python").symlink_to("bin/python")
    monkeypatch.setattr(sys, "executable", str(home / "python"))
    ended = isolated(f"import os\nprint(os.path.exists({str(home)!r}))\nopen({str(home / 'secret')!r})")
    assert ended.code == 1, ended
    assert re.search("FileNotFoundError|PermissionError", ended.output)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("for at in range(20): open(str(at), 'wb').write(b'x' * 9_000_000)", "64 MB in files|No space"),
        ("for at in range(40_000): open(str(at), 'w')", "10000 files|No space"),
        (
            "import os, time\nfor _ in range(3):\n    if not os.fork():\n        held = b'x' * 500_000_000\n"
            "        time.sleep(60)\ntime.sleep(60)",
            "1024 MB of memory",
        ),
    ],
)  # fmt: skip
def test_all_its_processes_together_have_limits(
    isolated: Callable[..., Ended], program: str, reason: str
) -> None:
    ended = isolated(f"{program}\nimport time\ntime.sleep(60)", seconds=50)
    assert re.search(reason, ended.stopped or ended.output), ended


def test_where_nothing_isolates_programs_are_not_run_unless_the_owner_says_so(
    refusing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(namespaces=True, _LANDLOCK="10_000")
    with pytest.raises(WorkerError, match=r"namespaces are refused; Landlock.*container.*--unsafe-code"):
        asyncio.run(check_isolation())
    monkeypatch.setenv(UNSAFE_CODE, "1")
    asyncio.run(check_isolation())


def test_where_there_is_no_linux_the_limits_hold_without_isolation(refusing: Callable[..., None]) -> None:
    refusing(namespaces=True, _LINUX="False", _LANDLOCK="None")
    assert asyncio.run(limited(python("print(1)"))).output == "1\n"
    with pytest.raises(WorkerError, match="it is no Linux"):
        asyncio.run(check_isolation())
