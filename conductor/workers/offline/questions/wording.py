"""A question as a grammar reads it: plain words and numbers, each followed by one space.

Number words are digits, signs stand alone, quoted texts are numbered; "the", commas and greetings are left
out. Knows no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conductor.workers.offline.questions.meanings.meaning import WORDS

MAX_CHARACTERS = 600
"""Longer texts are no everyday questions."""


@dataclass(frozen=True)
class Wording:
    """The plain words of a question, and the quoted texts in it by their number."""

    words: str
    quoted: tuple[str, ...] = ()


def wordings(question: str) -> Iterator[Wording]:
    """The ways to take a question's words: as they stand, and with what follows a colon as a quoted text."""
    if len(question) > MAX_CHARACTERS:
        return
    text, quoted = _without_quotes(question)
    yield Wording(_plain(text), quoted)
    head, colon, rest = question.partition(":")
    if colon and rest[:1].isspace() and rest.strip():
        text, quoted = _without_quotes(head)
        if not quoted:
            stripped = rest.strip()
            unquoted = stripped[1:-1] if stripped[0] + stripped[-1] in ("''", '""', "“”", "‘’") else stripped
            yield Wording(f"{_plain(text)}⟦0⟧ ", (unquoted,))


_QUOTES = re.compile(
    r"\"([^\"]*)\"|“([^”]*)”|«([^»]*)»|(?<!\w)'([^']+(?:'\w[^']*)*)'(?!\w)|‘([^’]+)’|`([^`]+)`"
)


def _without_quotes(text: str) -> tuple[str, tuple[str, ...]]:
    quoted: list[str] = []

    def numbered(match: re.Match[str]) -> str:
        quoted.append(next(group for group in match.groups() if group is not None))
        return f" ⟦{len(quoted) - 1}⟧ "

    return _QUOTES.sub(numbered, text), tuple(quoted)


_SMALL, _TENS = (WORDS["numbers"][key].split() for key in ("small", "tens"))
_VALUES = {word: at for at, word in enumerate(_SMALL)} | {word: 10 * at for at, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ANY_WORD = "|".join([*_VALUES, *_SCALES])
_AND_A_HALF = re.compile(r" and a (?:half|quarter)\b", re.IGNORECASE)
_NUMBER_WORDS = re.compile(
    rf"\b(?:(?:an? )?half a dozen|(?:a )?couple of|(?:(?:an?|\d[\d.]*|{'|'.join(_VALUES)})[ -])?(?:dozens?|"
    rf"{'|'.join(_SCALES)})(?:(?: and |[ -])(?:{_ANY_WORD}|\d+))*"
    rf"|(?:{'|'.join(_VALUES)})(?:(?: and (?=\w+ (?:hundred|thousand))|[ -])(?:{_ANY_WORD}))*)\b",
    re.IGNORECASE,
)


def with_digits(text: str) -> str:
    """The text with number words as digits: twenty-five, two thousand five hundred, a dozen."""
    return _NUMBER_WORDS.sub(_number, text)


def _number(match: re.Match[str]) -> str:
    """Number words as digits; as they are where they make no number, such as "two three"."""
    text = match[0].lower().replace("-", " ")
    if _AND_A_HALF.match(match.string, match.end()) and text.split()[-1].rstrip("s") in (*_SCALES, "dozen"):
        return match[0]  # a dozen and a half is 18, and in other words 12.5
    if "dozen" in text:
        count = text.removeprefix("an ").removeprefix("a ").split()[0]
        each = {"half": 6, "dozen": 12, "dozens": 0}.get(count)
        known = float(count) if count[0].isdigit() else _VALUES.get(count, 1)
        return str(each if each is not None else round(known * 12)) if " and" not in text else match[0]
    if "couple" in text:
        return "2"
    whole, part, last = 0.0, 0.0, 10.0**15
    for word in text.split():
        if word in ("and", "a", "an"):
            part = part or (1.0 if word != "and" else part)
            continue
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 100:
                part = (part or 1) * 100
                last = 100
            else:
                whole, part, last = whole + (part or 1) * scale, 0.0, scale
            continue
        value = float(word) if word[0].isdigit() else _VALUES[word]
        if value >= last or (part and part % 10 != 0) or (part % 100 and value >= 10):
            return match[0]  # "two three", "twenty fifteen": several numbers.
        part, last = part + value, 10 if 20 <= value < 100 else last
    number = whole + part
    return str(int(number)) if number == int(number) else repr(number)


_SIGNS = [(re.compile(found, re.IGNORECASE), by) for found, by in WORDS["signs"]]
_TOKEN = re.compile(
    r"⟦\d+⟧|\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|0[xbo]\w+|\d{1,2}:\d{2}(?!\d)|(?:(?<=[\s(,])|^)-\d+(?:\.\d+)?|\d+(?:st|nd|rd|th)\b|\d+(?:\.\d+)?"
    r"|\.\d+|'s\b|[^\W\d_]+(?:\^\d)?(?:/[^\W\d_]+)?|[-+*/^()=<>!?.,;:&@#]|\S"
)
_ENDS = {"?": ".", ";": ".", ":": ".", "!": "."}
_BEFORE = "|".join(Path(__file__).with_name("left_out.txt").read_text(encoding="utf-8").split("\n")[:-1])
_LEFT_OUT = re.compile(
    rf"^(?:(?:{_BEFORE}) (?:\. )?)+"
    r"|(?<= )(?:please|thanks|thank you|many thanks|exactly|for me)(?: \.)* (?=\. |$)",
    re.IGNORECASE,
)


def _without_commas(match: re.Match[str]) -> str:
    return match[0].replace(",", "")


def _plain(text: str) -> str:
    text = " ".join(text.split("\n"))
    for pattern, by in _SIGNS:
        text = pattern.sub(_without_commas if by == "without commas" else by, text)
    text = with_digits(text)
    tokens = _TOKEN.findall(text)
    words: list[str] = []
    for at, word in enumerate(tokens):
        before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
        if word == "," or word.lower() == "the":
            continue
        if word == "!" and (before == "!" or before[-1:].isdigit() or before == ")"):
            words.append("!")
        elif word == "-" and not (before and re.match(r"[\d(]", after)):
            words.append(".")
        else:
            words.append(_ENDS.get(word, word))
    plain = "".join(f"{word} " for word in words)
    plain = re.sub(r"^(?:\. )+", "", plain)
    return _LEFT_OUT.sub("", _LEFT_OUT.sub("", plain))
