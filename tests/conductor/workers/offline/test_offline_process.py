"""The computing child: shared, and ended on time, on cancel and with its parent."""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import conductor
from conductor.errors import WorkerError
from conductor.values.messages import Completion, Delta, Message, Part, Request
from conductor.workers.offline.child import limit_memory
from conductor.workers.offline.experts import EXPERTS, OfflineExpert, offline_workers
from conductor.workers.offline.process import CALCULATOR, PASSED, Calculator
from conductor.workers.offline.task import Task

HARD = f"Factor {2**523 - 3**250}"


def request(query: str, instruction: str = "Solve it.") -> Request:
    parts = (Part(kind="query", text=query), Part(kind="instruction", text=instruction))
    return Request(messages=(Message(role="user", parts=parts),))


async def answered(query: str, calculator: Calculator = CALCULATOR) -> list[str]:
    return [line async for line in calculator.lines("mathematics", Task(query=query, instruction=""))]


def pid() -> int:
    assert CALCULATOR.child is not None
    return CALCULATOR.child.pid


def ends(process: int) -> bool:
    """Whether a process ends within five seconds: half the time after which a computation ends by itself."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


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
    assert declined.text.startswith("No answer: Words that I do not know: poem, trains.")
    assert declined.text.endswith("For anything else, add a model to the pool.")
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
    python.write_text(f"#!/bin/sh\n/usr/bin/env > '{reported}'\nexec cat\n")
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
    calculator = Calculator()
    await answered("1 + 1", calculator)
    calculator._end()
    found = dict(line.split("=", 1) for line in reported.read_text().splitlines())
    own_to_the_shell = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert found.keys() - own_to_the_shell <= set(PASSED) | {"PYTHONPATH"}
    assert "sk-marked" not in reported.read_text()
    assert (found["PATH"], found["LC_ALL"]) == (os.environ["PATH"], "C.UTF-8")
    assert found["PYTHONPATH"].split(os.pathsep) == [str(Path(conductor.__file__).parents[1]), str(tmp_path)]


async def begun() -> AsyncGenerator[str, None]:
    """The lines of a computation that has no end; the first is out."""
    lines = CALCULATOR.lines("mathematics", Task(query=HARD, instruction=""))
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
    assert ends(first)
    assert (await answered("1 + 1"))[-1] == "Answer: 2"
    stream = OfflineExpert("mathematics", name="m").stream(request(HARD))
    assert isinstance(await anext(stream), Delta)
    second = pid()
    await stream.aclose()  # type: ignore[attr-defined]
    assert second != first
    assert ends(second)


@pytest.mark.slow
async def test_cancelling_ends_the_child_in_the_middle_of_its_work() -> None:
    task = asyncio.create_task(rest(await begun()))
    first = pid()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ends(first)


@pytest.mark.slow
async def test_a_child_that_dies_is_a_worker_error() -> None:
    lines = await begun()
    os.kill(pid(), 9)
    with pytest.raises(WorkerError, match="ended unexpectedly"):
        await rest(lines)


@pytest.mark.slow
async def test_who_is_cancelled_before_its_turn_ends_no_other_computation() -> None:
    lines = await begun()
    first = pid()
    waiting = asyncio.create_task(answered("1 + 1"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    next_one = asyncio.ensure_future(anext(lines))
    await asyncio.sleep(0.05)
    assert not next_one.done()
    next_one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await next_one
    assert ends(first)


SCRIPT = """
import asyncio, sys
sys.path.insert(0, {root!r})
from conductor.workers.offline.process import CALCULATOR
from conductor.workers.offline.task import Task

async def last(query):
    async for line in CALCULATOR.lines("mathematics", Task(query, "")):
        print(line, flush=True)
    return line

CALCULATOR.start()
assert "sympy" not in sys.modules
asyncio.run(last("1 + 1"))
print(CALCULATOR.child.pid, flush=True)
asyncio.run(last(sys.argv[1]))
print(CALCULATOR.child.pid, flush=True)
"""


def started(folder: Path, query: str) -> "subprocess.Popen[str]":
    """A program in `folder` that starts the child, asks it 1 + 1, prints its process, and asks it `query`."""
    script = SCRIPT.format(root=str(Path(conductor.__file__).parents[1]))
    command = [sys.executable, "-W", "error", "-c", script, query]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


@pytest.mark.slow
def test_one_child_serves_every_loop_and_ends_with_the_program(
    tmp_path: Path,
) -> None:
    with started(tmp_path, "2 + 2") as program:
        printed, errors = program.communicate()
    lines = printed.splitlines()
    assert (program.returncode, errors) == (0, "")
    assert [line for line in lines if line.startswith("Answer")] == ["Answer: 2", "Answer: 4"]
    first, second = (int(line) for line in lines if line.isdigit())
    assert first == second
    assert ends(first)


@pytest.mark.slow
def test_the_child_ends_with_a_program_that_is_killed_in_the_middle_of_a_computation(tmp_path: Path) -> None:
    with started(tmp_path, HARD) as program:
        assert program.stdout is not None
        lines = iter(program.stdout)
        child = next(int(line) for line in lines if line.strip().isdigit())
        assert next(lines).startswith("Read as: ")
        program.kill()
        assert ends(child)


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
