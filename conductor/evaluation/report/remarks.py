"""The remarks on the figures of a table, in sentences: their unit, tests, and what they see.

Knows the table; draws nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from conductor.evaluation.evaluation_table import EvaluationTable, Looks
from conductor.evaluation.score import outage_words
from conductor.evaluation.statistics.differences import (
    DIFFERENCE,
    VARIANCE,
    difference_by,
    difference_seen,
    questions_needed,
)
from conductor.text.formatting import quantity

METHODS = (
    "Intervals are 95%: Wilson's for accuracies, Newcombe's for differences; with several answers per "
    "question, Wilson's at the effective number of questions, and Student's. Differences are paired "
    "by question; p is from an exact sign test (McNemar's with one answer per question)."
)
"""How the figures of a table are computed."""


_NAMED = 3
"""Planners that are named one by one."""


def remarks(table: EvaluationTable, name: Callable[[str], str] = str) -> tuple[str, ...]:
    """The sentences; `name` is how a planner is called where they stand."""
    return tuple(_remarks(table, name))


def _remarks(table: EvaluationTable, name: Callable[[str], str]) -> Iterator[str]:
    questions = max((row.questions for row in table.rows), default=0)
    if any(row.answers > row.questions for row in table.rows):
        yield (
            f"The answers to one question count as one share; intervals, differences and p are over "
            f"{quantity(questions, 'question')}."
        )
    if table.in_part:
        yield f"{quantity(table.in_part, 'more plan')} answered a part of the questions."
    yield from not_answered(table, name)
    yield from _partial_means(table)
    differences = [row.difference for row in table.rows]
    compared = sum(each is not None for each in differences)
    if compared > 1:
        yield f"p is adjusted over the {compared} comparisons of the table (Holm)."
    yield from _over_others(table, name)
    visible = difference_seen(differences)
    if table.looks is not None:
        yield from _sequential(table, table.looks)
    elif visible is not None:
        yield can_see(visible)


def not_answered(table: EvaluationTable, name: Callable[[str], str] = str) -> Iterator[str]:
    """How many questions outages left unanswered, and which outages."""
    rows = [row for row in table.rows if row.unanswered]
    for row in rows:
        of = sum(row.verdicts.values())
        yield f"{name(row.planner)}: {row.unanswered:,} of {of:,} not answered: {outage_words(row.outages)}."
    if rows:
        yield "No figure includes unanswered questions; `evaluate resume` asks them again."


def _partial_means(table: EvaluationTable) -> Iterator[str]:
    """What stands beside a mean that is not over all answers, or is no exact number."""
    means = [mean for row in table.rows for mean in row.means]
    if any(mean.part for mean in means):
        yield (
            'A mean with a note such as "(7 of 10)" covers only the answers with a known figure; the others '
            "may have taken more or less."
        )
    if any(mean.at_most for mean in means):
        yield "≤: at most so much, since the price of cached tokens is unknown."


def _sequential(table: EvaluationTable, looks: Looks) -> Iterator[str]:
    yield (
        "Sequential: p and the intervals of differences hold at every look (a confidence sequence by "
        "betting, Waudby-Smith and Ramdas 2024); the intervals of accuracies do not."
    )
    if table.decided and looks.answered < looks.questions:
        yield (
            f"Decided after {looks.answered:,} of {quantity(looks.questions, 'question')}: it saved about "
            f"{quantity(looks.calls, 'call')}."
        )


def can_see(difference: float) -> str:
    """Which difference of accuracies a table can show."""
    points = math.ceil(100 * difference)
    if points >= 100:
        return "There are too few questions to detect any difference."
    return f"This table can detect a difference of {quantity(points, 'point')} with 80% power."


def power(questions: int, *, comparisons: int = 1) -> str:
    """Before anything is paid: how many questions show a difference worth seeing, and what these can show."""
    needed = questions_needed(comparisons=comparisons)
    points = math.ceil(100 * difference_by(questions, comparisons=comparisons))
    return (
        f"{needed:,} questions detect a difference of {100 * DIFFERENCE:g} points with 80% power, if only "
        f"one planner is right on {100 * VARIANCE:g} of 100; {questions:,} detect {min(points, 100)} points."
    )


def power_of_trial(held_out: int, margin: float) -> str:
    """How many questions confirm a variant that changes nothing in accuracy."""
    return (
        f"{questions_needed(difference=margin):,} held-out questions confirm with 80% power a variant that "
        f"is as good within {100 * margin:g} points, if {100 * VARIANCE:g} of 100 answers change between "
        f"right and wrong; there are {held_out:,}."
    )


def _over_others(table: EvaluationTable, name: Callable[[str], str]) -> Iterator[str]:
    """Where differences are over other questions than the accuracies beside them."""
    first = table.rows[0] if table.rows else None
    texts = [
        (row, row.difference)
        for row in table.rows[1:]
        if row.difference and first and row.difference.questions < max(row.questions, first.questions)
    ]
    if not texts or first is None:
        return
    if len(texts) > _NAMED:
        yield (
            f"The accuracies of {len(texts)} planners are over other questions than that of "
            f"{name(first.planner)}; each difference is over the questions that both answered."
        )
        return
    for row, difference in texts:
        yield (
            f"{name(row.planner)}: the difference is over the {difference.questions:,} questions that both "
            f"answered; its accuracy is over {row.questions:,}, that of {name(first.planner)} over "
            f"{first.questions:,}."
        )
