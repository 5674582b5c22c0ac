"""The workers of the orchard compute their answers: a task in, the lines of an answer out.

All but the generalist compute: they read the question, the instruction and the visible answers, nothing else.
Two things are made up and fixed by a hash of the question: in which long sums the solver slips, and which
questions the generalist knows.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from conductor.text.equality.same_answer import ballots, same
from conductor.values.messages import Completion, Delta, Request, Usage
from conductor.workers.orchard.countries import (
    Country,
    capital_country,
    capitals_in,
    country_named,
    named_countries,
)
from conductor.workers.orchard.families import chance, letter_count
from conductor.workers.orchard.reading import properties_in, quoted_words, reading, sum_in
from conductor.workers.protocol import WorkerCard
from conductor.workers.simulated import count_tokens
from conductor.workers.task import Refusal, Task

NO_FACT = Refusal("I look up one fact of one country, and found no such question here.")
NO_WORD = Refusal("I count letters: give me a word in quotes, or let this step see an answer.")
NO_SUM = Refusal("I found no sum here that I can compute.")
NOTHING_VISIBLE = Refusal("I cannot see any answer to check.")
NO_GUESS = Refusal("I know half of the orchard's questions and nothing else.")
NOTHING_TO_MERGE = Refusal("I merge the answers that I see, and there is none.")

SLIP = 10
"""How far the solver is from the right result where it slips."""

SLIPS = 0.5
"""The share of long sums in which it does."""

KNOWN_SHARE = 0.5
"""The share of questions that the generalist knows."""

_WANTS_COUNTRY = re.compile(r"\b(?:find|name|state|which|what is) (?:the )?country\b", re.IGNORECASE)
_THAT_COUNTRY = re.compile(r"\bthat country\b", re.IGNORECASE)
_ORDINALS = (
    re.compile(r"\bfirst country\b", re.IGNORECASE),
    re.compile(r"\bsecond country\b", re.IGNORECASE),
)
_WITH_PREVIOUS = re.compile(r"\b(?:previous|visible|last) (?:result|answer)\b", re.IGNORECASE)
_MUSING = "Let me think about this step by step and consider what is being asked before I answer."


def facts(task: Task) -> Sequence[str]:
    """One fact of one country, or the country that has a capital: one thing looked up, never two."""
    properties = properties_in(task.instruction) or properties_in(task.query)
    country = _country(task)
    if country is None or _WANTS_COUNTRY.search(task.instruction):
        return _country_by_capital(task) or [NO_FACT]
    if not properties:
        return [NO_FACT]
    return [country.line(properties[0]), f"Answer: {country.properties[properties[0]]}"]


def _country(task: Task) -> Country | None:
    """The country that is meant: a visible one, one of the question by its number, or the first named."""
    if task.answers and _THAT_COUNTRY.search(task.instruction):
        return country_named(task.answers[-1].answer)
    named = named_countries(task.instruction) or named_countries(task.query)
    for at, ordinal in enumerate(_ORDINALS):
        if ordinal.search(task.instruction):
            return named[at] if at < len(named) else None
    return named[0] if named else None


def _country_by_capital(task: Task) -> Sequence[str] | None:
    """The country with the capital that the question names, or None."""
    named = capitals_in(task.query)
    match = capital_country(named[0]) if named else None
    if match is None:
        return None
    capital, country = match
    return [f"{capital} is the capital of {country.name}.", f"Answer: {country.name}"]


def letters(task: Task) -> Sequence[str]:
    """The letters of all visible answers, else of the word in quotes."""
    words = [each.answer for each in task.answers] or quoted_words(task.instruction)
    words = words or quoted_words(task.query)
    question = reading(task.query)
    if not words and question is not None and "word" in question.slots:
        words = [question.slots["word"]]
    if not words:
        return [NO_WORD]
    counts = list(map(letter_count, words))
    stated = [f"{word}: {count}" for word, count in zip(words, counts, strict=True)]
    return [*stated, f"Answer: {sum(counts)}"]


def solver(task: Task) -> Sequence[str]:
    """The question's sum, with the previous result where the instruction asks for it; half of the long ones
    with a slip.
    """
    calculation = sum_in(task.instruction) or sum_in(task.query)
    first = _previous(task) if _WITH_PREVIOUS.search(task.instruction) else None
    result = None if calculation is None else calculation.value(first)
    if calculation is None or result is None:
        return [NO_SUM]
    if calculation.long and chance("slip", task.query) < SLIPS:
        return ["Worked out in one go.", f"Answer: {result + SLIP}"]
    return [f"{calculation.text(first)} = {result}", f"Answer: {result}"]


def _previous(task: Task) -> int | None:
    """The last visible answer, where it is a whole number."""
    last = task.answers[-1].answer if task.answers else ""
    return int(last) if re.fullmatch(r"-?\d{1,18}", last) else None


def checker(task: Task) -> Sequence[str]:
    """Each visible answer held against the question's sum or its fact; what is neither is passed on."""
    if not task.answers:
        return [NOTHING_VISIBLE]
    right = _recomputed(task.query)
    if right is None:
        return [f"Answer: {task.answers[-1].answer} (not checked)"]
    lines = [
        f"Verified: {each.source} answers the same."
        if same(each.answer, right)
        else f"Correction: {each.source} answers {each.answer}. The right answer is {right}."
        for each in task.answers
    ]
    return [*lines, f"Answer: {right}"]


def _recomputed(query: str) -> str | None:
    calculation = sum_in(query)
    if calculation is not None:
        result = calculation.value()
        return None if result is None else str(result)
    question = reading(query)
    return question.answer if question is not None and question.family == "fact" else None


def generalist(task: Task) -> Sequence[str]:
    """What it knows, in many words; else the answer that most visible steps give; else a guess."""
    musing = " ".join([_MUSING] * 5)
    question = reading(task.query)
    if question is not None and chance("knows", task.query) < KNOWN_SHARE:
        return [musing, f"Answer: {question.answer}"]
    if task.answers:
        most = max(ballots([each.answer for each in task.answers]), key=len)
        return [musing, f"Answer: {task.answers[most[0]].answer}"]
    if question is None:
        return [NO_GUESS]
    return [musing, f"Answer: {int(chance('guess', task.query) * 90) + 10}"]


def text(task: Task) -> Sequence[str]:
    """The visible answers, each once; no question of the orchard needs it."""
    answers = list(dict.fromkeys(each.answer for each in task.answers))
    return [*answers, f"Answer: {'; '.join(answers)}"] if answers else [NOTHING_TO_MERGE]


Skill = Callable[[Task], Sequence[str]]

SKILLS: Mapping[str, Skill] = {
    "facts": facts,
    "letters": letters,
    "solver": solver,
    "checker": checker,
    "generalist": generalist,
    "text": text,
}
"""By the worker's name."""


_STRENGTHS: Mapping[str, str] = {
    "facts": "looks up one fact of one country: capital, currency, continent, or whose capital it is",
    "letters": "counts the letters of visible answers or of a word in quotes",
    "solver": "computes a sum, also with the previous result; slips in half of the long ones",
    "checker": "checks a visible answer to a sum or a fact, and corrects it",
    "generalist": "knows half of the orchard's questions by itself, else repeats what most others answer",
    "text": "merges the answers it sees; writes nothing of its own",
}


@dataclass
class OrchardWorker:
    """One worker, by the name of its skill. See `Worker` for the protocol.

    They stand for models in a world of their own, and so their kind is "simulated", although all but the
    generalist compute what they answer. Their tokens are counted as those of other simulated workers.
    """

    skill: str
    card: WorkerCard = field(init=False)

    def __post_init__(self) -> None:
        self.card = WorkerCard(
            name=self.skill,
            kind="simulated",
            strengths=_STRENGTHS[self.skill],
            model=f"orchard/{self.skill}",
        )

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        """The whole answer at once, with its tokens."""
        lines = SKILLS[self.skill](Task.of(request))
        prompt_tokens = sum(count_tokens(message.content) for message in request.messages)
        text = "\n".join(lines)
        yield Completion(
            text=text,
            usage=Usage(prompt_tokens=prompt_tokens, completion_tokens=count_tokens(text)),
            finish_reason="refused" if isinstance(lines[-1], Refusal) else "stop",
        )


def orchard_workers() -> tuple[OrchardWorker, ...]:
    """All of them, in the order in which a Conductor numbers them."""
    return tuple(map(OrchardWorker, SKILLS))
