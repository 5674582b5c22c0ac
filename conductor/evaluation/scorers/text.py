"""Scorers that compare texts: exact, by a part, number or choice, and RLPR's flexible match of amounts.

Pure. Each takes a response and its item; the answer of a response is found by `conductor.text.final_answer`.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from conductor.evaluation.items import LETTERS, Item
from conductor.evaluation.score import Score
from conductor.text.final_answer import ENDING, comparable, final_answer, folded, number_in, unmarked

_LONGEST = 1_000
"""Characters of an answer in which a number is looked for."""

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d{1,3})?|[-+]?\.\d+", re.IGNORECASE)
_QUOTIENT = re.compile(r"[-+]?(?:\d+\s+)?\d[\d,.]*\s*/\s*\d[\d,.]*")
_POWER = re.compile(
    r"(?:([-+]?\d[\d,]*(?:\.\d+)?)\s*(?:×|\*|·|x|\\times|\\cdot)\s*)?(?<![\w.])([-+]?\d{1,6})\s*\^\s*\{?(-?\d{1,3})\}?"
)
_UNIT = re.compile(r"(?P<unit>[^\W\d_]|[°%}])(?:\^\s*\{?[-+]?\d+\}?|(?<!\})(?<!\d[eE])\d+)(?!\w)")
_RESULT = re.compile(r".*\b(?:is|are|equals|makes|gives)\b(?!\s+not\b)(.*)", re.DOTALL | re.IGNORECASE)
_LETTER = re.compile(r"\W*([A-Za-z])\W*")
_FIRST = re.compile(r"\W*(?:(?i:option|choice|answer)\W*)?(?:([A-Z])|\(?([a-z])(?=[).:]))(?!\w)")
_NAMED = re.compile(
    r"\b(?i:answer|choice|option)\b(?: (?i:is|would be|should be|must be))?"
    r"(?: (?i:option|choice))?[^\w\n]*([A-Z])(?!\w)"
)
_PREFERRED = re.compile(
    r"\b(?i:choose|chose|pick|select|go with|so|thus|hence|therefore|but)"
    r"(?: (?i:option|choice))?[^\w\n]+([A-Z])(?!\w)"
)
_MARKED = re.compile(r"\(([A-Z])\)")
_SECOND = re.compile(r"[\s)\].]*(?:and|or|,|/|&|\+)\s*[(\[]*([A-Za-z])(?!\w)")
_ARTICLE = re.compile(r"\s+(?!(?:and|as|because|but|for|is|not|or|since)\b)\w")
"""What follows "A" as an article, or "I" as a pronoun, which are no letters of choices then."""
_DENIED = re.compile(r"\W*\s(?:is|was)(?:n['’]t| not| wrong| incorrect| false)\b")
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
    if not answer:
        return _nothing()
    return Score.of(comparable(answer) in {comparable(target) for target in item.target}, answer)


def _nothing() -> Score:
    return Score.no_answer("", "the response is empty, or declines to answer")


def contains(response: str, item: Item) -> Score:
    """Whether a target stands anywhere in the response, as whole words without case and not straight after
    "not"; a number as a whole one.

    A response that declines to answer contains nothing.
    """
    answer = final_answer(response)
    if not answer:
        return _nothing()
    text = _searchable(response)
    return Score.of(any(_stands_in(_searchable(target), text) for target in item.target), answer)


def _searchable(text: str) -> str:
    ungrouped = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", folded(text).casefold())
    words = " ".join(re.sub(r"[*_`]", "", ungrouped).split())
    return re.sub(r"(?<=\d) %", "%", words)


def _stands_in(target: str, text: str) -> bool:
    # "17" is neither in "170" nor in "3.17", "17.5" or "-17", but in "It is 17."
    unsigned = "(?<!-)" if target[:1].isdigit() else ""
    whole = rf"(?<!\w)(?<!\d\.)(?<!\bnot ){unsigned}{re.escape(target)}(?!\w)(?!\.\d)"
    return re.search(whole, text) is not None


def number(response: str, item: Item) -> Score:
    """Whether the one number of the answer is a target's, whatever units and marks stand around it.

    An answer with several numbers has none, unless one number follows an equals sign, "is" or the like.
    """
    answer = final_answer(response)
    value = _value(answer)
    if value is None:
        return Score.no_answer(answer, "the answer holds no single number")
    return Score.of(value in {_value(target) for target in item.target}, answer)


def choice(response: str, item: Item) -> Score:
    """Whether the answer names the right choice: by its letter, or by its whole text.

    A letter alone is never looked for among the texts. A response whose final answer names no choice is
    read for its last "answer", "choice" or "option" with a letter, as lm-evaluation-harness' flexible extract
    and simple-evals do.
    """
    answer = final_answer(response)
    choices = item.choices or ()
    letters = LETTERS[: len(choices) or len(LETTERS)]
    plain = unmarked(answer)
    texts = {comparable(text): letter for letter, text in zip(LETTERS, choices, strict=False)}
    words = comparable(answer)
    named = texts.get(words) if len(texts) == len(choices) and not _LETTER.fullmatch(words) else None
    if named is None:
        named = _letter_in(plain, letters) or _last(_NAMED, unmarked(response[-ENDING:]), letters)
    if not named:
        return Score.no_answer(answer, "the answer names no choice")
    if len(named) > 1:
        return Score.no_answer(answer, "the answer names several choices")
    return Score.of(named in {target.strip("().: ").upper() for target in item.target}, answer)


def _letter_in(answer: str, letters: str) -> str:
    """The letter that an answer names; several where it names several, "" where it names none."""
    if (alone := _LETTER.fullmatch(answer)) is not None:
        return alone[1].upper() if alone[1].upper() in letters else ""
    if (first := _FIRST.match(answer)) is not None and (letter := _read(first, letters)):
        return letter
    letter = _last(_NAMED, answer, letters) or _last(_PREFERRED, answer, letters)
    return letter or "".join(sorted({each for each in _MARKED.findall(answer) if each in letters}))


def _last(pattern: re.Pattern[str], text: str, letters: str) -> str:
    named = [letter for match in pattern.finditer(text) if (letter := _read(match, letters))]
    return named[-1] if named else ""


def _read(match: re.Match[str], letters: str) -> str:
    """The letter of a match, with another that is named beside it; "" for one that is a word."""
    letter = match[match.lastindex or 1]
    rest = match.string[match.end() :]
    is_word = letter in "AI" and _ARTICLE.match(rest)
    if letter.upper() not in letters or is_word or _DENIED.match(rest):
        return ""
    second = _SECOND.match(rest)
    if second is not None and second[1].upper() in letters and second[1].isupper() == letter.isupper():
        return letter.upper() + second[1].upper()
    return letter.upper()


def flexible(response: str, item: Item) -> Score:
    """RLPR's match: the words, else one number within a hundredth of the target's, in no other currency."""
    answer = final_answer(response)
    if not answer:
        return _nothing()
    value, money = _value(answer), _currency(answer)
    for target in item.target:
        target_value, target_money = _value(target), _currency(target)
        if money and target_money and money != target_money:
            continue
        if comparable(answer) == comparable(target):
            return Score.of(True, answer)
        if value is None or target_value is None:
            continue
        if abs(value - target_value) <= abs(target_value) * FLEXIBLE_TOLERANCE:
            return Score.of(True, answer, reason="" if value == target_value else "within 1% of the target")
    return Score.of(False, answer)


def _value(answer: str) -> Fraction | None:
    """The one number of a text, or the one behind its last "is", with its scale ("3.2 million"); None
    for none or several.
    """
    if len(answer) > _LONGEST:
        return None
    text = folded(answer)
    if (value := _one_value(text)) is None and (result := _RESULT.fullmatch(text)) is not None:
        return _one_value(result[1].strip())
    return value


def _one_value(text: str) -> Fraction | None:
    if (whole := number_in(comparable(text)) if "/" not in text else number_in(text)) is not None:
        return whole
    text = text.rpartition("=")[2] if "=" in text else text
    powers = _POWER.findall(text)
    text = _UNIT.sub(lambda match: match["unit"], _POWER.sub(" ", text))
    if powers:
        return _power(*powers[0]) if len(powers) == 1 and not _NUMBER.search(text) else None
    numbers = _QUOTIENT.findall(text) or _NUMBER.findall(text)
    if len(numbers) != 1:
        return None
    value = number_in(numbers[0].rstrip(".,"))
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
    match = _CURRENCY.search(unicodedata.normalize("NFKC", text))
    return None if match is None else _CURRENCIES[match[0].lower()]
