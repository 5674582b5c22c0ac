"""The facts expert: what the table of countries holds, and visible answers held against it.

A fact is stated as a line `Capital of France: Paris`. What the grammar of questions does not read is refused;
nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from conductor.workers.offline.countries import PROPERTIES, TITLES, key_of, named_countries
from conductor.workers.offline.questions.reply import reply
from conductor.workers.offline.task import Refusal, Task

CANNOT = Refusal(
    "I am the built-in facts expert, not a language model: I know the capital, continent, currency, "
    "official languages, population, area and GDP of countries, and found no such question here. Name a "
    "country, or give this step to a language model."
)

_ROLE = re.compile(r" \([^()]*\)")
"""The addition to a name, as which of several capitals it is; an answer is right without it."""

_PARTED = re.compile(r"[,;] ")
_WANTED = re.compile(r"\b(?:compare|contrast|between|how do(?:es)?) (?:the )?([\w, ]+?) of ", re.IGNORECASE)
"""The properties by which a query compares countries, where it names them first: compare the capitals of."""

_COMPARE = re.compile(r"compare\b", re.IGNORECASE)


def facts(task: Task) -> Sequence[str]:
    """The answer's lines."""
    if wanted := _WANTED.search(task.query):
        by = f"comparison by {wanted[1]} needs"
        task = replace(task, instruction=task.instruction.replace("comparison needs", by))
    return reply("facts", task) or [CANNOT]


def fact_check(task: Task) -> list[str] | None:
    """Each visible answer held against the table, unless it is from there; None: the question is not about
    its facts.
    """
    asked = _COMPARE.sub("State the facts of", task.query, count=1)
    expected = facts(Task(query=asked, instruction=""))
    if isinstance(expected[-1], Refusal) or not task.answers:
        return None
    *stated, answered = expected
    answer = right = answered.removeprefix("Answer: ")
    lines = [f"In the table: {line}" for line in stated]
    values = _key_values(stated, right)
    for each in task.answers:
        response = key_of(each.response)
        complete = all(key_of(value) in response for value in values)
        if each.response.splitlines() == list(expected):
            lines.append(f"Not checked: {each.source} answers {each.answer}, from the same table.")
            answer = f"{each.answer} (not checked)"
        elif complete or _repeats_table(each.response):
            lines.append(f"Verified: {each.source} answers the same.")
            answer = each.answer if complete else answer
        else:
            lines.append(f"Correction: {each.source} answers {each.answer}. The right answer is {right}.")
    return [*lines, f"Answer: {answer}"]


def _repeats_table(response: str) -> bool:
    """Whether a response states facts, and the table holds all of them."""
    stated = [line for line in response.splitlines() if line.startswith(tuple(TITLES.values()))]
    held = {country.line(of) for country in named_countries(response) for of in PROPERTIES}
    return bool(stated) and held.issuperset(stated)


def _key_values(stated: Sequence[str], right: str) -> list[str]:
    facts = (_ROLE.sub("", line.split(": ", 1)[1]) for line in stated if " of " in line)
    values = [part for fact in facts for part in _PARTED.split(fact)]
    return values or right.split(", ")
