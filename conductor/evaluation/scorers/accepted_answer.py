"""Compares an answer with the accepted one, by the scorer of evaluations that the person chose; refuses a
target that no answer could match.

Knows items and scorers; nothing of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.scorers import score, scorer_named
from conductor.evaluation.scorers.latex_formula import is_formula
from conductor.evaluation.scorers.text import contains, exact, flexible, number
from conductor.text.equality.choice import LETTERS
from conductor.text.final_answer import ANSWER_LINE, final_answer
from conductor.values.accepted import Accepted, Check

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


async def score_answer(answer: str, accepted: Accepted) -> Score:
    """The score of an answer. Raises `WorkerError` where formulas cannot be compared on this system."""
    return await score(answer, _item(accepted))


async def check_accepted(accepted: Accepted) -> None:
    """Raise `DataError` where no answer could be right, see `check_target`, and for what is no formula.

    Raises `WorkerError` where formulas cannot be read on this system.
    """
    for target in accepted.target:
        if accepted.check == "mathematics" and not await is_formula(target):
            raise DataError(f"{target[:60]!r} cannot be read as mathematics; write one such as x^2 + 1.")
        try:
            check_target(_item(accepted.model_copy(update={"target": (target,)})))
        except DataError as error:
            raise DataError(
                f"No answer can be {target[:60]!r} by the check {accepted.check!r}; choose another check, "
                "such as contains, or another accepted answer."
            ) from error


def accepted_of(item: Item) -> Accepted | None:
    """What is right for an item, as it was asked; None if it takes a judge or a program to decide."""
    check: Check | None = next((name for name in get_args(Check) if name == item.scored_by), None)
    return None if check is None else Accepted(target=item.target, check=check, choices=item.choices)


def _item(accepted: Accepted) -> Item:
    return Item(
        id="answer", input="answer", target=accepted.target, choices=accepted.choices, scorer=accepted.check
    )
