"""A warm process answers line after line; one that is busy for too long ends with all below it, alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import pytest

from conductor.errors import LimitedProcessError
from conductor.limited import warm
from conductor.limited.command import python
from conductor.limited.supervisor import Limits
from conductor.limited.warm import WarmProcesses
from tests.support.processes.marked_processes import processes_with
from tests.support.runs.waiting import until, until_async

pytestmark = pytest.mark.slow

_ANSWERS = """
import os, sys, time
from subprocess import Popen
for line in sys.stdin:
    what, _, more = line.strip().partition(" ")
    if what == "die":
        os._exit(3)
    if what == "busy":
        Popen([sys.executable, "-c", "import time; time.sleep(100)", more], start_new_session=True)
        time.sleep(100)
    if what == "wait":
        time.sleep(0.3)
    print(os.getpid(), os.getcwd(), "SOME_API_KEY" in os.environ, flush=True)
    if what == "last":
        os._exit(0)
"""


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmProcesses]:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    server = WarmProcesses(python(_ANSWERS), limits=Limits(seconds=3))
    yield server
    server.close()


def answers_to(processes: WarmProcesses, *lines: str) -> list[str | None]:
    """The answer to each line, or None if the process gave none."""

    async def answer(line: str) -> str | None:
        with suppress(LimitedProcessError):
            return await processes.ask(line)
        return None

    async def one_after_another() -> list[str | None]:
        return [await answer(line) for line in lines]

    return asyncio.run(one_after_another())


def test_one_process_answers_line_after_line_in_a_folder_of_its_own(processes: WarmProcesses) -> None:
    first, second = answers_to(processes, "hello", "hello")
    assert first == second
    assert first is not None
    _, folder, key = first.split()
    assert (Path(folder).exists(), key) == (True, "False")
    processes.close()
    assert not Path(folder).exists()


def test_a_line_that_takes_too_long_ends_its_process_and_all_below_it(processes: WarmProcesses) -> None:
    mark = f"mark-{token_hex(8)}"
    before, busy, after = answers_to(processes, "hello", f"busy {mark}", "hello")
    assert busy is None
    assert before != after
    until(lambda: not processes_with(mark))


def test_a_process_that_ended_while_it_waited_is_replaced_in_silence(processes: WarmProcesses) -> None:
    first, second = answers_to(processes, "last", "hello")
    assert first
    assert second
    assert first != second


def test_one_that_ends_in_place_of_an_answer_gives_none(processes: WarmProcesses) -> None:
    assert answers_to(processes, "die", "hello")[0] == ""


def test_lines_that_come_at_once_get_processes_of_their_own(processes: WarmProcesses) -> None:
    async def at_once() -> list[str]:
        return await asyncio.gather(processes.ask("wait"), processes.ask("wait"))

    one, other = asyncio.run(at_once())
    assert one != other


def test_a_process_is_used_for_so_long_and_no_longer(
    processes: WarmProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "LIFETIME", 3.2)
    first, _, last = answers_to(processes, "hello", "wait", "hello")
    assert first != last


def test_a_line_that_is_cancelled_ends_its_process(processes: WarmProcesses) -> None:
    mark = f"mark-{token_hex(8)}"

    async def cancelled() -> None:
        running = asyncio.create_task(processes.ask(f"busy {mark}"))
        await until_async(
            lambda: processes_with(mark) or running.done(), what="the line is worked on, or over"
        )
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    until(lambda: not processes_with(mark))
