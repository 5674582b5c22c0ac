"""Scorers compare a response with what is right: each kind a file, all with the same result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from conductor.errors import DataError, LimitedProcessError
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.scorers.latex_formula import mathematics
from conductor.evaluation.scorers.program import code
from conductor.evaluation.scorers.text import choice, contains, exact, flexible, number
from conductor.plugins import Registry, fault_of

Scorer = Callable[[str, Item], Score | Awaitable[Score]]
"""Compares a response with what is right for the item."""


def _judge(_response: str, item: Item) -> Score:
    raise DataError(f"The item {item.id!r} is scored by a judge, which only an evaluation calls.")


SCORERS: Registry[Scorer] = Registry(
    "conductor.scorers",
    {
        "exact": exact,
        "contains": contains,
        "number": number,
        "choice": choice,
        "mathematics": mathematics,
        "flexible": flexible,
        "code": code,
        "judge": _judge,
    },
    check=lambda kind: None if callable(kind) else "it is not a function of a response and an item",
    error=DataError,
)


async def score(response: str, item: Item, *, allow_code: bool = False) -> Score:
    """The score of a response by the item's scorer.

    It is `unjudged` if the process that scores could not run, or the scorer of another package raised an
    error. Raises `DataError` for a scorer that does not exist, where programs would have to run and
    `allow_code` is not set, for tests that are no program, and for an item that a judge scores, which takes a
    call (`judge.py`); `WorkerError` where this system has no limited processes.
    """
    name = item.scored_by
    if name == "code" and not allow_code:
        raise DataError(
            f"The item {item.id!r} is scored by running the program that a model wrote; allow it with "
            "--allow-code."
        )
    scorer = scorer_named(name)
    try:
        score = scorer(response, item)
        return Score.model_validate(score if isinstance(score, Score) else await score)
    except LimitedProcessError as error:
        reason = str(error)
    except Exception as error:
        if name in SCORERS.built_in:
            raise
        reason = f"the scorer {name} failed: {fault_of(error)}"
    return Score(verdict="unjudged", answer=response.strip()[-2_000:], reason=reason)


def scorer_named(name: str) -> Scorer:
    """Raises `DataError` if there is no such scorer, or it cannot be used."""
    if (scorer := SCORERS.find(name)) is not None:
        return scorer
    raise DataError(f"there is no scorer {name[:200]!r}; choose one of {', '.join(SCORERS)}")
