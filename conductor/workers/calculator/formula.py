"""A formula in signs or in simple words, read by the grammar of `formula.lark` and computed as it is read.

Nothing that is read can run: the parser calls the operations of `arithmetic.py` and nothing else.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer, Tree
from lark.exceptions import LarkError

from conductor.errors import FormatError
from conductor.workers.calculator.arithmetic import Number, computed

MAX_CHARACTERS = 1_000

_N = r"([\d.]{1,40}%?|\([^()]{1,80}\))"
_LIST = r"([\d.]{1,40}(?:(?:, and |, | and )[\d.]{1,40}){1,40})"
_WORDS = tuple((re.compile(pattern, re.IGNORECASE), signs) for pattern, signs in (
    (r"(?<![\d,.])(\d{1,3}(?:,\d{3}){1,9})(?![\d,])", lambda number: number[1].replace(",", "")),
    (r"[×·⋅]", "*"), ("÷", "/"), ("[−–]", "-"), ("√", " sqrt "), ("π", " pi "), ("²", "^2"), ("³", "^3"),
    (r"[$€£¥]", ""), (r"(?<=\d) ?x ?(?=\d)", " * "), (r"\bper ?cent(?:age)?\b", "%"), (r"(?<=\d) %", "%"),
    (r"\bthe ", ""), (r"(\d) degrees?\b", r"\1°"), (r"\bcube root of\b", "cbrt"),
    (r"\b(?:square )?root of\b", "sqrt"), (rf"\badd {_N} (?:to|and) {_N}", r"\2 + \1"),
    (rf"\bsubtract {_N} from {_N}", r"\2 - \1"), (rf"\bmultiply {_N} (?:by|with|and) {_N}", r"\1 * \2"),
    (rf"\bdivide {_N} by {_N}", r"\1 / \2"), (rf"\bincrease {_N} by {_N}", r"\1 + \2"),
    (rf"\bdecrease {_N} by {_N}", r"\1 - \2"), (rf"{_N} off {_N}", r"\2 - \1"),
    (rf"\b(?:what )?% of {_N} is {_N}", r"100 * \2 / \1"), (rf"{_N} is what % of {_N}", r"100 * \1 / \2"),
    (rf"\b(?:average|mean) (?:of )?{_LIST}", r"mean(\1)"),
    (rf"\b(sum|product|median|max|min)(?:imum)? of {_LIST}", r"\1(\2)"), (r"(?<=\d),? and (?=\d)", ", "),
    (r"\bdivided by\b", "/"), (r"\b(?:multiplied by|times)\b", "*"), (r"\bplus\b", "+"), (r"\bminus\b", "-"),
    (r"\bmodulo\b", "mod"), (r" squared\b", "^2"), (r" cubed\b", "^3"), (r"% ?of\b", "% *"),
    (r" (?:raised )?to power(?: of)? ", "^"), (r" to (\d{1,9})(?:st|nd|rd|th)(?: power)?\b", r"^\1"),
    (r"\bhalf of\b", "1/2 *"), (r"(?<=\d) of (?=\d)", " * "), (r"\b(?:twice|double)\b", "2 *"),
))  # fmt: skip
_LEAD = re.compile(
    r"(?i)^\W*(?:please|(?:can|could) you|what(?:'s| is)|how (?:much|many) (?:is|are)|calculate|compute|"
    r"evaluate|work out|find|[a-z]{4} me|(?:the )?(?:exact )?(?:value|result|answer)(?: of)?)\b[\s:,]*"
)
_END = re.compile(
    r"(?i)(?:[\s?.=,;]+|(?<![\d)])!|\b(?:equals?|equal to|exactly|please|step by step)|"
    r"[,.]? (?:and )?(?:show|give|state|return|report|explain)\b[^\d]{0,80})$"
)


class _Computing(Transformer[Token, Number]):
    """Computes the value of each part of a formula as soon as the part is read."""

    def NUMBER(self, sign: Token) -> Number:
        return Fraction(str(sign))

    def call(self, parts: list[Any]) -> Number:
        return computed(str(parts[0]).lower(), *parts[1:])

    def __default__(self, data: str, children: list[Any], meta: Any) -> Number | Tree[Any]:
        # Lark hands the children of a rule that begins with _ to the rule above it.
        return Tree(data, children, meta) if data.startswith("_") else computed(str(data), *children)


@cache
def _parser() -> Lark:
    return Lark.open("formula.lark", rel_to=__file__, start="sum", parser="lalr", transformer=_Computing())


def formula_in(text: str) -> str | None:
    """The formula that a text in one line asks for, in signs: "15 percent of 80" is 15% * 80.

    None for a text of other words. Raises `FormatError` for a formula that is too long.
    """
    before, formula = "", text[: MAX_CHARACTERS + 1]
    while formula != before:
        before, formula = formula, _LEAD.sub("", _END.sub("", formula), count=1)
    for pattern, signs in _WORDS:
        formula = pattern.sub(signs, formula)
    functions = _parser().get_terminal("FUNCTION").pattern.to_regexp()
    rest = re.sub(rf"{functions}|\b(?:pi|e|mod)\b|(?<=\d)e(?=[-+]?\d)", "", formula, flags=re.IGNORECASE)
    if re.search(r"[^\W\d_]", rest) or not re.search(r"\d.*[-+*/^!%°|a-z(]|[a-z(|-].*\d", formula, re.I):
        return None
    if len(text) > MAX_CHARACTERS:
        raise FormatError(f"The formula has over {MAX_CHARACTERS:,} signs. Split it.")
    return " ".join(formula.split())


def value_of(formula: str) -> Number:
    """The value of a formula in signs. Raises `FormatError`, and `QueryError` if it is too large."""
    try:
        return _parser().parse(formula)  # type: ignore[return-value]
    except LarkError:
        raise FormatError(f"{formula[:80]} is not a complete formula. Check its signs.") from None
