"""Scorers that compare texts: exact, by a part, number or choice, and RLPR's flexible match of amounts.

Pure. Each takes a response and its item; the answer of a response is found by `conductor.text.final_answer`.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from conductor.evaluation.items import LETTERS, Item
from conductor.evaluation.score import Score
from conductor.text.final_answer import comparable, final_answer, folded, number_in

_LONGEST = 1_000
"""Characters of an answer in which a number is looked for."""

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d{1,3})?|[-+]?\.\d+", re.IGNORECASE)
_QUOTIENT = re.compile(r"[-+]?(?:\d+\s+)?\d[\d,.]*\s*/\s*\d[\d,.]*")
_POWER = re.compile(
    r"(?:([-+]?\d[\d,]*(?:\.\d+)?)\s*(?:×|\*|·|x|\\times|\\cdot)\s*)?(?<![\w.])([-+]?\d{1,6})\s*\^\s*\{?(-?\d{1,3})\}?"
)
_UNIT = re.compile(r"(?P<unit>[^\W\d_]|[°%}])(?:\^\s*\{?[-+]?\d+\}?|(?<!\})(?<!\d[eE])\d+)(?!\w)")
_SECOND = re.compile(r"^[\s)*`\].]*(?:and|or|,|/|&|\+)\s*[*`(\[]*([A-Za-z])(?!\w)")
_LETTER = re.compile(r"^\W*(?:(?:option|choice|answer)\W*)?\(?([A-Z])\)?(?:$|[\W_])", re.IGNORECASE)
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_CURRENCIES = {"$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "€": "eur", "eur": "eur",
               "euro": "eur", "euros": "eur", "£": "gbp", "gbp": "gbp", "pound": "gbp", "pounds": "gbp",
               "¥": "jpy", "jpy": "jpy", "yen": "jpy"}  # fmt: skip
_CURRENCY = re.compile(r"[$€£¥]|\b(?:" + "|".join(filter(str.isalpha, _CURRENCIES)) + r")\b", re.IGNORECASE)

FLEXIBLE_TOLERANCE = Fraction(1, 100)
"""How far, relative to the target, a number may be for the flexible scorer."""


def exact(response: str, item: Item) -> Score:
    """Whether the answer is one of the targets: numbers by value, words without case and punctuation."""
    answer = final_answer(response)
    return Score.of(bool(answer) and _same_text(answer, item), answer)


def _same_text(answer: str, item: Item) -> bool:
    return comparable(answer) in {comparable(target) for target in item.target}


def contains(response: str, item: Item) -> Score:
    """Whether a target stands anywhere in the response, as whole words without case; a number as a whole one.

    A response that declines to answer contains nothing.
    """
    answer = final_answer(response)
    text = _searchable(response) if answer else ""
    return Score.of(any(_stands_in(_searchable(target), text) for target in item.target), answer)


def _searchable(text: str) -> str:
    ungrouped = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", folded(text).casefold())
    return " ".join(re.sub(r"[*_`]", "", ungrouped).split())


def _stands_in(target: str, text: str) -> bool:
    # "17" is neither in "170" nor in "3.17", "17.5" or "-17", but in "It is 17."
    unsigned = "(?<!-)" if target[:1].isdigit() else ""
    return re.search(rf"(?<!\w)(?<!\d\.){unsigned}{re.escape(target)}(?!\w)(?!\.\d)", text) is not None


def number(response: str, item: Item) -> Score:
    """Whether the one number of the answer is a target's, whatever units and marks stand around it.

    An answer with several numbers is wrong, unless one number follows an equals sign at its end.
    """
    answer = final_answer(response)
    value = _value(answer)
    if value is None:
        return Score.of(False, answer, reason="the answer holds no single number")
    return Score.of(value in {_value(target) for target in item.target}, answer)


def choice(response: str, item: Item) -> Score:
    """Whether the answer names the right choice: by its letter, or by its whole text."""
    answer = final_answer(response)
    right = {target.strip("().: ").upper() for target in item.target}
    choices = item.choices or ()
    texts = {comparable(text): letter for letter, text in zip(LETTERS, choices, strict=False)}
    by_text = texts.get(comparable(answer))
    if by_text is not None and len(texts) == len(choices):
        return Score.of(by_text in right, answer)
    letter = _LETTER.match(answer) or _LETTER.match(comparable(answer))
    if letter is None or letter[1].upper() not in LETTERS[: len(choices) or len(LETTERS)]:
        return Score.of(False, answer, reason="the answer names no choice")
    second = _SECOND.match(letter.string[letter.end(1) :])
    if second is not None and second[1].isupper() == letter[1].isupper():
        return Score.of(False, answer, reason="the answer names several choices")
    return Score.of(letter[1].upper() in right, answer)


def flexible(response: str, item: Item) -> Score:
    """RLPR's match: the words, else one number within a hundredth of the target's, in no other currency."""
    answer = final_answer(response)
    found, money = _value(answer), _currency(answer)
    for target in item.target:
        wanted, wanted_money = _value(target), _currency(target)
        if money and wanted_money and money != wanted_money:
            continue
        if answer and comparable(answer) == comparable(target):
            return Score.of(True, answer)
        if found is None or wanted is None:
            continue
        if abs(found - wanted) <= abs(wanted) * FLEXIBLE_TOLERANCE:
            return Score.of(True, answer, reason="" if found == wanted else "within 1% of the target")
    return Score.of(False, answer)


def _value(answer: str) -> Fraction | None:
    """The one number of a text, with its scale ("3.2 million"); None where there is none, or several."""
    if len(answer) > _LONGEST:
        return None
    text = folded(answer)
    if (whole := number_in(comparable(text)) if "/" not in text else number_in(text)) is not None:
        return whole
    text = text.rpartition("=")[2] if "=" in text else text
    powers = _POWER.findall(text)
    text = _UNIT.sub(lambda found: found["unit"], _POWER.sub(" ", text))
    if powers:
        return _power(*powers[0]) if len(powers) == 1 and not _NUMBER.search(text) else None
    found = _QUOTIENT.findall(text) or _NUMBER.findall(text)
    if len(found) != 1:
        return None
    value = number_in(found[0].rstrip(".,"))
    scale = next(
        (size for word, size in _SCALES.items() if re.search(rf"\b{word}s?\b", text, re.IGNORECASE)), 1
    )
    return None if value is None else value * scale


def _power(factor: str, base: str, exponent: str) -> Fraction | None:
    if not int(base) and int(exponent) < 0:
        return None
    times = number_in(factor) if factor else Fraction(1)
    return None if times is None else times * Fraction(int(base)) ** int(exponent)


def _currency(text: str) -> str | None:
    found = _CURRENCY.search(unicodedata.normalize("NFKC", text))
    return None if found is None else _CURRENCIES[found[0].lower()]
