"""Compares an answer with the accepted one, by the scorer of evaluations that the person chose.

Knows items and scorers; nothing of runs.
"""

from __future__ import annotations

from typing import get_args

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.scorers import score
from conductor.evaluation.scorers.latex_formula import is_formula
from conductor.evaluation.scorers.target import check_target
from conductor.values.accepted import Accepted, Check


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
