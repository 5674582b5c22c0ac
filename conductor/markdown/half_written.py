r"""Markdown whose end is still being written, read as it will most likely go on: no sign is shown half.

Emphasis and code are closed, of a link its words are left, and formulas, the head of a table, and a line that
may underline a heading or be a rule wait until they are whole. Code in a fence stays as it is: the parser
closes it. Knows the text alone, and goes through it once.
"""

from __future__ import annotations

import re

from conductor.markdown.formula_rules import ENVIRONMENT, LONGEST

_FENCE = re.compile(r"^[ >\t]*(?:```|~~~)", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n|^[ >\t]*(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]", re.MULTILINE)
"""Where signs before have no meaning for those behind."""
_WAITS = re.compile(r"(?:\A|(?<=\n))(?:(?<!\|\n)\|[^\n]*(?:\n[ |:-]*)?|[-=*_]{1,80})\Z")
_ENVIRONMENT = re.compile(
    rf"^[ >\t]*(?:{ENVIRONMENT.pattern}|\\(?:b[a-z]{{0,4}}(?:\{{[A-Za-z]{{0,11}}\*?)?)?\Z)", re.M
)
"""One that begins a line, or what may become its beginning."""
_LINK = re.compile(r"!?\[([^\[\]\n]{0,999})(?:\](?:\([^()\s]{0,999})?)?\Z")
_SIGN = re.compile(r"\\.|`+|\$\$?|\*+|_+|~+", re.DOTALL)
_ENDS = {r"\(": r"\)", r"\[": r"\]"}
_LONGEST_FORMULA = {"$": 80, "$$": LONGEST, r"\(": 400, r"\[": LONGEST}
"""Characters from which on an end is no more waited for: a dollar sign may mean dollars."""


def half_written(text: str) -> str:
    """The text, with its end as above."""
    if len(_FENCE.findall(text)) % 2:
        return text
    text = _without_environment(_WAITS.sub("", text))
    begin = max((match.end() for match in _PARAGRAPH.finditer(text)), default=0)
    opened, text = _opened(text, begin)
    for sign, at in reversed(opened):
        if sign in _LONGEST_FORMULA:
            waits = len(text) - at < _LONGEST_FORMULA[sign] and not (sign == "$" and text[at + 1].isdigit())
            text = text[:at] if waits else text
        elif len(text.rstrip()) == at + len(sign):
            text = text[:at]
        else:
            text = text.rstrip() + sign
    return text


def _without_environment(text: str) -> str:
    """The text up to an environment of formulas whose end has not come."""
    for match in _ENVIRONMENT.finditer(text, max(text.rfind("\n\n") + 1, len(text) - LONGEST)):
        if match[1] is None or f"\\end{{{match[1]}}}" not in text[match.end() :]:
            return text[: match.start()]
    return text


def _opened(text: str, begin: int) -> tuple[list[tuple[str, int]], str]:
    """The signs that are open at the end, each with its place; and the text without a half sign or link."""
    opened: list[tuple[str, int]] = []
    for match in _SIGN.finditer(text, begin):
        sign, (at, end) = match[0], match.span()
        if opened and opened[-1][0][0] in "`$\\":
            if sign == _ENDS.get(opened[-1][0], opened[-1][0]):
                opened.pop()
            continue
        while sign and opened and sign.startswith(opened[-1][0]):
            sign = sign[len(opened.pop()[0]) :]
        if sign and end == len(text) and sign != "\\":
            return opened, text[: end - len(sign)]
        stands_apart = sign[:1] in "*_~$" and sign != "$$" and text[end : end + 1].isspace()
        in_words = sign[:1] in "*_~" and text[at - 1 : at].isalnum()
        if sign and (sign[0] != "\\" or sign in _ENDS) and not stands_apart and not in_words:
            opened.append((sign, at))
    in_code = bool(opened) and opened[-1][0][0] in "`$\\"
    return opened, text if in_code else _LINK.sub(r"\1", text)
