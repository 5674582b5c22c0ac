"""The scorer of formulas: whether two are the same, by math-verify in limited processes that stay warm.

Knows what is sent there; math-verify parses LaTeX and calls SymPy, which a hostile formula can keep busy: so
each answer has a time limit, and a process that exceeds it is ended, without a verdict. Words and letters it
always calls different: those are compared as texts first.
"""

from __future__ import annotations

import json
import re

from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.limited.command import python
from conductor.limited.supervisor import Limits
from conductor.limited.warm import WarmProcesses
from conductor.text.equality.same_answer import same
from conductor.text.final_answer import final_answer

LIMITS = Limits(seconds=60.0, memory=2 * 1024**3)
"""The seconds are those of one answer, on a busy machine."""

# Its own alarm ends one comparison; the limit holds for all of an answer's. The alarm counts seconds of the
# processor: a busy machine takes more by the clock for the same formula.
_IMPORTS = """
import json, logging, os, signal, sys
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
logging.disable(logging.CRITICAL)
from math_verify import parse, verify
from math_verify.errors import TimeoutException
signal.SIGALRM, signal.alarm = signal.SIGPROF, lambda seconds: signal.setitimer(signal.ITIMER_PROF, seconds)
"""

_SCRIPT = """
late = []
TimeoutException.__init__ = lambda self, *_: late.append(self)
for line in sys.stdin:
    asked = json.loads(line)
    late.clear()
    try:
        if "formula" in asked:
            # What is not understood comes back as the text alone.
            read = parse(asked["formula"], parsing_timeout=5)
            print(json.dumps(any(not isinstance(each, str) for each in read)), flush=True)
            continue
        answer, *targets = (
            parse(each, parsing_timeout=5) for each in (asked["answer"], *asked["targets"])
        )
        # A set and the inequality that describes it are the same, whichever is the target.
        same = any(
            verify(target, answer, timeout_seconds=5, allow_set_relation_comp=True) for target in targets
        )
        if late and not same:
            same = "late"
        elif not answer:
            same = None
    except Exception:
        same = None
    print(json.dumps(same), flush=True)
"""

_BASED = re.compile(r"[\dA-Z]+\s*_\s*\{?\s*(\d+)\s*\}?", re.IGNORECASE)
_WORDS = re.compile(r"\\(?:text|mbox)[a-z]*\s*\{[^{}]*\}|\\[A-Za-z]+")
_PROSE = re.compile(r"[^\W\d_]{2}\s+[^\W\d_]{2}")
_INLINE = re.compile(r"(?<!\\)\$[^$]+(?<!\\)\$|\\\((?:(?!\\\().)+?\\\)|\\\[(?:(?!\\\[).)+?\\\]", re.DOTALL)

COMMAND = python(_SCRIPT, first=_IMPORTS)

_PROCESSES = WarmProcesses(COMMAND, limits=LIMITS)


async def mathematics(response: str, item: Item) -> Score:
    """Whether the answer is the same formula as one of the targets. Raises as `WarmProcesses.ask`."""
    answer = final_answer(response)
    if not answer:
        return Score.no_answer(answer, "the response is empty, or declines to answer")
    if any(same(answer, target) for target in item.target):
        return Score.of(True, answer)
    if all(_other_base(answer, target) for target in item.target):
        return Score.of(False, answer, reason="the number is written in another base")
    if _PROSE.search(answer) and not re.search(r"[\d\\$=]", answer):
        return Score.no_answer(answer, "the answer is no formula")
    reply = await _PROCESSES.ask(process_line(answer, item))
    verdict = json.loads(reply) if reply else "lost"
    if verdict is None:
        return Score.no_answer(answer, "the answer is no formula")
    if isinstance(verdict, str):
        reason = "its comparison took too long" if verdict == "late" else "its comparison ended its process"
        return Score(verdict="unjudged", answer=answer[:2_000], reason=reason)
    return Score.of(verdict, answer)


def _other_base(answer: str, target: str) -> bool:
    """Whether both are numbers with their bases as subscripts, which math-verify leaves out, and differ in
    these.
    """
    one, other = (_BASED.fullmatch(_bare(text)) for text in (answer, target))
    return one is not None and other is not None and one[1] != other[1]


async def is_formula(text: str) -> bool:
    """Whether a target is mathematics that answers can be compared with.

    Raises as `WarmProcesses.ask`.
    """
    reply = await _PROCESSES.ask(json.dumps({"formula": _in_marks(text)}))
    return bool(reply and json.loads(reply))


def process_line(answer: str, item: Item) -> str:
    """The line that a process is sent."""
    return json.dumps({"answer": _in_marks(answer), "targets": [_in_marks(each) for each in item.target]})


def _in_marks(text: str) -> str:
    """Prose as it is, in which math-verify finds the formulas; else the text as one formula."""
    bare = _bare(text)
    in_prose = bare == text.strip() and (_INLINE.search(text) or _PROSE.search(_WORDS.sub("", text)))
    return text.replace("\\$", "") if in_prose else f"${bare}$"


def _bare(formula: str) -> str:
    """The formula without the marks of mathematics around it."""
    text = formula.strip()
    for opening, closing in (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")):
        inner = text[len(opening) : -len(closing)]
        if text == f"{opening}{inner}{closing}" and opening not in inner:
            return inner.strip()
    return text
