"""The scorer of formulas: whether two are the same, by math-verify in limited processes that stay warm.

Knows what is sent there; math-verify parses LaTeX and calls SymPy, which a hostile formula can keep busy: so
each answer has a time limit, and a process that exceeds it is ended. Words and letters it always calls
different: those are compared as texts first.
"""

from __future__ import annotations

import json
import sys

from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.scorers.supervisor import Limits
from conductor.evaluation.scorers.warm import WarmProcesses
from conductor.text.final_answer import comparable, final_answer

LIMITS = Limits(seconds=20.0, memory=2 * 1024**3)
"""The seconds are those of one answer."""

# Its own alarm ends one comparison; the limit holds for all of an answer's.
_SCRIPT = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from math_verify import parse, verify
for line in sys.stdin:
    asked = json.loads(line)
    try:
        if "formula" in asked:
            # What is not understood comes back as the text alone.
            read = parse(f"${asked['formula']}$", parsing_timeout=5)
            print(json.dumps(any(not isinstance(each, str) for each in read)), flush=True)
            continue
        answer, *targets = (
            parse(f"${each}$", parsing_timeout=5) for each in (asked["answer"], *asked["targets"])
        )
        same = any(verify(target, answer, timeout_seconds=5) for target in targets)
    except Exception:
        same = None
    print(json.dumps(same), flush=True)
"""

COMMAND = (sys.executable, "-c", _SCRIPT)

_PROCESSES = WarmProcesses(COMMAND, limits=LIMITS)


async def mathematics(response: str, item: Item) -> Score:
    """Whether the answer is the same formula as one of the targets."""
    answer = final_answer(response)
    if comparable(answer) in {comparable(target) for target in item.target}:
        return Score.of(bool(answer), answer)
    if not answer:
        return Score.of(False, answer)
    found = await _PROCESSES.ask(asked_of(answer, item))
    if found is None:
        return Score.of(False, answer, reason=f"the comparison took more than {LIMITS.seconds:g} s")
    same = json.loads(found) if found else None
    if same is None:
        return Score.of(False, answer, reason="the answer is no formula")
    return Score.of(same, answer)


async def is_formula(text: str) -> bool:
    """Whether a target is mathematics that answers can be compared with.

    Raises `WorkerError` where this system has no limited processes.
    """
    found = await _PROCESSES.ask(json.dumps({"formula": _bare(text)}))
    return bool(found and json.loads(found))


def asked_of(answer: str, item: Item) -> str:
    """The line that a process is sent."""
    return json.dumps({"answer": _bare(answer), "targets": [_bare(target) for target in item.target]})


def _bare(formula: str) -> str:
    """The formula without the marks of mathematics around it."""
    text = formula.strip()
    for opening, closing in (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")):
        if text.startswith(opening) and text.endswith(closing) and len(text) >= len(opening) + len(closing):
            return text[len(opening) : -len(closing)].strip()
    return text
