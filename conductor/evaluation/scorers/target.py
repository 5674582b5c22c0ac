"""Checks that some answer could match a target, by the scorer of its own item. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.scorers import scorer_named
from conductor.evaluation.scorers.text import contains, exact, flexible, number
from conductor.text.equality.choice import LETTERS
from conductor.text.final_answer import ANSWER_LINE, final_answer

_TEXT: Mapping[str, Callable[[str, Item], Score]] = {
    "exact": exact,
    "contains": contains,
    "number": number,
    "flexible": flexible,
}


def check_target(item: Item) -> None:
    """Raise `DataError` where an answer that is the target, in a line of its own or in the form that is asked
    for, would not be right, or the plain answer behind `####`, with which GSM8K's solutions end; also for a
    scorer that does not exist. The scorers of other packages are not tried.
    """
    name = item.scored_by
    _ = scorer_named(name)
    for target in item.target:
        own = item.model_copy(update={"target": (target,)})
        before, marks, plain = target.rpartition("####")
        if not target.strip() or "\0" in target or target.startswith('="'):
            matched = False
        elif name == "contains" and not before.strip():
            matched = contains(target, own).right
        elif name in _TEXT:
            answers = (f"Answer: {target}", target, plain)
            matched = all(_TEXT[name](answer, own).right for answer in answers)
        elif name == "choice":
            letter = target.strip("().: ").upper()
            matched = len(letter) == 1 and letter in LETTERS[: len(item.choices or LETTERS)]
        elif name == "mathematics":
            labelled = marks or ANSWER_LINE.match(target)
            matched = not labelled and bool(final_answer(f"\\boxed{{{target}}}"))
        else:
            matched = name != "code" or _is_python(target)
        if not matched:
            raise DataError(
                f"no answer could be its target {target[:60]!r} by the scorer {name}: choose another scorer, "
                "or correct it"
            )


def _is_python(text: str) -> bool:
    try:
        compile(text, "tests", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
