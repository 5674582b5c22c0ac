"""The computing child: started lazily, reused, ended on time, on cancel and with its loop."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import conductor
from conductor.errors import WorkerError
from conductor.values.messages import Completion, Delta, Message, Part, Request
from conductor.workers.offline.child import limit_memory
from conductor.workers.offline.experts import EXPERTS, OfflineExpert, offline_workers
from conductor.workers.offline.mathematics.expert import CANNOT
from conductor.workers.offline.process import _CALCULATORS, PASSED, calculator
from conductor.workers.offline.task import Task

HARD = f"Factor {2**523 - 3**250}"


def request(query: str, instruction: str = "Solve it.") -> Request:
    parts = (Part(kind="query", text=query), Part(kind="instruction", text=instruction))
    return Request(messages=(Message(role="user", parts=parts),))


async def answered(query: str) -> list[str]:
    return [line async for line in calculator().lines("mathematics", Task(query=query, instruction=""))]


def pid() -> int:
    process = calculator()._process
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
    await answered("1 + 1")
    first = pid()
    mathematics = OfflineExpert("mathematics", name="m")
    parts = [part async for part in mathematics.stream(request("sqrt(50)"))]
    assert [part.text for part in parts[:-1]] == [
        "Read as: sqrt(50)",
        "\nsqrt(50) = 5*sqrt(2)",
        "\nAs a decimal: about 7.071067812",
        "\nAnswer: 5*sqrt(2)",
    ]
    assert parts[-1] == Completion(text="".join(part.text for part in parts[:-1]))
    assert parts[-1].usage.total is None
    declined = [part async for part in mathematics.stream(request("A poem about 3 trains"))][-1]
    assert isinstance(declined, Completion)
    assert declined.finish_reason == "refused"
    assert declined.text.startswith(f"{CANNOT} Near it I can answer: «A train travels 180 km")
    together = await asyncio.gather(*(answered(f"{number} + 1") for number in range(5)))
    assert [lines[-1] for lines in together] == [f"Answer: {number + 1}" for number in range(5)]
    long = (await answered("10^5000 + 7"))[-1]
    assert re.fullmatch(r"Answer: \d{40}\.\.\.\d{40} \(5,001 digits, shortened\)", long)
    assert pid() == first


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands for Python")
async def test_the_child_gets_no_variable_but_what_python_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported, python = tmp_path / "environment", tmp_path / "python"
    python.write_text(f"#!/bin/sh\n/usr/bin/env > '{reported}'\necho '{{}}'\nexec cat\n")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    for name in (
        "OPENAI_API_KEY",
        "CONDUCTOR_DATABASE_URL",
        "AWS_SECRET_ACCESS_KEY",
        "SSH_AUTH_SOCK",
        "HOME",
    ):
        monkeypatch.setenv(name, "sk-marked")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    await answered("1 + 1")
    found = dict(line.split("=", 1) for line in reported.read_text().splitlines())
    own_to_the_shell = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert found.keys() - own_to_the_shell <= set(PASSED) | {"PYTHONPATH"}
    assert "sk-marked" not in reported.read_text()
    assert (found["PATH"], found["LC_ALL"]) == (os.environ["PATH"], "C.UTF-8")
    assert found["PYTHONPATH"].split(os.pathsep) == [str(Path(conductor.__file__).parents[1]), str(tmp_path)]


async def begun() -> AsyncGenerator[str, None]:
    """The lines of a computation that has no end; the first is out."""
    lines = calculator().lines("mathematics", Task(query=HARD, instruction=""))
    assert (await anext(lines)).startswith("Read as: ")
    return lines


async def rest(lines: AsyncGenerator[str, None]) -> list[str]:
    return [line async for line in lines]


@pytest.mark.slow
async def test_a_computation_that_takes_too_long_is_stopped_and_the_next_one_works() -> None:
    await answered("1 + 1")
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
    root = Path(conductor.__file__).parents[1]
    script = (
        f"import sys, asyncio; sys.path.insert(0, {str(root)!r})\n"
        "from conductor.workers.offline.process import calculator\n"
        "assert 'sympy' not in sys.modules\n"
        "from conductor.workers.offline.task import Task\n"
        "async def start() -> None:\n"
        "    lines = calculator().lines('mathematics', Task('1 + 1', ''))\n"
        "    assert [line async for line in lines][-1] == 'Answer: 2'\n"
        "asyncio.run(start())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_cards_show_that_no_model_answers() -> None:
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
        _CALCULATORS[next(added)] = mine
        return True

    async def asked() -> object:
        return calculator()

    with asyncio.Runner() as runner:
        mine = _CALCULATORS[other] = runner.run(asked())  # type: ignore[assignment]
        del _CALCULATORS[runner.get_loop()]
        monkeypatch.setattr(other, "is_closed", closed_while_another_comes)
        assert runner.run(asked()) is not mine
        assert other not in _CALCULATORS
    for loop in later:
        _CALCULATORS.pop(loop, None)
        loop.close()
