"""Questions that have an answer here, near one that has none."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

from conductor.runs.state import RunState

SHOWN = 3
MAX_READ = 600
"""Characters of a question that are compared."""

_COMMON = frozenset(
    "a an and are at be by can do does for from how i if in is it its many much my of on or that the this to "
    "was what when which who will with you".split()
)


@cache
def examples() -> tuple[str, ...]:
    """The questions that are offered, by topic."""
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


def nearby(question: str) -> tuple[str, ...]:
    """The `SHOWN` examples that share most words with a question, rare words first; none of them twice."""
    asked = _words(question[:MAX_READ])
    uses = Counter(word for each in examples() for word in _words(each))
    shared = {each: sum(1 / uses[word] for word in asked & _words(each)) for each in examples()}
    best = sorted(examples(), key=lambda each: -shared[each])
    if not any(shared.values()):
        best = [best[0], best[16], best[34]]  # One calculation, one story, one fact.
    return tuple(best[:SHOWN])


def offered(run: RunState) -> tuple[str, ...]:
    """The questions to offer after a run in which a built-in expert had no answer; none after any other."""
    if run.status != "finished" or run.answered or run.answer_step is None:
        return ()
    return nearby(run.query) if run.steps[run.answer_step].worker_kind == "offline" else ()


def _words(text: str) -> frozenset[str]:
    """The words that carry meaning, in lower case and without a plural s."""
    found = (word.removesuffix("s") for word in re.findall(r"[^\W\d_]+|[%$€]", text.lower()))
    return frozenset(found) - _COMMON
