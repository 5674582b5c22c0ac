"""A plan for a prompt that asks for one: made of the prompt's own numbered pool, never of insight.

Reads the pool, the limit and the way access is written from the prompt. Knows the three lists by name;
judges no plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from conductor.fake_openai.text import prose

_LABELS = ("model_id", "subtasks", "access_list")
_WORKER = re.compile(r"[ \t]*(?:[-*][ \t]+)?(?:model|worker|agent)[ \t]+([0-9]{1,3})\b", re.I)
_LIMIT = re.compile(
    r"(?:at most|up to|no more than|maximum(?: of)?|limit(?: of| is)?:?)[ ]"
    r"([0-9]{1,2}|one|two|three|four|five)\b",
    re.I,
)
_NUMBERS = ("one", "two", "three", "four", "five")
_KEPT = re.compile(r'model_id = \[\]|"steps": \[\]')
_ACCESS = re.compile(r"access_list\W{0,3}\s*[=:]\s*(\[.*)", re.I)

_DIRECT = (("Answer the question and give the reasons in short.", ()),)
_ATTEMPTS = (
    ("Work on the question on your own and give your answer with its reasons.", ()),
    ("Work on the question by another way than the obvious one and give your answer.", ()),
    ("Compare the answers that you see, weigh their reasons, and write the best one.", (0, 1)),
)
_CHECKED = (
    ("Plan how the question is to be answered; do not answer it yet.", ()),
    ("Carry out the plan that you see and give the result.", (0,)),
    ("Check the result that you see against the plan, mend it, and write the answer.", (0, 1)),
)
_SHAPES: tuple[tuple[tuple[str, tuple[int, ...]], ...], ...] = (_DIRECT, _ATTEMPTS, _CHECKED)


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step: the worker's number, what to do, and what to see, written as the prompt writes it."""

    worker: int
    instruction: str
    access: list[int] | list[str]


Plan = tuple[PlanStep, ...]


def asks_for_plan(prompt: str) -> bool:
    """Whether a prompt names the three lists and a numbered pool."""
    return all(label in prompt for label in _LABELS) and _pool(prompt) > 0


def plan(prompt: str, source: Random) -> Plan:
    """Steps on the prompt's pool (three workers where it shows none), within the limit it states.

    Where access is not written as "all", step i runs on worker i, so that a number means the same whether
    it counts steps or workers. Where the prompt says how to keep the answer of an earlier round, there may
    be no steps.
    """
    if _KEPT.search(prompt) and source.random() < 0.5:
        return ()
    pool = _pool(prompt) or 3
    everything = _writes_all(prompt)
    most = min(_limit(prompt), pool)
    shape = source.choice([shape for shape in _SHAPES if len(shape) <= most])
    workers = source.sample(range(pool), len(shape)) if everything else range(len(shape))
    return tuple(
        PlanStep(worker, instruction, (["all"] if access else []) if everything else list(access))
        for worker, (instruction, access) in zip(workers, shape, strict=True)
    )


def as_lists(plan: Plan) -> str:
    """The plan as a Conductor writes it, on three lines."""
    lists = (
        [step.worker for step in plan],
        [step.instruction for step in plan],
        [step.access for step in plan],
    )
    return "\n".join(
        f"{label} = {json.dumps(entries)}" for label, entries in zip(_LABELS, lists, strict=True)
    )


def reasoned(lists: str, source: Random) -> str:
    """Three lists after some reasoning aloud."""
    return f"Simulated reasoning: {prose(source, 14)}\n\n{lists}"


def as_objects(plan: Plan) -> dict[str, Any]:
    """The plan under every key that a schema of plans may have; the schema chooses among them."""
    steps = [
        {
            **dict.fromkeys(("instruction", "subtask"), step.instruction),
            **dict.fromkeys(("worker", "model_id", "model", "agent"), step.worker),
            **dict.fromkeys(("access", "access_list"), step.access),
        }
        for step in plan
    ]
    return {
        "steps": steps,
        **dict.fromkeys(("reasoning", "thought", "why"), "Simulated reasoning, which weighed nothing."),
        "model_id": [step.worker for step in plan],
        "subtasks": [step.instruction for step in plan],
        "access_list": [step.access for step in plan],
    }


def _pool(prompt: str) -> int:
    """How many workers the prompt numbers, from 0 on, a line each."""
    count = 0
    for line in prompt.splitlines():
        worker = _WORKER.match(line)
        if worker is not None and int(worker[1]) == count:
            count += 1
        elif count:
            break
    return count


def _limit(prompt: str) -> int:
    found = _LIMIT.search(prompt)
    if found is None:
        return len(_CHECKED)
    word = found[1].casefold()
    return max(1, _NUMBERS.index(word) + 1 if word in _NUMBERS else int(word))


def _writes_all(prompt: str) -> bool:
    """Whether the prompt's examples read "all"; without examples, whether it names the word at all."""
    examples: Sequence[str] = _ACCESS.findall(prompt)
    return any('"all"' in example for example in examples) if examples else '"all"' in prompt
