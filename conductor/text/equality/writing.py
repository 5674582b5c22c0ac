"""One way of writing for what has several: signs of Unicode, marks of LaTeX and Markdown, grouped digits.

Folds what has the same meaning, and removes marks only in pairs or where nothing else can be meant by them.
Knows no units and no case.
"""

from __future__ import annotations

import re
import unicodedata

_RAISED = re.compile("[²³¹⁰ⁱ⁴-⁹⁺⁻⁼⁽⁾ⁿʰ-ʸˡ-ˣ]+")
_ORDINALS = frozenset({"st", "nd", "rd", "th", "+", "−"})
"""What is raised in "1ˢᵗ" or "Na⁺" and is no power."""
_LOWERED = re.compile("(?<=\\d)[₀-₉]+")
_VULGAR = re.compile("([¼-¾⅐-⅞↉])")
_COMPATIBLE = re.compile("[^ℂℍℕℙℚℝℤ𝔸-𝕫]+")
"""Sets of numbers are no letters."""
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("⁄∕", "/"), **dict.fromkeys("−‐‒–﹣", "-"), **dict.fromkeys("’‘‛ʼ′", "'"),
        **dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("∗", "*"), **dict.fromkeys("⋅∙", "·"),
        # They are invisible, or choose a picture.
        **dict.fromkeys("\u00ad\u200b\u200e\u200f\u2060\ufeff\ufe0e\ufe0f"),
    }
)  # fmt: skip
_SPACED_MINUS = re.compile(r"(^|[=(,:≈<>≤≥]|\b(?:is|are|equals)\b)\s*−\s+(?=[\d.])")

_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{\s*(\d{1,30})\s*\}|(\d))\s*(?:\{\s*(\d{1,30})\s*\}|(\d))")
_SPACED_SIGN = re.compile(r"(?<![^\s=(])([-+]) (?=\d+/\d)")
_FONT = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|it|sf|tt)|operatorname|emph|boxed|fbox)\s*\{([^{}]*)\}"
)
_SPACE = re.compile(r"\\(?:[,;: ]|q?quad(?![A-Za-z]))")
_NOTHING = re.compile(r"\\!|\\left(?=[(\[|.\\])|\\right(?=[)\]|.\\])|\\(?=[$%#&])")
_MACROS = {
    **dict.fromkeys(("le", "leq", "leqslant"), "≤"), **dict.fromkeys(("ge", "geq", "geqslant"), "≥"),
    **dict.fromkeys(("ne", "neq"), "≠"), "lt": "<", "gt": ">", "pm": "±", "times": "×", "cdot": "·",
    "approx": "≈", "infty": "∞", "pi": "π", "degree": "°", "circ": "∘",
}  # fmt: skip
_MACRO = re.compile(rf"\\({'|'.join(sorted(_MACROS, key=len, reverse=True))})(?![A-Za-z])")
_WRITTEN = (
    (re.compile(r"\^\s*\{?\s*∘\s*\}?"), "°"),
    (re.compile("<="), "≤"),
    (re.compile(">="), "≥"),
    (re.compile(r"(?<!\d)!="), "≠"),
    (re.compile(r"\+/?-(?=\s?\d)"), "±"),
    (re.compile(r"(?<=[\w)])\*\*(?=[\w(-])"), "^"),
    (re.compile(r"(?<=\d) ?(?:%|per ?cent\b)", re.IGNORECASE), "%"),
    (re.compile(r"([\^_])\{(-?\w+)\}"), r"\1\2"),
    (re.compile(r"(?<![a-z]{2})(?<=[A-Za-z])_(?=\d)"), ""),
    (re.compile(r"\b([A-Za-z]\.) (?=[A-Za-z]\.)"), r"\1"),
)
"""Degrees, relations as they are typed, Python's power, percent, exponents in braces, `H_2O`, and initials
with spaces between them."""

_FORMULA = re.compile(r"(?<![\\$\w])(\$\$?)(?=[^\s$])([^$\n]*[^\s$\\])\1(?![\d$])")
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+)\1(?!`)")
_STRONG = re.compile(r"(?<![\w*\\])(\*\*)(?=[^\s*])((?:[^*\n]|\*(?!\*))*[^\s*])\1(?![\w*])")
_EMPHASIS = re.compile(r"(?<![\w*\\])(\*{1,3})(?=[^\s*])([^*\n]*[^\s*])\1(?![\w*])")
_UNDERLINED = re.compile(r"(?<!\w)_(?=[^\s_])([^_\n]*[^\s_])_(?!\w)")

_GROUPS = re.compile(
    r"(?<![\d.,'])(?:(\d{1,3}(?:[ ']\d{3})+|\d{1,3}(?:\.\d{3})+(?=,\d))(?:,(\d+))?"
    r"|(\d{1,2}(?:,\d{2})+,\d{3}))(?!,?\d)"
)

_QUOTES = re.compile(r"""(["'])(.*)\1|「(.*)」""", re.DOTALL)
_BRACKETS = re.compile(r"\(([^()\[\],;]*)\)")
_LIST = re.compile(r"\d\s+[\d-]")
_ENDS = " .,;:?。"


def plain(text: str) -> str:
    """The text in one way of writing, without marks that only format it.

    Widths, ligatures, minus signs, hyphens, quotation marks and relations have one form each; powers are
    "m^2", subscripts of numbers "11_2", fractions ("1½", `1\\frac12`) "1 1/2"; percent is "%". Fonts,
    boxes, emphasis, code and formulas lose their marks where these stand in pairs: `2*3`, `A*` and
    `__init__` have none. Thousands that are set apart by spaces, apostrophes or dots before a decimal
    comma, or in India's groups, are joined; a comma or dot that could be either is read as in English.
    """
    text = _RAISED.sub(_raised, text)
    text = _LOWERED.sub(lambda match: f"_{match[0]}", text)
    text = _VULGAR.sub(r" \1", text)
    text = _COMPATIBLE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = _SPACED_MINUS.sub(r"\1 -", text).translate(_SIGNS).replace("{,}", ",")
    text = _FRACTION.sub(lambda match: f" {match[1] or match[2]}/{match[3] or match[4]}", text)
    text = _SPACED_SIGN.sub(r"\1", text)
    for _ in range(3):  # A font may stand within another, and within a box.
        text = _FONT.sub(r"\1", text)
    text = _NOTHING.sub("", _SPACE.sub(" ", _FORMULA.sub(r"\2", text)))
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
        if text.count(opening) == text.count(closing):
            text = text.replace(opening, "").replace(closing, "")
    text = _MACRO.sub(lambda match: _MACROS[match[1]], text)
    for pattern in (_CODE, _STRONG, _EMPHASIS):
        text = pattern.sub(r"\2", text)
    text = _UNDERLINED.sub(r"\1", text)
    for pattern, form in _WRITTEN:
        text = pattern.sub(form, text)
    return _GROUPS.sub(_ungrouped, text).strip()


def _raised(power: re.Match[str]) -> str:
    text = unicodedata.normalize("NFKC", power[0])
    return text if text in _ORDINALS else f"^{text}"


def _ungrouped(number: re.Match[str]) -> str:
    whole = re.sub(r"\D", "", number[1] or number[3])
    return whole if number[2] is None else f"{whole}.{number[2]}"


def bare(text: str) -> str:
    """A plain text without quotation marks or round brackets around all of it, and without the mark at the
    end of a sentence. A factorial, an ellipsis behind digits, a list in brackets and a text of such marks
    alone stay.
    """
    for _ in range(4):
        before, text = text, _without_end(text.strip())
        quoted, inside = _QUOTES.fullmatch(text), _BRACKETS.fullmatch(text)
        if quoted is not None and (inner := (quoted[2] or quoted[3] or "").strip()):
            text = text if (quoted[1] or "」") in inner else inner
        elif inside is not None and inside[1].strip() and not _LIST.search(inside[1]):
            text = inside[1].strip()
        if text == before:
            break
    return text


def _without_end(text: str) -> str:
    if text.endswith("..") and text.rstrip(".")[-1:].isdigit():
        return text
    shorter = text.rstrip(f"{_ENDS}!")
    if "!" in text[len(shorter) :] and not (len(shorter) > 1 and shorter[-2:].isalpha()):
        shorter = text.rstrip(_ENDS)
    return shorter or text
