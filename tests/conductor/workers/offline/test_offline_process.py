"""The computing child: started lazily, reused, ended on time, on cancel and with its loop."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from conductor.errors import WorkerError
from conductor.messages import Completion, Delta, Message, Part, Request
from conductor.workers.offline import EXPERTS, OfflineExpert, close, offline_workers, warm_up
from conductor.workers.offline.kernel import limit_memory
from conductor.workers.offline.process import _KERNELS, kernel
from conductor.workers.offline.task import Task

HARD = f"Factor {2**523 - 3**250}"


def request(query: str, instruction: str = "Solve it.") -> Request:
    parts = (Part(kind="query", text=query), Part(kind="instruction", text=instruction))
    return Request(messages=(Message(role="user", parts=parts),))


async def answered(query: str) -> list[str]:
    return [line async for line in kernel().lines("mathematics", Task(query=query, instruction=""))]


def pid() -> int:
    process = kernel()._process
    assert process is not None
    return process.pid


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
async def test_questions_share_one_child_and_come_as_deltas_then_a_completion() -> None:
    await warm_up()
    first = pid()
    mathematics = OfflineExpert("mathematics", name="m")
    parts = [part async for part in mathematics.stream(request("What is 17 * 23?"))]
    assert [part.text for part in parts[:-1]] == ["Read as: 17*23", "\n17*23 = 391", "\nAnswer: 391"]
    assert parts[-1] == Completion(text="Read as: 17*23\n17*23 = 391\nAnswer: 391")
    assert parts[-1].usage.total is None
    together = await asyncio.gather(*(answered(f"{number} + 1") for number in range(5)))
    assert [lines[-1] for lines in together] == [f"Answer: {number + 1}" for number in range(5)]
    long = (await answered("10^5000 + 7"))[-1]
    assert re.fullmatch(r"Answer: \d{40}\.\.\.\d{40} \(5,001 digits, shortened\)", long)
    assert pid() == first
    await close()
    assert not alive(first)


async def begun() -> AsyncGenerator[str, None]:
    """The lines of a computation that has no end; the first is out."""
    lines = kernel().lines("mathematics", Task(query=HARD, instruction=""))
    assert (await anext(lines)).startswith("Read as: ")
    return lines


async def rest(lines: AsyncGenerator[str, None]) -> list[str]:
    return [line async for line in lines]


@pytest.mark.slow
async def test_a_computation_that_takes_too_long_is_stopped_and_the_next_one_works() -> None:
    await warm_up()
    first = pid()
    with pytest.raises(WorkerError, match=r"took more than 0\.2 s"):
        async for _ in OfflineExpert("mathematics", name="m", seconds=0.2).stream(request(HARD)):
            pass
    assert not alive(first)
    assert (await answered("1 + 1"))[-1] == "Answer: 2"
    stream = OfflineExpert("mathematics", name="m").stream(request(HARD))
    assert isinstance(await anext(stream), Delta)
    second = pid()
    await stream.aclose()  # type: ignore[attr-defined]
    assert second != first
    assert not alive(second)


@pytest.mark.slow
async def test_cancelling_ends_the_child_in_the_middle_of_its_work() -> None:
    task = asyncio.create_task(rest(await begun()))
    first = pid()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)  # half the time after which the computation would end by itself
    assert not alive(first)


@pytest.mark.slow
async def test_a_child_that_dies_is_a_worker_error() -> None:
    lines = await begun()
    os.kill(pid(), 9)
    with pytest.raises(WorkerError, match="ended unexpectedly"):
        await rest(lines)


@pytest.mark.slow
def test_the_package_is_imported_without_sympy_and_its_child_starts_anywhere_and_ends_with_its_loop(
    tmp_path: Path,
) -> None:
    root = Path(__file__).resolve().parents[2]
    script = (
        f"import sys, asyncio; sys.path.insert(0, {str(root)!r})\n"
        "from conductor.workers.offline import warm_up\n"
        "assert 'sympy' not in sys.modules\n"
        "asyncio.run(warm_up())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_cards_say_that_no_model_answers() -> None:
    cards = [worker.card for worker in offline_workers()]
    assert [card.name for card in cards] == list(EXPERTS)
    assert {card.kind for card in cards} == {"offline"}
    assert [card.model for card in cards] == [f"expert/{name}" for name in EXPERTS]
    assert not any(card.takes_sampling for card in cards)


@pytest.mark.parametrize(
    "refusal", [ValueError("current limit exceeds maximum limit"), OSError(22, "Invalid")]
)
def test_a_platform_that_refuses_a_memory_limit_does_without(
    refusal: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    asked = []

    def refuse(limit: int, bounds: tuple[int, int]) -> None:
        asked.append((limit, bounds))
        raise refusal

    monkeypatch.setattr(resource, "setrlimit", refuse)
    limit_memory()
    assert len(asked) == 1


def test_a_loop_that_gets_a_process_does_not_mind_another_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    other = asyncio.new_event_loop()
    other.close()
    later = [asyncio.new_event_loop() for _ in range(2)]
    added = iter(later)

    def closed_while_another_comes() -> bool:
        _KERNELS[next(added)] = mine
        return True

    async def asked() -> object:
        return kernel()

    with asyncio.Runner() as runner:
        mine = _KERNELS[other] = runner.run(asked())  # type: ignore[assignment]
        del _KERNELS[runner.get_loop()]
        monkeypatch.setattr(other, "is_closed", closed_while_another_comes)
        assert runner.run(asked()) is not mine
        assert other not in _KERNELS
    for loop in later:
        _KERNELS.pop(loop, None)
        loop.close()
