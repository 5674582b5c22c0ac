"""A question read whole by the grammar: every reading of it, and the one answer that they share.

Knows which module knows what each of its rules means. A word that no rule takes, or readings
with different answers, leave the question without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from inspect import isfunction
from itertools import islice, product
from types import ModuleType
from typing import Any, Literal

from lark import Token, Tree
from lark.exceptions import LarkError

from conductor.workers.offline.questions.grammar import grammar
from conductor.workers.offline.questions.meanings import (
    calendar_rules,
    chances,
    counting,
    figures,
    nations,
    numbers,
    stories,
    texts,
)
from conductor.workers.offline.questions.meanings.meaning import Answer, NotUnderstood
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
    rules = grammar()
    try:
        tree = rules.parse(wording.words)
    except LarkError:
        return
    evaluation = _Evaluation(today, wording.quoted)
    question: Any = tree.children[0]
    for reading in question.children if question.data == "_ambig" else (question,):
        rule = reading.data.rstrip("0123456789").removesuffix("_")
        subject: Subject = "facts" if rule in _FACTS else "text" if rule in _TEXTS else "mathematics"
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

    def __init__(self, today: date, quoted: tuple[str, ...]) -> None:
        self._today = today
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
        rule = self._meaning(node.data)
        for parts in product(*map(self.of, node.children)):
            try:
                yield parts[0] if rule is None else rule(*parts)
            except (NotUnderstood, ArithmeticError, ValueError, TypeError, LookupError):
                # The last two: a rule got meanings of kinds that it does not take, so this is no reading.
                continue

    def _meaning(self, name: str) -> Callable[..., Meaning] | None:
        """What a rule means, None where that is what its one part means.

        "ratio_21" is the "ratio" of its second part and its first; 0 is the day that is today.
        """
        if name in MEANINGS:
            return MEANINGS[name]
        base, _, order = name.rpartition("_")
        if not order.isdigit():
            return None

        def ordered(*parts: Meaning) -> Meaning:
            given = (self._today, *parts)
            return MEANINGS[base](*(given[at] for at in map(int, order) if at < len(given)))

        return ordered


def meanings_in(module: ModuleType) -> Mapping[str, Callable[..., Meaning]]:
    """What a module knows the meaning of: the names of its functions, and its `RULES`."""
    own = {name: each for name, each in vars(module).items() if isfunction(each)}
    rules: Mapping[str, Callable[..., Meaning]] = module.RULES
    return {**{name: each for name, each in own.items() if each.__module__ == module.__name__}, **rules}


MODULES = (numbers, counting, figures, chances, stories, calendar_rules, nations, texts)
_FACTS, _TEXTS = meanings_in(nations), meanings_in(texts)
MEANINGS = {name: meaning for module in MODULES for name, meaning in meanings_in(module).items()}
"""What the rules of the grammar mean, by their names."""
