"""A worker runs the newest program that it sees, answers what that prints, and declines the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.errors import WorkerError
from conductor.limited import supervisor
from conductor.limited.command import run_program
from conductor.limited.supervisor import Limits
from conductor.values.messages import Completion, Message, Part, Request
from conductor.workers import python_worker
from conductor.workers.python_worker import PythonWorker, newest_program
from conductor.workers.task import Task
from tests.support.processes.limited_supervisor import NO_NAMESPACES, changed_isolation, changed_supervisor


def request(query: str, instruction: str = "Run the program.", *seen: str) -> Request:
    responses = [Part("response", text, step, "alpha") for step, text in enumerate(seen)]
    parts = (Part("query", query), *responses, Part("instruction", instruction))
    return Request(messages=(Message(role="user", parts=parts),))


def fenced(program: str) -> str:
    return f"Here it is.\n```python\n{program}\n```\nIt prints the answer."


async def completion(sent: Request) -> Completion:
    *_, last = [item async for item in PythonWorker().stream(sent)]
    assert isinstance(last, Completion)
    return last


@pytest.mark.parametrize(
    ("sent", "program"),
    [
        (request("Why?", "Run it.", fenced("print(1)")), "print(1)"),
        (request("Why?", "Run it.", fenced("print(1)"), "No program.", fenced("print(2)")), "print(2)"),
        (request("Why?", "Run it.", fenced("print(1)"), "42"), "print(1)"),
        (request("Why?", "Run it.", fenced("print(1)\n```\n```python\nprint(2)")), "print(2)"),
        (request("Why?", "Run it.", "a = 1\nprint(a)"), "a = 1\nprint(a)"),
        (request("Why?", "Run it.", "<think>\nprint(1)\n</think>\nIt is 1."), None),
        (request(fenced("print(1)"), fenced("print(2)")), "print(2)"),
        (request(fenced("print(1)"), "Run it."), "print(1)"),
        (request("What does print(1) print?", "Use print(1)."), None),
    ],
)
def test_the_newest_program_is_the_one_seen_last_else_that_of_the_instruction_else_of_the_query(
    sent: Request, program: str | None
) -> None:
    newest = newest_program(Task.of(sent))
    assert (newest and newest.strip()) == program


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("print(6 * 7)", "Answer: 42"),
        ("print('so:')\nprint(42)\nprint()", "so:\nAnswer: 42"),
        ("print('Answer: 42')", "Answer: 42"),
        ("1 / 0", "No answer: The program failed (exit code 1): ZeroDivisionError: division by zero"),
        ("print(42", "No answer: The program failed (exit code 1): SyntaxError: '(' was never closed"),
        ("print(42)\nraise SystemExit(3)", "No answer: The program failed (exit code 3): 42"),
        ("raise SystemExit(3)", "No answer: The program failed (exit code 3)"),
        ("x = 42", "No answer: The program printed nothing. Have it print the answer."),
        ("while True: pass", "No answer: The program failed (stopped after 0.3 s)"),
    ],
)
async def test_the_answer_is_what_the_program_prints_and_a_failure_is_declined_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, program: str, text: str
) -> None:
    monkeypatch.setattr(python_worker, "run_program", lambda script: run_program(script, Limits(seconds=0.3)))
    last = await completion(request("Why?", "Run it.", fenced(program)))
    assert last.text.startswith(text)
    assert last.finish_reason == ("refused" if text.startswith("No answer: ") else "stop")


@pytest.mark.slow
async def test_a_task_without_a_program_is_declined() -> None:
    last = await completion(request("What is 6 * 7?", "Answer the question.", "42"))
    assert last.finish_reason == "refused"
    assert "found none here" in last.text


@pytest.mark.slow
@pytest.mark.parametrize("seen", [fenced("print(1)"), "no program"])
async def test_where_the_system_isolates_nothing_every_task_fails_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: str
) -> None:
    lines = NO_NAMESPACES + changed_isolation(tmp_path, _LANDLOCK="10_000")
    monkeypatch.setattr(supervisor, "__file__", changed_supervisor(tmp_path, lines))
    with pytest.raises(WorkerError, match="this system cannot isolate them"):
        await completion(request("Why?", "Run it.", seen))
