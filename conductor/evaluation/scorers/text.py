"""Scorers that compare texts: exact, by a part, number or choice, and RLPR's flexible match of amounts.

Pure. Each takes a response and its item; `conductor.text.final_answer` reads the answer of a response, and
`conductor.text.equality` has the rules by which it is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.text.equality.amount import amount_in
from conductor.text.equality.choice import choices_in, letters_in, same_choice
from conductor.text.equality.same_answer import same, stands_in
from conductor.text.final_answer import final_answer

FLEXIBLE_TOLERANCE = Fraction(1, 100)
"""How far, relative to the target, a number may be for the flexible scorer."""


def exact(response: str, item: Item) -> Score:
    """Whether the answer is one of the targets: numbers by value, words without case and punctuation."""
    answer = final_answer(response)
    if not answer:
        return _nothing()
    return Score.of(any(_is(answer, target, item) for target in item.target), answer)


def contains(response: str, item: Item) -> Score:
    """Whether a target stands anywhere in the response, as whole words without case and not straight after
    "not" or the like; a number as a whole one.

    A response that declines to answer contains nothing.
    """
    answer = final_answer(response)
    if not answer:
        return _nothing()
    return Score.of(any(stands_in(target, response) for target in item.target), answer)


def number(response: str, item: Item) -> Score:
    """Whether the one number of the answer is a target's, in no other unit, whatever words stand around it.

    An answer with several numbers has none, unless one number follows an equals sign, "is" or the like.
    """
    answer = final_answer(response)
    amount = amount_in(answer)
    if amount is None:
        return Score.no_answer(answer, "the answer holds no single number")
    targets = (amount_in(target) for target in item.target)
    right = any(each and each.value == amount.value and each.agrees_with(amount) for each in targets)
    return Score.of(right, answer)


def choice(response: str, item: Item) -> Score:
    """Whether the answer names the right choice: by its letter, or by its whole text, see `letters_in`."""
    answer = final_answer(response)
    letters = letters_in(response, _choices(item))
    if not letters:
        return Score.no_answer(answer, "the answer names no choice")
    if len(letters) > 1:
        return Score.no_answer(answer, "the answer names several choices")
    return Score.of(letters in {target.strip("().: ").upper() for target in item.target}, answer)


def flexible(response: str, item: Item) -> Score:
    """RLPR's match: the words, else one number within a hundredth of the target's, in no other unit."""
    answer = final_answer(response)
    if not answer:
        return _nothing()
    amount = amount_in(answer)
    for target in item.target:
        if _is(answer, target, item):
            return Score.of(True, answer)
        accepted = amount_in(target)
        if amount is None or accepted is None or not amount.agrees_with(accepted):
            continue
        if abs(amount.value - accepted.value) <= abs(accepted.value) * FLEXIBLE_TOLERANCE:
            reason = "" if amount.value == accepted.value else "within 1% of the target"
            return Score.of(True, answer, reason=reason)
    return Score.of(False, answer)


def _is(answer: str, target: str, item: Item) -> bool:
    return same(answer, target) or same_choice(answer, target, _choices(item))


def _choices(item: Item) -> Sequence[str]:
    return item.choices or choices_in(item.input)


def _nothing() -> Score:
    return Score.no_answer("", "the response is empty, or declines to answer")
