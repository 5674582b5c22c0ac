"""The scorer of formulas: whether two are the same, by math-verify in a limited process.

Knows what is sent there; math-verify parses LaTeX and calls SymPy, which a hostile formula can keep busy: so
it has a time limit and is ended by its supervisor. Words and letters it always calls different: those are
compared as texts first.
"""

from __future__ import annotations

import json
import sys

from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.scorers.limited import limited
from conductor.evaluation.scorers.supervisor import Limits
from conductor.text.final_answer import comparable, final_answer

LIMITS = Limits(seconds=20.0, memory=2 * 1024**3)

# Its own alarm ends one comparison; the supervisor's limit holds for all of it.
_SCRIPT = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from math_verify import parse, verify
asked = json.load(sys.stdin)
answer, *targets = (parse(f"${each}$", parsing_timeout=5) for each in (asked["answer"], *asked["targets"]))
print(json.dumps([verify(target, answer, timeout_seconds=5) for target in targets]))
"""


async def mathematics(response: str, item: Item) -> Score:
    """Whether the answer is the same formula as one of the targets."""
    answer = final_answer(response)
    if comparable(answer) in {comparable(target) for target in item.target}:
        return Score.of(True, answer)
    if not answer:
        return Score.of(False, answer)
    sent = json.dumps({"answer": _bare(answer), "targets": [_bare(target) for target in item.target]})
    ended = await limited((sys.executable, "-c", _SCRIPT), sent=sent, limits=LIMITS)
    if ended.code is None:
        return Score.of(False, answer, reason=f"the comparison took more than {LIMITS.seconds:g} s")
    try:
        found = json.loads(ended.output.strip().rpartition("\n")[2])
    except ValueError:
        return Score.of(False, answer, reason="the answer is no formula")
    return Score.of(any(found), answer)


def _bare(formula: str) -> str:
    """The formula without the marks of mathematics around it."""
    text = formula.strip()
    for opening, closing in (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")):
        if text.startswith(opening) and text.endswith(closing) and len(text) >= len(opening) + len(closing):
            return text[len(opening) : -len(closing)].strip()
    return text
