"""The beginning or the latest line of a text in Markdown, on one line and without its marks.

Knows Markdown's marks; draws nothing. What it gives is plain text: it may look like HTML and is to be shown
as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

EXCERPT_LENGTH = 90
"""Characters that a card shows of an output at most."""

_READ = 600
"""Characters of a text that are looked at: as many as hold an excerpt, whatever marks it has."""

_ENDS = ".!?:;,…。！？：；，、،؛؟"
"""After these, the next paragraph or item follows without a sign of its own."""

_LOOSE_MARK = re.compile(r"(?<!\S)(?:\*{1,3}|_{2,3}|`{1,3}|~~)(?=\w)|(?<=\w)(?:\*{2,3}|`{3})(?!\S)")
"""A mark whose partner lies beyond what was looked at, or was not written yet."""

_RULE = re.compile(r"[\s|:=+*_`~#>-]*")
"""A line of nothing but marks: a fence, a rule, the line below a table's head."""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - a command that draws no card needs none

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def excerpt(text: str, length: int = EXCERPT_LENGTH) -> str:
    """The first `length` characters of a text as a reader sees it; cut ones end with an ellipsis."""
    read = text[:_READ]
    plain = _plain(read)
    if len(plain) <= length and len(read) == len(text):
        return plain
    return plain[: length - 1].rstrip() + "…"


def last_line(text: str, length: int = EXCERPT_LENGTH) -> str:
    """The last line of a text that is being written, of a long one its end, after an ellipsis."""
    for line in reversed(text[-_READ:].splitlines()):
        if not _RULE.fullmatch(line):
            plain = _plain(
                " · ".join(line.strip().strip("|").split("|")) if line.lstrip()[0] == "|" else line
            )
            return plain if len(plain) <= length else "…" + plain[1 - length :].lstrip()
    return ""


# A page asks for two of each of a thousand steps' outputs again and again. It holds what is looked at.
@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    parts: list[str] = []
    for block in _blocks(_parser().parse(text)):
        if part := " ".join(_LOOSE_MARK.sub("", block).split()):
            parts += [part] if not parts or parts[-1][-1] in _ENDS else ["·", part]
    return " ".join(parts)


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    """The text of each paragraph, heading, item, cell and block of code."""
    for token in tokens:
        if token.type == "inline":
            yield "".join(_inline(token.children or []))
        elif token.type in ("fence", "code_block"):
            yield token.content


def _inline(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield from _inline(token.children or [])
        else:
            yield token.content
