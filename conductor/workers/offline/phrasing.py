"""Formulas inside prose: words that mean a sign, and the stretches of a text that are formulas.

Knows English and notation (also Unicode and simple LaTeX); not what is asked about a formula.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from conductor.errors import FormatError
from conductor.workers.offline.formula import (
    CONSTANTS,
    FUNCTIONS,
    TOKEN,
    Name,
    Node,
    Number,
    Relation,
    name_parts,
    parse_statement,
)

_CHARACTERS = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "√": " sqrt ", "π": " pi ", "∞": " oo ",
     "≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "$": " ", "²": "^2", "³": "^3", "⁴": "^4", "⁵": "^5",
     "⁶": "^6", "⁷": "^7", "⁸": "^8", "⁹": "^9", "’": "'", "½": "(1/2)", "¼": "(1/4)", "¾": "(3/4)"}
)  # fmt: skip
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_OPERAND = r"(\d+(?:\.\d+)?|[a-zA-Z]|\))"

_WORDS: tuple[tuple[str, str], ...] = (
    (r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"((\1)/(\2))"),
    (r"\\sqrt\s*\{([^{}]*)\}", r"sqrt(\1)"),
    (r"[\^]\s*\{([^{}]*)\}", r"^(\1)"),
    (r"\\(?:cdot|times)", "*"),
    (r"\\(?:left|right|,|;|!)", ""),
    (r"\\(?=[a-z])", " "),
    (r"(?<![\d,.])(\d{1,3}),(\d{3})(?:,(\d{3}))?(?:,(\d{3}))?(?![\d,])", r"\1\2\3\4"),
    (r"(\d)\s*x\s*(?=\d)", r"\1*"),
    (r"\bthe\s+(?=(?:square|cube) root|factorial|absolute)", ""),
    (r"\b(?:square )root of\b", " sqrt "),
    (r"\bcube root of\b", " cbrt "),
    (r"\bfactorial of\b", " factorial "),
    (_OPERAND + r"\s+factorial\b", r"\1!"),
    (r"\babsolute value of\b", " abs "),
    (r"\b(?:raised )?to the power(?: of)?\b|\braised to\b", "^"),
    (r"\bto the (\d+)(?:st|nd|rd|th)(?: power)?\b", r"^\1"),
    (_OPERAND + r"\s+squared\b", r"\1^2"),
    (_OPERAND + r"\s+cubed\b", r"\1^3"),
    (r"\bdivided by\b", "/"),
    (r"\b(?:multiplied by|times)\b", "*"),
    (r"\bplus\b", "+"),
    (r"\bminus\b", "-"),
    (r"\bmodulo\b", "mod"),
    (r"\b(?:is )?equal(?:s| to)\b", "="),
    (r"\bis (?:less|smaller) than or =", "<="),
    (r"\bis (?:greater|more|larger) than or =", ">="),
    (r"\bis (?:less|smaller) than\b", "<"),
    (r"\bis (?:greater|more|larger) than\b", ">"),
    (r"\s*\bper ?cent\b", "%"),
    (r"(\d+(?:\.\d+)?)\s*%\s*off(?: of)?\s*(?=\d)", r"(1 - \1/100) * "),
    (r"%\s*of\b", "% *"),
    (r"\b(\d+\s*/\s*\d+)\s+of\b", r"(\1) *"),
    (r"\bhalf (?:of )?(?=[\d(])", "(1/2)* "),
    (r"\b(?:a|one) third of\b", "(1/3)* "),
    (r"\b(?:a|one) quarter of\b", "(1/4)* "),
    (r"\b(?:twice|double)(?= [\d(])", "2*"),
    (r"\btriple(?= [\d(])", "3*"),
)
_REWRITES = tuple((re.compile(pattern, re.IGNORECASE), by) for pattern, by in _WORDS)
_COUNTS = re.compile(
    rf"\b(?:({'|'.join(_TENS)})(?:[- ]({'|'.join(_UNITS[1:10])}))?|({'|'.join(_UNITS)}))\b", re.I
)
_WORD = re.compile(r"[^\W\d_]+")


def plain_formulas(text: str) -> str:
    """The text with words and typographic signs that mean arithmetic replaced by plain signs."""
    text = _COUNTS.sub(_count, text.translate(_CHARACTERS))
    for pattern, by in _REWRITES:
        text = pattern.sub(by, text)
    return text


def _count(match: re.Match[str]) -> str:
    tens, unit, small = match.groups()
    if small:
        return str(_UNITS.index(small.lower()))
    return str((_TENS.index(tens.lower()) + 2) * 10 + (_UNITS.index(unit.lower()) if unit else 0))


@dataclass(frozen=True)
class Passage:
    """A stretch [start, end) of a text that is a formula, or a chain of relations."""

    start: int
    end: int
    content: Node | tuple[Relation, ...]

    @property
    def concrete(self) -> bool:
        """Whether there is something to compute: more than a lone number or name."""
        return not isinstance(self.content, Number | Name)


def passages_of(text: str) -> tuple[Passage, ...]:
    """Every formula in a text that went through `plain_formulas`, in order."""
    found = (_longest(run) for run in _runs(text))
    return tuple(passage for passage in found if passage is not None)


@dataclass(frozen=True)
class _Piece:
    text: str
    start: int
    end: int


def _runs(text: str) -> list[list[_Piece]]:
    """Neighbouring pieces that could be one formula; words and punctuation stand between runs."""
    runs: list[list[_Piece]] = [[]]
    at, depth = 0, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None or not _belongs(match, text) or (match[0] == "," and depth <= 0):
            if not text[at].isspace():
                runs.append([])
                depth = 0
            at = match.end() if match else at + 1
            continue
        depth += (match[0] == "(") - (match[0] == ")")
        runs[-1].append(_Piece(match[0], match.start(), match.end()))
        at = match.end()
    return [run for run in runs if run]


def _belongs(match: re.Match[str], text: str) -> bool:
    """Whether a token can be part of a formula here: words, and a lone "a" or "I", cannot."""
    word = match["name"]
    if not word:
        return True
    if word.lower() in FUNCTIONS - {"prime", "mean", "median", "inverse"} or word.lower() in CONSTANTS | {
        "mod"
    }:
        return word != "I"
    before, after = text[: match.start()].rstrip()[-1:], text[match.end() :].lstrip()[:1]
    if word in ("a", "A", "I"):
        return bool(before and before in "+-*/^=(<>0123456789") or bool(after and after in "+*/^=)<>")
    try:
        name_parts(word)
    except FormatError:
        return False
    return after != "'" and before != "'"


_TRIMS = sorted(((left, right) for left in range(5) for right in range(5)), key=sum)


def _longest(run: list[_Piece]) -> Passage | None:
    """The run as a formula, after dropping as few pieces as possible at its ends."""
    for left, right in _TRIMS:
        pieces = run[left : len(run) - right]
        if not pieces:
            continue
        try:
            content = parse_statement(" ".join(piece.text for piece in pieces))
        except FormatError:
            continue
        return Passage(pieces[0].start, pieces[-1].end, content)
    return None


def cut_off(text: str, passage: Passage) -> bool:
    """Whether a sign beside the passage shows that only a part of a formula was understood."""
    before, after = text[: passage.start].rstrip()[-1:], text[passage.end :].lstrip()[:1]
    hanging = text[passage.start] == "+" or (text.startswith("- ", passage.start) and before.isalpha())
    return hanging or bool(before and before in "+*/^=<>") or bool(after and after in "+-*/^=<>")


_ASKING = frozenset(
    "a an and answer any are as at be by calculate can compute could determine do does equation equations "
    "evaluate exact exactly expression find for formula from get give given how i if in is it its let me "
    "much number of or out please problem question real result roots show simplify solution solutions solve "
    "solving step steps such sum system tell that the their then this to unknown unknowns value values "
    "variable want we what when where which whose with work working you your all complex check whether true "
    "integer integers holds hold satisfy satisfies satisfying following below using carefully just only "
    "now first second verify correct right whats s".split()
)


def unread_words(text: str, passages: tuple[Passage, ...]) -> int:
    """How many words outside the formulas are not part of merely asking."""
    rest, at = [], 0
    for passage in passages:
        rest.append(text[at : passage.start])
        at = passage.end
    words = _WORD.findall(" ".join([*rest, text[at:]]).lower())
    return sum(1 for word in words if len(word) > 1 and word not in _ASKING)
