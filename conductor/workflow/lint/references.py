"""Whether an instruction refers to the output of other steps, as something that its worker can read.

Reads English, one instruction at a time, and only phrases that hardly mean anything else: a numbered step's
result, and sentences that begin like "Improve the previous answer". Knows no workflow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_EDGE = 3_000
"""Characters read at either end of an instruction."""

_ANSWER = r"(?:answers?|responses?|repl(?:y|ies)|outputs?|solutions?)"

_PRODUCT = (
    r"(?:attempts?|drafts?|analys[ie]s|plans?|code|programs?|proofs?|critiques?|calculations?|results?|work|"
    r"reasoning|findings)"
)

_NUMBERS = r"#?\d{1,3}(?:\s*(?:,|,?\s*and|&|or|to|-|–)\s*(?:steps?\s+)?#?\d{1,3})*"

_ORDINALS = ("first", "second", "third", "fourth", "fifth")

_OF_STEP = re.compile(
    rf"(?:\bthe\s+)?\b(?:{_ANSWER}|{_PRODUCT})\s+(?:from|of|in|by|at)\s+(?:"
    rf"(?:sub-?)?(?:step|task)s?\s+({_NUMBERS})(?!\w)|the\s+({'|'.join(_ORDINALS)})\s+step\b)"
    rf"|\b(?:step|subtask)\s+({_NUMBERS})['’]s\s+(?:[\w-]+\s+)?(?:{_ANSWER}|{_PRODUCT})\b",
    re.I,
)
"""The result of step 1; the result of the first step; step 1's plan."""

_OF_A_METHOD = re.compile(
    r"\s+(?:of|in|from|for)\s+(?:the|this|that|your|an?|each|\w+['’]s)\b|\s+of\s+\w", re.I
)
"""After "step 2": the step of a method or a recipe is meant."""

_TURNED_AWAY = re.compile(
    r"\b(?:without|ignor\w+|independent(?:ly)?\s+(?:of|from)|regardless\s+of|not|never|unlike|than|differs?|"
    r"different|instead\s+of|avoid\w*|rather\s+than|whatever|no|if\s+there|should\s+there)\b|n['’]t\b",
    re.I,
)
"""Shortly before: the output is named so that it is left alone."""

_CLOSE = 45

_EARLIER = r"(?:previous|prior|preceding|earlier|foregoing)"

_WORKER = r"(?:worker|agent|expert)"

_WORKS_ON = re.compile(
    r"\W*(?:(?:please|now|carefully)[\s,]+)?(?:us(?:e|ing)|based\s+on|continue|extend|improve|refine|"
    r"(?:re-?|double-?)?check|verify|review|validate|critique|correct|fix|combine|merge|summari[sz]e|take|consider|"
    r"read|polish|revise|apply|implement|evaluate|assess|inspect|execute)\s+"
    rf"(?:from\s+|on\s+|what\s+(?=the\s+\w+\s+{_WORKER}))?"
    r"(?P<words>(?:(?:the|all|all\s+the|both|both\s+the)\s+)"
    rf"(?:{_EARLIER}\s+(?:{_ANSWER}|{_WORKER}s?)\b"
    # Not "the previous attempts at a treaty".
    rf"|{_EARLIER}\s+(?:{_PRODUCT}|steps?|stages?)\b(?!\s+(?:of|to|for|in|at|on|by|about|regarding|concerning)\b)"
    rf"|(?:{_ANSWER}|{_PRODUCT})\s+(?:\w+\s+)?(?:from|of|by)\s+(?:all\s+)?the\s+{_EARLIER}\s+"
    rf"(?:steps?|stages?|{_WORKER}s?)\b))",
    re.I,
)
"""A sentence that begins with the work on an earlier output."""

_OF_THE_QUESTION = re.compile(
    r"\b(?:in|from|of|by|under)\s+(?:the|this|that|his|her|their)\s+(?:[\w-]+\s+)?(?:question|query|prompt|user|"
    r"message|conversation|passage|document|e-?mail|letter|article|transcript|student|text|excerpt|file|chat|"
    r"thread|exam|paper|book|chapter|section|forum|author|teacher)\b|"
    r"\b(?:user|student|author|customer|client|teacher|speaker|pupil|applicant|candidate|writer)['’]?s?['’]?s\b|"
    r"\b(?:user|student|pupil|customer)\s+(?:gave|wrote|gives|writes|quotes?|pasted|provided)\b|"
    r"\b(?:question|query|user)\s+(?:quotes|contains|gives|includes|holds|mentions)\b",
    re.I,
)
"""The sentence is about something of the question's."""

_QUOTED = re.compile(
    r"```.{0,20000}?```|`[^`\n]{1,400}`|“[^”]{1,2000}”|\"[^\"\n]{1,2000}\"|«[^»]{1,2000}»", re.S
)
_SENTENCE = re.compile(r"[^.!?;\n]+(?:[.](?=\S)[^.!?;\n]+)*")


_PLURAL = re.compile(
    r"\b(?:all|both)\b|(?:answer|response|output|solution|attempt|step|worker|agent)s\b", re.I
)


@dataclass(frozen=True, slots=True)
class Mention:
    """Words that refer to the output of other steps.

    `steps` are the numbers named, as written; `plural` is true where several steps are meant.
    """

    words: str
    plural: bool = False
    steps: tuple[int, ...] = ()


@lru_cache(maxsize=512)
def mentions(instruction: str) -> tuple[Mention, ...]:
    """Every mention of other steps' output, those that name a step by its number first.

    Of a long instruction the two ends are read; what lies between is material.
    """
    long = len(instruction) > 2 * _EDGE
    read = f"{instruction[:_EDGE]}\n{instruction[-_EDGE:]}" if long else instruction
    text = _QUOTED.sub(lambda quoted: " " * len(quoted.group()), read)
    return (*_numbered(text), *_earlier(text))


def _numbered(text: str) -> Iterator[Mention]:
    for found in _OF_STEP.finditer(text):
        turned_away = _TURNED_AWAY.search(text, max(0, found.start() - _CLOSE), found.start())
        if turned_away is None and _OF_A_METHOD.match(text, found.end()) is None:
            number, ordinal, owner = found.groups()
            steps = [int(digits) for digits in re.findall(r"\d+", number or owner or "")]
            if ordinal:
                steps = [_ORDINALS.index(ordinal.lower()) + 1]
            yield Mention(_one_line(found.group()), len(steps) > 1, tuple(steps))


def _earlier(text: str) -> Iterator[Mention]:
    for sentence in _SENTENCE.finditer(text):
        found = _WORKS_ON.match(sentence.group())
        if found is not None and _OF_THE_QUESTION.search(sentence.group()) is None:
            words = _one_line(found["words"])
            yield Mention(words, _PLURAL.search(words) is not None)


def _one_line(words: str) -> str:
    return " ".join(words.split())[:80]
