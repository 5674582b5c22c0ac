r"""Finds mathematics in Markdown: `$..$`, `$$..$$`, `\(..\)`, `\[..\]` and TeX's own environments.

Rules for the parser, which leave tokens of the types in `TYPES` whose content is TeX. They are not those of
mdit-py-plugins, because an amount of dollars is no mathematics, and because a search for the end of a formula
must not go through all that follows.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

TYPES = {"formula": False, "formula_display": True, "formula_block": True}
"""The types of tokens, and whether each stands by itself."""

LONGEST = 4_000
"""Characters of a formula at most; what is longer stays text."""

_LINES = 100

_ENDS = {"$$": "$$", r"\[": r"\]", r"\(": r"\)"}

ENVIRONMENT = re.compile(
    r"\\begin\{((?:equation|align|alignat|aligned|gather|gathered|multline|cases|CD|eqnarray"
    r"|[bBpvV]?matrix|smallmatrix|array|split)\*?)\}"
)
"""The beginning of a formula that is an environment of its own, with its name."""

_MONEY = re.compile(r"\d[\d.,]*(?:\s*(?:[kKMB]|bn|million|billion))?(?:\s+|[-–/]\s*)[^\W\d_]{2,}")
"""An amount, and a word after it."""


def find_mathematics(parser: MarkdownIt) -> None:
    ends = ["paragraph", "reference", "blockquote", "list", "table"]
    parser.inline.ruler.before("escape", "mathematics", _inline)
    parser.block.ruler.before("fence", "mathematics", _block, {"alt": ends})


# -- in a line ---------------------------------------------------------------------------------------


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    begin = state.src[state.pos : state.pos + 2]
    if begin in _ENDS:
        start, end = state.pos + 2, _ENDS[begin]
        until = _end(state.src, end, start, min(state.posMax, start + LONGEST))
        kind, length = "formula" if begin == r"\(" else "formula_display", len(end)
    elif begin[0] == "$":
        start, length, kind = state.pos + 1, 1, "formula"
        until = _dollar(state.src, start, state.posMax)
    else:
        return False
    if until < 0 or not state.src[start:until].strip():
        return False
    if not silent:
        token = state.push(kind, "", 0)
        token.content = state.src[start:until].strip()
    state.pos = until + length
    return True


def _end(text: str, end: str, start: int, limit: int) -> int:
    """Where `end` is that no backslash takes back, or -1."""
    at = text.find(end, start, limit)
    while at > 0 and end[0] == "$" and text[at - 1] == "\\":
        at = text.find(end, at + 1, limit)
    return at


def _dollar(text: str, start: int, last: int) -> int:
    """Where the formula after a single dollar sign ends; -1 where the sign means dollars, or itself."""
    if start >= last or text[start].isspace():
        return -1
    until = _end(text, "$", start, min(last, start + LONGEST))
    if until <= start or text[until - 1].isspace():
        return -1
    after = text[until + 1 : until + 2]
    path = after.isalpha() and not (text[until - 1].isalnum() or text[until - 1] in ")}]")
    if after.isdigit() or path or _MONEY.match(text, start, until):
        return -1
    return until


# -- by itself ---------------------------------------------------------------------------------------


def _block(state: StateBlock, startLine: int, endLine: int, silent: bool) -> bool:
    if state.is_code_block(startLine):
        return False
    first = state.bMarks[startLine] + state.tShift[startLine]
    begin = state.src[first : first + 2]
    named = ENVIRONMENT.match(state.src, first) if begin == r"\b" else None
    if named is not None:
        end, inside = f"\\end{{{named[1]}}}", first
    elif begin in ("$$", r"\["):
        end, inside = _ENDS[begin], first + 2
    else:
        return False
    until = _end(state.src, end, inside, inside + LONGEST)
    if until < 0:
        return False
    line = _line_of(state, until, startLine, min(endLine, startLine + _LINES))
    if line is None or state.src[until + len(end) : state.eMarks[line]].strip() not in ("", ".", ",", ";"):
        return False
    tex = _without_margin(state, inside, until + (len(end) if named else 0), startLine, line)
    if not tex:
        return False
    if not silent:
        token = state.push("formula_block", "", 0)
        token.content, token.map, token.block = tex, [startLine, line + 1], True
        state.line = line + 1
    return True


def _line_of(state: StateBlock, place: int, start: int, last: int) -> int | None:
    """The line with this place, where all lines before it belong to the block and none is blank."""
    for line in range(start, last):
        if state.sCount[line] < state.blkIndent or state.isEmpty(line):
            return None
        if state.bMarks[line] + state.tShift[line] <= place < state.eMarks[line]:
            return line
    return None


def _without_margin(state: StateBlock, start: int, end: int, first: int, last: int) -> str:
    """The text between these places without what a list or a quote puts before each line."""
    pieces = []
    for line in range(first, last + 1):
        begin = max(start, state.bMarks[line] + state.tShift[line])
        pieces.append(state.src[begin : min(end, state.eMarks[line])])
    return "\n".join(pieces).strip()
