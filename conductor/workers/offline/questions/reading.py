"""A question read whole by the grammar: every reading of it, and the one answer that they share.

Knows which module knows what each of its rules means. A word that no rule takes, or readings
with different answers, leave the question without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from itertools import islice, product
from typing import Any, Literal

from lark import Token, Tree
from lark.exceptions import LarkError

from conductor.workers.offline.questions import (
    calendar_rules,
    chances,
    counting,
    figures,
    nations,
    numbers,
    stories,
    texts,
)
from conductor.workers.offline.questions.grammar import grammar
from conductor.workers.offline.questions.meaning import Answer, NotUnderstood
from conductor.workers.offline.questions.wording import Wording, wordings

MAX_READINGS = 400
"""The most readings of one part of a question that are compared; a part with more has no meaning."""

MAX_WORDS = 60
"""The most words of a question that is read: with them it takes less than half a second."""

MAX_NAMED = 5
"""Words that a refusal names."""

Subject = Literal["mathematics", "facts", "text"]
"""The expert that a question belongs to."""

Meaning = Any  # What a rule means: a Quantity, a date, an Answer.


def answer_to(question: str, *, today: date) -> tuple[Subject, Answer] | None:
    """The expert whose question it is, and the answer; None where it is not read whole or is ambiguous."""
    found: dict[str, tuple[Subject, Answer]] = {}
    for wording in wordings(question):
        for subject, answer in _readings(wording, today):
            found.setdefault(answer.text, (subject, answer))
    return next(iter(found.values())) if len(found) == 1 else None


def _readings(wording: Wording, today: date) -> Iterator[tuple[Subject, Answer]]:
    if not 0 < wording.words.count(" ") <= MAX_WORDS:
        return
    try:
        tree = grammar().parse(wording.words)
    except LarkError:
        return
    evaluation = _Evaluation(meanings_of(today), wording.quoted)
    question: Any = tree.children[0]
    for reading in question.children if question.data == "_ambig" else (question,):
        rule = reading.data
        subject: Subject = (
            "facts" if rule in nations.RULES else "text" if rule in texts.RULES else "mathematics"
        )
        yield from ((subject, answer) for answer in evaluation.of(reading) if isinstance(answer, Answer))


def why_unanswered(question: str) -> str:
    """Which words or numbers of a question that has no answer are to blame, as a sentence; "" for a text."""
    wording = next(wordings(question), None)
    if wording is None or not 0 < wording.words.count(" ") <= MAX_WORDS:
        return ""
    if unknown := grammar().unknown(wording.words):
        return f"Words that I do not know: {', '.join(unknown[:MAX_NAMED])}."
    if unread := grammar().unread(wording.words):
        return f"What I do not understand begins at «{unread}»."
    return "I know the words, but they have no meaning together, or several."


class _Evaluation:
    """All meanings of a tree, from its leaves up; a rule that raises `NotUnderstood` ends a reading."""

    def __init__(self, rules: Mapping[str, Callable[..., Meaning]], quoted: tuple[str, ...]) -> None:
        self._rules = rules
        self._quoted = quoted
        self._known: dict[int, list[Meaning]] = {}

    def of(self, node: Tree[Token] | Token) -> list[Meaning]:
        if isinstance(node, Token):
            text = str(node).strip()
            return [self._quoted[int(text[1:-1])] if text[:1] == "⟦" else text]
        if id(node) not in self._known:
            found = list(islice(self._meanings(node), MAX_READINGS + 1))
            self._known[id(node)] = found if len(found) <= MAX_READINGS else []
        return self._known[id(node)]

    def _meanings(self, node: Tree[Token]) -> Iterator[Meaning]:
        if node.data == "_ambig":
            for child in node.children:
                yield from self.of(child)
            return
        rule = self._rules.get(node.data)
        for parts in product(*map(self.of, node.children)):
            try:
                yield parts[0] if rule is None else rule(*parts)
            except (NotUnderstood, ArithmeticError, ValueError, TypeError, LookupError):
                # The last two: a rule got meanings of kinds that it does not take, so this is no reading.
                continue


def meanings_of(today: date) -> Mapping[str, Callable[..., Meaning]]:
    """What each rule of the grammar means, by its name; without an entry, what its one part means."""
    return {**_FIXED, **calendar_rules.rules(today)}


_FIXED: Mapping[str, Callable[..., Meaning]] = {
    **numbers.RULES, **counting.RULES, **figures.RULES, **chances.RULES, **nations.RULES, **texts.RULES,
    **stories.RULES,
}  # fmt: skip
