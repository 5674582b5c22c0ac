"""A child process that runs what is not trusted, within limits, and that nothing of it outlives. POSIX only.

Knows how the supervisor is started, written to and read; nothing of what is run.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from errno import EDQUOT, ENOSPC
from pathlib import Path
from secrets import token_hex
from typing import Any

from conductor.errors import LimitedProcessError, WorkerError
from conductor.limited import supervisor
from conductor.limited.supervisor import READY, Limits
from conductor.own_settings import setting


@dataclass(frozen=True)
class Ended:
    """How a child ended: with `code`, or `stopped` by its limits for this reason, its code None. `seconds`
    are those since it was ready.
    """

    output: str
    code: int | None = None
    stopped: str = ""
    seconds: float = 0.0


def python(source: str, *arguments: str, first: str = "") -> tuple[str, ...]:
    """The command that runs `source`; its start and the imports `first` do not count towards its seconds."""
    return (sys.executable, "-c", f"{first}\nexec({READY!r}, {{}})\n{source}", *arguments)


async def limited(command: tuple[str, ...], *, sent: bytes = b"", limits: Limits | None = None) -> Ended:
    """Run `command` in an empty folder of its own that is removed afterwards, with `sent` as its input.

    It is one of `python`, and gets no variable of this program's environment but `PATH` and what finds
    Python's packages. Raises `LimitedProcessError` where it could not run or was lost, `WorkerError` where
    the system has no such limits.
    """
    limits = limits or Limits()
    with own_failures(), own_folder() as folder:
        supervised, environment = supervised_command(command, folder, limits)
        child = await asyncio.create_subprocess_exec(
            *supervised,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        try:
            # Longer than its supervisor could take.
            async with asyncio.timeout(limits.seconds + 3 * limits.start):
                output, report = await _exchange(child, sent, limits.output)
                await child.wait()
        except (asyncio.CancelledError, TimeoutError) as error:
            with suppress(ProcessLookupError):
                child.send_signal(signal.SIGKILL if isinstance(error, TimeoutError) else signal.SIGTERM)
            await child.wait()
            raise
        ended = end_of(report)
        if "code" in ended and any(os.strerror(each) in output for each in (ENOSPC, EDQUOT)):
            # A program may write that; where it is true, this raises it, too.
            with tempfile.TemporaryFile(dir=Path(folder).parent) as probe:
                probe.write(bytes(limits.file))
    return Ended(output, **ended)


_FAILED = "The limited process failed: {}. See to this machine, then try it again."


_NOT_ISOLATED = (
    "Programs of models are not run here, since this system cannot isolate them ({}). Run this in a "
    "container that has nothing to lose, with --unsafe-code or CONDUCTOR_UNSAFE_CODE=1: a program can then "
    "read and send what this user can, keys included."
)


def end_of(report: bytes) -> dict[str, Any]:
    """The `code` of a command, or why it was `stopped`, by what its supervisor wrote last.

    Raises `WorkerError` where it was not run, `LimitedProcessError` for a failure that was not the command's.
    """
    last = report.strip().rpartition(b"\n")[2].decode(errors="replace")
    ended: dict[str, Any] = json.loads(last) if last.startswith("{") else {"failure": last}
    if "code" in ended or "stopped" in ended:
        return ended
    if "refused" in ended:
        raise WorkerError(_NOT_ISOLATED.format(ended["refused"]))
    raise LimitedProcessError(_FAILED.format(ended.get("failure") or "its supervisor ended without a report"))


@contextmanager
def own_failures() -> Iterator[None]:
    """Raise what this machine refuses (a process, a thread, a folder) as a `LimitedProcessError`."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise LimitedProcessError(_FAILED.format(f"{type(error).__name__}: {error}")) from error


def supervised_command(
    command: tuple[str, ...], folder: str, limits: Limits
) -> tuple[tuple[str, ...], dict[str, str]]:
    """What starts `command` under its supervisor in `folder`, and the environment for that.

    Raises `WorkerError` where the system has no such limits.
    """
    if sys.platform == "win32":
        raise WorkerError(
            "PDFs are read, and formulas and programs scored, in limited processes, which Windows lacks."
        )
    arguments = json.dumps([asdict(limits), folder, sys.path, _readable(), command])
    environment = {"PATH": setting("PATH") or os.defpath, "HOME": folder, "TMPDIR": folder}
    # Libraries start a thread for each core: on a large machine more than the limits allow.
    environment["OMP_NUM_THREADS"] = "1"
    # Without `site`: a file of paths that a program wrote is code.
    return (sys.executable, "-I", "-S", supervisor.__file__, arguments), environment


_SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives"),
)


def _readable() -> list[str]:
    """What a child may read: the system's programs, this interpreter with its packages, and this library's
    source; of a checkout, or of a folder in which a script is, nothing else.
    """
    links = [Path(sys.executable)]
    while links[-1].is_symlink():
        links.append(links[-1].parent / links[-1].readlink())
    packages = (Path(path) for path in sys.path if Path(path).name in ("site-packages", "dist-packages"))
    source = Path(__file__).resolve().parents[1]
    folders = (Path(sys.prefix), Path(sys.base_prefix), *packages, source)
    own = {place for path in folders for place in (path, path.resolve()) if place != Path("/")}
    # A link alone, not its folder: that may be the user's home.
    return [*_SYSTEM, *(os.path.normpath(path) for path in (*own, *links))]


@contextmanager
def own_folder() -> Iterator[str]:
    """Where a supervisor makes its folder, which it removes, or this does if it was killed."""
    folder = str(Path(tempfile.gettempdir(), f"conductor-limited-{token_hex(8)}"))
    try:
        yield folder
    finally:
        supervisor.remove(folder)


async def _exchange(child: asyncio.subprocess.Process, sent: bytes, most: int) -> tuple[str, bytes]:
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    with suppress(ConnectionError):
        child.stdin.write(sent)
        await child.stdin.drain()
    child.stdin.close()
    pieces: list[bytes] = []
    read = 0
    while piece := await child.stdout.read(65_536):
        if read < most:
            pieces.append(piece[: most - read])
        read += len(piece)
    return b"".join(pieces).decode(errors="replace"), await child.stderr.read()


# -- programs of models ----------------------------------------------------------------------------

LIMITS = Limits(seconds=20.0)

UNSAFE_CODE = "CONDUCTOR_UNSAFE_CODE"
"""The environment variable that, set to 1, lets programs run where the system cannot isolate them."""

_COMMAND = python("exec(compile(__import__('sys').stdin.buffer.read(), '<stdin>', 'exec'))")


async def check_isolation() -> None:
    """Raises `WorkerError` where programs would not be run, since the system cannot isolate them."""
    await run_program("")


async def run_program(script: str, limits: Limits = LIMITS) -> Ended:
    """Run `script`; its output has what it writes to standard error, too. Raises as `limited`."""
    isolated = setting(UNSAFE_CODE) != "1"
    return await limited(_COMMAND, sent=script.encode(), limits=replace(limits, isolated=isolated))
