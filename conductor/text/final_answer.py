"""The answer that a response ends with, and when two answers are the same one. Pure.

Reads what models are commonly asked to write: a last `\\boxed{...}`, a last "Answer: ..." line, a sentence
"the answer is ...". Knows neither questions nor right answers.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from fractions import Fraction

# Each takes the rest of its line as it is: what must be trimmed there would be tried at every character.
ANSWER_LINE = re.compile(
    r"^[^\w\n]*(?:the )?(?:final )?answer[^\w\n]*?:\s*(\S.*)", re.IGNORECASE | re.MULTILINE
)
ANSWER_SENTENCE = re.compile(r"\b(?:answer|result) is:?\s+(\S.*)", re.IGNORECASE)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_CHOICE = re.compile(r"^\(?([A-Za-z])\)?(?:[.:)]\s.*|\))?$", re.DOTALL)
_MARKS = re.compile(r"[$€£¥₹]|\\(?:text|mathrm|mathbf)\{([^{}]*)\}|\\[,;! ]|\\\$|\\%|[*_`]")
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d{1,3})?", re.IGNORECASE)
_FRACTION = re.compile(r"([-+]?\d{1,30})\s*/\s*(\d{1,30})|([-+]?)\\d?frac\{(\d{1,30})\}\{(\d{1,30})\}")
_LONGEST_NUMBER = 60

NO_ANSWER = "No answer: "
"""How the last line of a response begins that declines to answer, as the built-in experts write it."""

NOT_CHECKED = " (not checked)"
"""How they mark an answer that has no second way; no part of the answer."""


def final_answer(response: str) -> str:
    """The answer of a response, without the words around it; "" where it is empty or declines to answer.

    The last box counts before the last "Answer:" line, this before the last sentence with "the answer is",
    and where there is none of them the last line that is not empty.
    """
    last = response.rstrip().rpartition("\n")[2].strip()
    if last.startswith(NO_ANSWER):
        return ""
    if (boxed := _last_boxed(response)) is not None:
        return boxed.strip()
    for pattern in (ANSWER_LINE, ANSWER_SENTENCE):
        if found := pattern.findall(response):
            return _bare(found[-1])
    return _bare(last)


def comparable(answer: str) -> str:
    """Text that is equal for two answers that are one: a number by its value, a choice by its letter, words
    without case, widths and punctuation at their ends.

    Whole numbers, decimals and fractions are values; a percent sign, marks of currency and of mathematics are
    left out. "B", "(b)" and "B) Paris" are the choice b.
    """
    text = _MARKS.sub(lambda found: found[1] or "", unicodedata.normalize("NFKC", answer)).strip()
    if (value := number_in(text.rstrip(".").removesuffix("%").strip())) is not None:
        return str(value)
    if choice := _CHOICE.match(text):
        return choice[1].casefold()
    words = " ".join(text.casefold().split()).strip(" .,;:!?\"'“”‘’()[]")
    return re.sub(r"^(?:the|an?) (?=\S)", "", words)


def number_in(text: str) -> Fraction | None:
    """The value of a text that is one number and nothing else; None for any other text."""
    if fraction := _FRACTION.fullmatch(text):
        top, bottom = fraction[1] or f"{fraction[3]}{fraction[4]}", fraction[2] or fraction[5]
        return Fraction(int(top), int(bottom)) if int(bottom) else None
    if not text or len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    try:
        return Fraction(Decimal(text.replace(",", "")))
    except InvalidOperation:
        return None


def _last_boxed(response: str) -> str | None:
    """What the last box with closed braces holds."""
    for found in reversed(list(_BOXED.finditer(response))):
        depth = 1
        for at in range(found.end(), len(response)):
            depth += {"{": 1, "}": -1}.get(response[at], 0)
            if depth == 0:
                return response[found.end() : at]
    return None


def _bare(line: str) -> str:
    return line.strip().strip("*").strip().removesuffix(NOT_CHECKED).removesuffix(".").strip()
