"""A worker that runs the newest program of what it sees and answers what that prints.

Knows the worker protocol; `limited` isolates the program. It calls no model, and its card has the kind
"offline".
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from conductor.limited.command import Ended, run_program
from conductor.text.final_answer import labelled_answer
from conductor.text.program_text import program_in
from conductor.text.thoughts import answer_in_full
from conductor.values.messages import Completion, Delta, Request
from conductor.workers.protocol import WorkerCard
from conductor.workers.task import Refusal, Task

MODEL = "python"
"""The `model` of its card, by which rules find it in a pool."""
NO_PROGRAM = Refusal(
    "I run programs, and found none here. Let this step see one that writes a program in Python, in a fence."
)
_PRINTS = re.compile(r"^[ \t]*print\(", re.MULTILINE)


class PythonWorker:
    """The worker called `name`. See `Worker` for the protocol."""

    def __init__(self, name: str = "python") -> None:
        strengths = (
            "runs the Python program that an earlier step wrote and answers what it prints; reads no words"
        )
        self.card = WorkerCard(name=name, kind="offline", strengths=strengths, model=MODEL)

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        """See `Worker.stream`. A task is declined whose program is missing, fails or prints nothing."""
        program = newest_program(Task.of(request))
        # Without one an empty program runs, so that the doctor sees whether the system isolates any.
        ended = await run_program(program or "")
        text = NO_PROGRAM if program is None else program_answer(ended)
        yield Delta(text=text)
        yield Completion(text=text, finish_reason="refused" if isinstance(text, Refusal) else "stop")


def newest_program(task: Task) -> str | None:
    """The program of the last visible step that has one, else of the instruction, else of the query.

    A text without a fence, tag or field is a program where one of its lines begins with `print(`.
    """
    for text in (*(seen.response for seen in reversed(task.seen)), task.instruction, task.query):
        answer = answer_in_full(text)
        program = program_in(answer)
        if program.strip() != answer.strip() or _PRINTS.search(answer):
            return program
    return None


def program_answer(ended: Ended) -> str:
    """What a program printed, its last line as the answer; a `Refusal` where it failed or printed nothing."""
    *lines, last = ended.output.strip().splitlines() or [""]
    if why := ended.stopped or (ended.code and f"exit code {ended.code}"):
        return Refusal(f"The program failed ({why}){last and f': {last[:300]}'}")
    if not last:
        return Refusal("The program printed nothing. Have it print the answer.")
    return "\n".join([*lines, last if labelled_answer(last) else f"Answer: {last}"])
