"""What a limited process reaches of its machine: nothing, by namespaces or by Landlock, or it is not run."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor.errors import WorkerError
from conductor.limited import supervisor
from conductor.limited.command import UNSAFE_CODE, Ended, check_isolation, limited, python
from conductor.limited.supervisor import Limits
from tests.support.processes.child_process import child
from tests.support.processes.limited_supervisor import NO_NAMESPACES, changed_isolation, changed_supervisor
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

WAYS = ("namespaces", "Landlock", "Landlock of Linux 6.7", "Landlock, since mounts are refused")


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
    elif request.param == "Landlock of Linux 6.7":
        refusing(namespaces=True, _SCOPES_LANDLOCK="10_000")
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
def port(tmp_path: Path) -> Iterator[int]:
    """One with a listener; another one listens at a file of the folder."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "listener"))
        other.listen()
        yield server.getsockname()[1]


CALL = (
    "import ctypes, platform\n"
    "def call(number, other, *given):\n"
    "    number = number if platform.machine() == 'x86_64' else other\n"
    "    1 / (ctypes.CDLL(None).syscall(number, *given) + 1)\n"
)
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
    "a datagram is sent": (
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))"
    ),
    "a file is connected to": (
        "import socket; socket.socket(socket.AF_UNIX).connect(os.path.dirname(SECRET) + '/listener')"
    ),
    "the host of a virtual machine is connected to": "import socket; socket.socket(40, socket.SOCK_STREAM)",
    "a ring of calls is opened": CALL + "call(425, 425, 4, ctypes.create_string_buffer(256))",
    "a file of no folder is made": "os.memfd_create('x')",
    "memory is shared that stays": CALL + "call(29, 194, 0, 4096, 0o1600)",
    "semaphores are made that stay": CALL + "call(64, 190, 0, 1, 0o1600)",
    "a queue is made that stays": CALL + "call(68, 186, 0, 0o1600)",
    "a key is kept for the user": CALL + "call(248, 217, b'user', NAME.encode(), b'x', 1, -4)",
    "the keys of the user are read": CALL + "call(250, 219, 11, -4, None, 0)",
    "a process is signalled": "os.kill(OUTSIDE, 0)",
    "a process is limited": "import resource; resource.prlimit(OUTSIDE, resource.RLIMIT_CORE, (0, 0))",
    "a process is slowed": "os.setpriority(os.PRIO_PROCESS, OUTSIDE, 19)",
    "a process is bound to a core": "os.sched_setaffinity(OUTSIDE, {0})",
    "the mode of a file is set": "os.chmod(SECRET, 0o777); 1 / 0",
    "the mode of a file is set by its folder": (
        "os.chmod('secret', 0o777, dir_fd=os.open(os.path.dirname(SECRET), os.O_PATH)); 1 / 0"
    ),
    "the time of a file is set": "os.utime(SECRET, (0, 0)); 1 / 0",
    "an attribute of a file is set": "os.setxattr(SECRET, 'user.x', b'x'); 1 / 0",
}  # fmt: skip


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_nothing_of_the_machine_is_in_reach(
    isolated: Callable[..., Ended], tmp_path: Path, port: int, attempt: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("sk-secret", encoding="utf-8")
    before = secret.stat()
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
    assert (secret.stat().st_mode, secret.stat().st_mtime) == (before.st_mode, before.st_mtime)
    assert os.listxattr(secret) == []
    assert not Path("/dev/shm", tmp_path.name).exists()


def test_it_has_its_interpreter_its_packages_and_a_folder(isolated: Callable[..., Ended]) -> None:
    ended = isolated(
        "import asyncio, numpy, resource, shutil, ssl, subprocess\n"
        "open('a', 'w').write('x')\nshutil.copy('a', 'b')\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nasyncio.run(asyncio.sleep(0))\n"
        "subprocess.run(['true'], check=True)\nprint(open('b').read(), open('/dev/null').read())"
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
            "import ctypes, os\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nopened = []\n"
            "for at in range(40):\n    opened.append(open('x', 'wb', 0))\n"
            "    opened[-1].write(b'x' * 9_000_000)\n    os.unlink('x')",
            "64 MB in files|No space",
        ),
        (
            "import os\nfor _ in range(20): os.mkdir('d' * 250); os.chdir('d' * 250)\n"
            "for at in range(20): open(str(at), 'wb').write(b'x' * 9_000_000)",
            "4095 characters in a path|No space",
        ),
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


KILLED = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    ("killed", "shared", "end"),
    [
        (0, "cpu memory", (-signal.SIGKILL, "")),
        (1, "cpu memory", (None, "stopped with more than 1024 MB of memory")),
        (1, "cpu", (None, "stopped with more than 1024 MB of memory")),
        (1, None, (-signal.SIGKILL, "")),
    ],
)
def test_the_memory_of_all_is_a_control_group_of_theirs_where_one_is_delegated(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    killed: int,
    shared: str | None,
    end: tuple[int | None, str],
) -> None:
    """On a folder with the names of Linux' files: not every machine that runs tests delegates a group."""
    groups = tmp_path / "groups"
    groups.mkdir()
    if shared is not None:
        (groups / "cgroup.subtree_control").write_text(shared, encoding="ascii")
    lines = (
        # The first process of a namespace cannot kill itself.
        f"{NO_NAMESPACES}from pathlib import Path\n"
        f"supervisor._GROUPS = Path({str(groups)!r})\n"
        f"supervisor._OWN_GROUPS = Path({str(tmp_path / 'own')!r})\n"
        "made = supervisor._control_group\n"
        "def counted(memory):\n"
        "    if (group := made(memory)) is not None:\n"
        f"        (group / 'memory.events').write_text('oom 1\\noom_kill {killed}\\noom_group_kill 1\\n')\n"
        "    return group\n"
        "supervisor._control_group = counted\n"
    )
    (tmp_path / "own").write_text("4:memory:/elsewhere\n0::/\n", encoding="ascii")
    monkeypatch.setattr(supervisor, "__file__", changed_supervisor(tmp_path, lines))
    ended = asyncio.run(limited(python(KILLED)))
    assert (ended.code, ended.stopped) == end
    written = {file.name: file.read_text(encoding="ascii") for file in groups.glob("conductor-limited-*/*")}
    expected = {"memory.max": str(1024**3), "cgroup.procs": "0"}
    assert written.items() >= expected.items() if shared else written == {}
    if shared is not None:
        assert "memory" in (groups / "cgroup.subtree_control").read_text(encoding="ascii")


@pytest.mark.parametrize(
    "program",
    [
        "for _ in range(3_000): os.mkdir('d'); os.chdir('d')",
        "open('x', 'w'); os.mkdir('d'); os.mkdir('d/e'); os.mkdir('d/e/f'); os.chmod('d/e', 0)",
        "folder = os.getcwd(); os.rmdir(folder); os.symlink(SECRET, folder)",
    ],
)
def test_no_file_outlives_it(
    isolated: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    (secret := tmp_path / "secret").mkdir()
    (secret / "file").touch()
    (folder := tmp_path / "folder").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    isolated(f"import os\nSECRET = {str(secret)!r}\n{program}")
    assert list(folder.iterdir()) == []
    assert (secret / "file").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_folder_outlives_the_program_that_started_it(tmp_path: Path, number: signal.Signals) -> None:
    waiting = "import time; time.sleep(60)"
    program = (
        "import asyncio\nfrom conductor.limited.command import limited, python\n"
        f"asyncio.run(limited(python({waiting!r})))"
    )
    (folder := tmp_path / "folder").mkdir()
    with child([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(folder)}) as process:
        until(lambda: list(folder.iterdir()) != [])
        process.send_signal(number)
        process.wait(60)
        until(lambda: list(folder.iterdir()) == [])


def test_where_nothing_isolates_programs_are_not_run_unless_the_owner_states_it(
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
