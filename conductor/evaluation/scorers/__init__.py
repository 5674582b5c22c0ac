"""How a response is compared with what is right: each kind of scorer a file, all with the same result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conductor.errors import DataError
from conductor.evaluation.items import Item, ScorerName
from conductor.evaluation.score import Score
from conductor.evaluation.scorers.code import code
from conductor.evaluation.scorers.mathematics import mathematics
from conductor.evaluation.scorers.text import choice, contains, exact, flexible, number

_TEXT: Mapping[ScorerName, Callable[[str, Item], Score]] = {
    "exact": exact,
    "contains": contains,
    "number": number,
    "choice": choice,
    "flexible": flexible,
}


async def score(response: str, item: Item, *, allow_code: bool = False) -> Score:
    """The score of a response by the item's scorer.

    Raises `DataError` where programs would have to run and `allow_code` is not set, for tests that are no
    program, and for an item that a judge scores, which takes a call (`judge.py`); `WorkerError` where this
    system has no limited processes.
    """
    name = item.scored_by
    if name in _TEXT:
        return _TEXT[name](response, item)
    if name == "mathematics":
        return await mathematics(response, item)
    if name == "judge":
        raise DataError(f"The item {item.id!r} is scored by a judge, which only an evaluation calls.")
    if not allow_code:
        raise DataError(
            f"The item {item.id!r} is scored by running the program that a model wrote; allow it with "
            "--allow-code."
        )
    return await code(response, item)
