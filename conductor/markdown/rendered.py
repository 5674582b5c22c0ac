"""A text in Markdown as blocks of HTML, whole or while it grows; or why it is better read as it is.

What is read is bounded in length, nesting and parts, so that no text takes long.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from time import monotonic, thread_time

from markdown_it import MarkdownIt
from markdown_it.token import Token

from conductor.markdown import links
from conductor.markdown.formula_rules import TYPES, find_mathematics
from conductor.markdown.half_written import half_written
from conductor.markdown.writer import Formula, Writer, formula_source
from conductor.text.json_text import portable

STYLES = Path(__file__).with_name("markdown.css").read_text(encoding="utf-8")
"""How the HTML looks, inside an element of the class `markdown` that sets the colours it names."""

LONGEST = 100_000
DEEPEST = 24
MOST_PARTS = 20_000
"""Characters of a text, levels of lists and quotes in one another, and elements that are read at most."""

_LARGEST = 2_000_000
"""Characters of HTML."""

_MARKS = "[]!*_`$\\~|<>&"
"""The signs whose meaning takes the parser longest to find."""

_SHARE = 0.02
"""Of the time of one core, for a text that grows."""

_LINE_END = re.compile(r"\r\n?|\n")
_HALF = re.compile("[\ud800-\udfff]")

_UNMARKED = {"paragraph_open", "paragraph_close", "inline", "text", "softbreak"}


@dataclass(frozen=True, slots=True)
class Rendered:
    """The HTML of a text, one entry a block; or none and a `problem`, a sentence why.

    `marked`: there is more than plain paragraphs. `mathematics`: there are formulas, written as TeX.
    """

    blocks: tuple[str, ...]
    marked: bool = False
    mathematics: bool = False
    problem: str = ""

    @property
    def html(self) -> str:
        return "".join(self.blocks)


@lru_cache(maxsize=64)
def rendered(text: str) -> Rendered:
    """The whole text, with TeX for a script to draw."""
    return _rendered(text, formula=formula_source)


@lru_cache(maxsize=16)
def with_mathml(text: str) -> Rendered:
    """The whole text, with formulas that a browser draws without a script."""
    from conductor.markdown.mathml import mathml  # noqa: PLC0415 - read at once only where a report is made

    return _rendered(text, formula=mathml)


@dataclass(frozen=True, slots=True)
class _Growth:
    """What is known of a text that grows: what was `seen` of it, the `latest` that is shown, how much is
    `settled` and shown by `stable` for good, and when it may be read again.
    """

    seen: str = ""
    settled: int = 0
    stable: Rendered = Rendered(())
    latest: Rendered = Rendered(())
    again: float = 0.0


class Growing:
    """Texts while they are written, by any key: only what may still change is read again.

    Where that is much, such as one long list, it is read so seldom that reading takes `_SHARE` of the time;
    in between what was shown last is shown. A reference whose address comes later stays text until the text
    is whole. Keeps the newest `most` texts. `now` is a clock in seconds.
    """

    def __init__(self, most: int = 32, *, now: Callable[[], float] = monotonic) -> None:
        self._most, self._now = most, now
        self._growths: OrderedDict[Hashable, _Growth] = OrderedDict()

    def rendered(self, key: Hashable, text: str) -> Rendered:
        if len(text) > LONGEST:
            return _too_long(text)
        before = self._growths.pop(key, _Growth())
        if not text.startswith(before.seen):
            before = _Growth()
        now = self._now()
        if now >= before.again:
            began = thread_time()
            before = self._read(before, text)
            before = replace(before, again=now + (thread_time() - began) / _SHARE)
        self._growths[key] = before
        while len(self._growths) > self._most:
            self._growths.popitem(last=False)
        return before.latest

    def _read(self, before: _Growth, text: str) -> _Growth:
        settled, stable = before.settled, before.stable
        # As long as it was: halves of characters are joined when the text is whole.
        tail = _HALF.sub("\ufffd", text[settled:])
        try:
            tokens = _read(half_written(tail))
            blocks = _split(tokens)
            # The line that is being written may turn out to belong to the block before it.
            done, last = blocks[:-2], blocks[-2:]
            if done:
                settled += _offset(tail, last[0][0].map)
                stable = _joined(stable, _write(done, formula=formula_source))
            now = _joined(stable, _write(last, formula=formula_source, growing=True))
        except _TooMuch as reason:
            now = Rendered((), problem=str(reason))
        return _Growth(text, settled, stable, now)


class _TooMuch(Exception):
    """Why a text is not rendered."""


def _rendered(text: str, *, formula: Formula) -> Rendered:
    if len(text) > LONGEST:
        return _too_long(text)
    try:
        return _write(_split(_read(portable(text))), formula=formula)
    except _TooMuch as reason:
        return Rendered((), problem=str(reason))


def _too_long(text: str) -> Rendered:
    return Rendered((), problem=f"{len(text):,} characters; up to {LONGEST:,} are shown rendered.")


# -- reading -------------------------------------------------------------------------------------------


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        return links.is_linkable(url)


def _parser() -> MarkdownIt:
    options = {"html": False, "breaks": True, "maxNesting": DEEPEST}
    parser = _Parser("commonmark", options).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    find_mathematics(parser)
    parser.core.ruler.after("block", "bounded", lambda state: _bounded(state.tokens))
    return parser


def _bounded(tokens: Sequence[Token]) -> None:
    """Raises `_TooMuch`; blocks are read before what is in their lines."""
    # What is nested deeper than the parser goes is left out by it.
    if any(token.level >= DEEPEST - 1 for token in tokens):
        raise _TooMuch(f"Lists and quotes are nested more than {DEEPEST // 2} levels deep.")
    if sum(1 + len(token.children or ()) for token in tokens) > MOST_PARTS:
        raise _TooMuch(f"More than {MOST_PARTS:,} parts.")


_PARSER = _parser()


def _read(text: str) -> list[Token]:
    if sum(map(text.count, _MARKS)) > MOST_PARTS:
        raise _TooMuch(f"More than {MOST_PARTS:,} signs of Markdown.")
    tokens = _PARSER.parse(text)
    _bounded(tokens)
    return tokens


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """The tokens of each block that stands in no other."""
    ends = [0, *(at + 1 for at, token in enumerate(tokens) if token.level == 0 and token.nesting != 1)]
    return [list(tokens[start:end]) for start, end in pairwise(ends)]


def _offset(text: str, lines: Sequence[int] | None) -> int:
    """Where the first of these lines begins."""
    assert lines is not None, "a block has lines"
    ends = (end.end() for end in _LINE_END.finditer(text))
    return next(islice(ends, lines[0] - 1, None)) if lines[0] else 0


# -- writing -------------------------------------------------------------------------------------------


def _write(blocks: Sequence[Sequence[Token]], *, formula: Formula, growing: bool = False) -> Rendered:
    written, size = [], 0
    for at, block in enumerate(blocks):
        # Code that is being written is given its colours when it is whole.
        written.append(Writer(formula=formula, coloured=not (growing and at == len(blocks) - 1)).html(block))
        size += len(written[-1])
        if size > _LARGEST:
            raise _TooMuch("Too large.")
    kinds = {kind for block in blocks for token in block for kind in _kinds(token)}
    plain = "<a " not in "".join(written)
    return Rendered(tuple(written), not (plain and kinds <= _UNMARKED), bool(kinds & TYPES.keys()))


def _kinds(token: Token) -> list[str]:
    return [token.type, *(child.type for child in token.children or ())]


def _joined(first: Rendered, then: Rendered) -> Rendered:
    marked, mathematics = first.marked or then.marked, first.mathematics or then.mathematics
    return Rendered((*first.blocks, *then.blocks), marked, mathematics)
