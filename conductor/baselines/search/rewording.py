"""Instructions that a model writes for a search: what it is sent, and how its answer is read. Pure.

What it writes is bounded, and is an instruction like any other: it helps where plans with it are right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from conductor.values.messages import Message, Part, Request
from conductor.workflow.model import Workflow

_MOST = 6
_LENGTHS = range(4, 301)
"""Characters of an instruction."""

_NUMBER = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.):])\s+")

_TASK = """\
A pool of workers answers questions by workflows: each step has a worker and an instruction, and may read \
the answers of earlier steps. The plan below does not answer its question reliably. Write {most} other \
instructions for single steps that could be part of a better plan for questions of this kind: what to find, \
to compute or to check first, or what to do with the answer that a step reads. Name nothing that is in this \
question alone.

Workers:
{workers}

Question: {question}

Plan:
{steps}

Write one instruction a line, short sentences, and nothing else."""


def rewording_request(question: str, workflow: Workflow, strengths: Mapping[str, str]) -> Request:
    """What a model is sent to write instructions for steps that answer the question better."""
    text = _TASK.format(
        most=_MOST,
        workers="\n".join(f"- {name}: {text}" for name, text in strengths.items()),
        question=question,
        steps="\n".join(
            f"{at}. {step.worker}: {step.instruction}" for at, step in enumerate(workflow.steps, start=1)
        ),
    )
    return Request(messages=(Message("user", (Part("instruction", text),)),))


def instructions_in(text: str) -> tuple[str, ...]:
    """The instructions of an answer, a line each, without numbers, bullets and quotes; maybe none."""
    lines = (_NUMBER.sub("", line.strip()).strip("\"'“”` ") for line in text[:10_000].splitlines())
    return tuple(dict.fromkeys(line for line in lines if len(line) in _LENGTHS))[:_MOST]
