"""The calculator as a worker: which text of a task is a calculation, and how its lines become an answer.

Knows the worker protocol. It calls no model, and its card has the kind "offline"; usage is unknown, because
nothing is cut into tokens.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from fractions import Fraction

from conductor.errors import FormatError, QueryError
from conductor.text.equality.amount import number_in
from conductor.values.messages import Completion, Delta, Request
from conductor.workers.calculator.arithmetic import number_text
from conductor.workers.calculator.formula import formula_in, value_of
from conductor.workers.calculator.measures import converted, dated
from conductor.workers.protocol import WorkerCard
from conductor.workers.task import Refusal, Task

MODEL = "calculator"
"""The `model` of its card, by which rules find it in a pool."""
CANNOT = Refusal(
    "I am a calculator, not a language model, and found no calculation here. I compute formulas, percents, "
    "units and dates: write the formula itself, or give this step to a language model."
)
_PREVIOUS = re.compile(
    r"(?i)\b(?:the )?(?:(?:result|answer) of (?:the previous step|step \d{1,3})|"
    r"(?:previous|visible|last) (?:result|answer|number))\b"
)


class Calculator:
    """The worker called `name`. See `Worker` for the protocol."""

    def __init__(self, name: str = "calculator") -> None:
        strengths = "computes exactly: arithmetic, percent, units, dates; reads formulas, no stories"
        self.card = WorkerCard(name=name, kind="offline", strengths=strengths, model=MODEL)

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        """See `Worker.stream`. What is no calculation is declined."""
        lines = await asyncio.to_thread(calculated, Task.of(request))
        text = "\n".join(lines)
        yield Delta(text=text)
        yield Completion(text=text, finish_reason="refused" if isinstance(lines[-1], Refusal) else "stop")


def calculated(task: Task) -> Sequence[str]:
    """The lines of the answer: to the instruction if it is a calculation, else to the query."""
    instruction = task.instruction
    if task.answers and number_in(number := task.answers[-1].answer) is not None:
        instruction = _PREVIOUS.sub(f"({number})", instruction)
    try:
        return calculation(instruction) or calculation(task.query) or [CANNOT]
    except (FormatError, QueryError) as error:
        return [Refusal(str(error))]


def is_calculation(text: str) -> bool:
    """Whether a text as a whole asks for a calculation, also for one that has no result."""
    try:
        return calculation(text) is not None
    except (FormatError, QueryError):
        return True


def calculation(text: str) -> Sequence[str] | None:
    """The lines of a calculation; None for a text that is none.

    Raises `FormatError` for one without a result, and `QueryError` for one that is too large.
    """
    text = " ".join(text[:10_000].split())
    if lines := (dated(text) or converted(text)) if len(text) <= 200 else None:
        return lines
    if (formula := formula_in(text)) is None:
        return None
    value = value_of(formula)
    result = number_text(value)
    lines = [f"{formula} = {'about ' if isinstance(value, float) else ''}{result}"]
    if isinstance(value, Fraction) and "/" in result:
        lines.append(f"As a decimal: about {Decimal(value.numerator) / Decimal(value.denominator):.10g}")
    return [*lines, f"Answer: {result}"]
