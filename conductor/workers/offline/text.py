"""The text expert: summarises what it is given and merges what it sees.

Knows which of the two is requested, and of what; the work is in `summary.py` and `merge.py`.
"""

from __future__ import annotations

import re

from conductor.workers.offline.merge import merged
from conductor.workers.offline.summary import sentences_of, summarised
from conductor.workers.offline.task import Refusal, Task

CANNOT = Refusal(
    "I am the built-in text expert, not a language model: I can pick the most important sentences of a "
    "text and merge answers that I can see, but I write nothing of my own. Give me a text to summarise, "
    "let this step read other steps, or give it to a language model."
)
NOTHING_ANSWERED = Refusal(
    "None of the steps that I can see gives an answer, so there is nothing to pass on."
)
TOO_SHORT = Refusal("There are too few sentences to leave any out; above is the whole text.")
DEFAULT_SENTENCES = 3

_SUMMARY = re.compile(
    r"\b(?:summar\w+|shorten|condense|key points|main points|abstract|tl;?dr|"
    r"in (?:\w+|\d+) sentences?|most important sentences)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\b(\d+|one|two|three|four|five|six|seven|eight|nine|ten|a|single)\s+"
    r"(?:short |key |main )?(?:sentences?|points)\b",
    re.I,
)
_WORDS = "one two three four five six seven eight nine ten".split()
_REQUEST = re.compile(r"^[^\n.:]{0,200}:\s*(?=\S)|^[^\n.!?]{0,200}[.!?:]\s*\n+")
_OF_QUESTION = re.compile(r"\b(?:question|query|text|passage|article|paragraph)\b", re.IGNORECASE)


def text(task: Task) -> list[str]:
    """The answer's lines."""
    summary = _SUMMARY.search(task.instruction)
    if task.seen and not (summary and _OF_QUESTION.search(task.instruction)):
        if summary:
            answers = [each.response for each in task.seen if not each.refusal]
            return _summary("\n\n".join(answers), task) if answers else [NOTHING_ANSWERED]
        return merged(task)
    given = _given_text(task)
    wants = summary or _SUMMARY.search(task.query)
    if wants and given:
        return _summary(given, task)
    return [CANNOT]


def _given_text(task: Task) -> str:
    """The text to work on: the query without the sentence that asks for the work."""
    query = task.query.strip()
    request = _REQUEST.match(query)
    if request and _SUMMARY.search(request[0]):
        return query[request.end() :].strip()
    if len(sentences := sentences_of(query)) > 1 and _SUMMARY.search(sentences[0]):
        return query[query.find(sentences[1].split()[0], len(sentences[0])) :].strip()
    return "" if len(sentences) < 2 and _SUMMARY.search(query) else query


def _summary(given: str, task: Task) -> list[str]:
    count = _count(task.instruction) or _count(task.query) or DEFAULT_SENTENCES
    sentences = summarised(given, count)
    if len(sentences) < count or sentences == sentences_of(given):
        return [*sentences, TOO_SHORT]
    return sentences


def _count(text: str) -> int | None:
    """The number of sentences that a text asks for, None where it names none."""
    named = _COUNT.search(text)
    if named is None:
        return None
    word = named[1].lower()
    if word.isdigit():
        return max(1, int(word[:3]))
    return _WORDS.index(word) + 1 if word in _WORDS else 1
