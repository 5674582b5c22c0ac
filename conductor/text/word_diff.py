"""Compares two texts word by word.

Pure, and bounded in time for texts of any length: texts that would take too long word by word are compared
line by line, as far as that goes. `TextDiff.grain` is the unit that was used.
Knows texts only, nothing of workflows or runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from conductor.text.alignment import aligned

Kind = Literal["same", "removed", "added"]
Grain = Literal["words", "lines", "whole"]

_DENSE = "\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_MARKS = r"!-/:-@\[-\^`{-~¡-©«-´¶-¹»-¿\u2010-\u2027\u2030-\u205e\u3000-\u303f\uff00-\uff0f\uff1a-\uff20"
_WORD = re.compile(rf"(\d+(?:[.,]\d+)+|[{_DENSE}]|[^\s{_MARKS}{_DENSE}]+|[{_MARKS}]|\A)(\s*)")
_LINE = re.compile(r"([^\n]*)(\n|\Z)")

_Token = tuple[str, str]


class DiffPiece(NamedTuple):
    """A stretch of text that both have, or only the old one, or only the new one."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The pieces in the order of reading; where a piece was replaced, the removed comes before the added.

    The texts of same and removed pieces are the old text exactly, those of same and added the new one.
    `grain` is the smallest thing that was compared; "whole" where that left nothing in common.
    """

    pieces: tuple[DiffPiece, ...]
    grain: Grain = "words"

    @property
    def equal(self) -> bool:
        return all(piece.kind == "same" for piece in self.pieces)

    @property
    def share(self) -> float:
        """What the two have in common, from 0 (nothing) to 1 (all), as a share of both texts' characters."""
        both = sum(len(piece.text) * (2 if piece.kind == "same" else 1) for piece in self.pieces)
        same = sum(2 * len(piece.text) for piece in self.pieces if piece.kind == "same")
        return same / both if both else 1.0


def compare_texts(old: str, new: str) -> TextDiff:
    """How `new` differs from `old`. White space counts, but never holds two texts together."""
    if old == new:
        return TextDiff((DiffPiece("same", old),) if old else ())
    by_word = _compared(_WORD, old, new)
    if by_word is not None:
        return TextDiff(by_word)
    by_line = _compared(_LINE, old, new, needs_all=False) or ()
    in_common = any(piece.kind == "same" for piece in by_line)
    return TextDiff(by_line, "lines" if in_common else "whole")


def _compared(
    pattern: re.Pattern[str], old: str, new: str, *, needs_all: bool = True
) -> tuple[DiffPiece, ...] | None:
    """The pieces, or None if not all could be compared in time."""
    olds, news = _tokens(pattern, old), _tokens(pattern, new)
    pairs, whole = aligned([word for word, _ in olds], [word for word, _ in news])
    if needs_all and not whole:
        return None
    return tuple(_merged(_readable(list(_merged(_parts(olds, news, pairs))))))


def _tokens(pattern: re.Pattern[str], text: str) -> list[_Token]:
    return [(word, space) for word, space in pattern.findall(text) if word or space]


def _parts(
    old: Sequence[_Token], new: Sequence[_Token], pairs: Iterable[tuple[int, int]]
) -> Iterator[DiffPiece]:
    """Pieces of single words, from the pairs of words that are the same, in order."""
    i = j = 0
    for same_old, same_new in (*pairs, (len(old), len(new))):
        yield from (DiffPiece("removed", word + space) for word, space in old[i:same_old])
        yield from (DiffPiece("added", word + space) for word, space in new[j:same_new])
        i, j = same_old + 1, same_new + 1
        if same_old == len(old):
            return
        (word, old_space), (_, new_space) = old[same_old], new[same_new]
        if old_space == new_space:
            yield DiffPiece("same", word + old_space)
        else:
            yield from (
                DiffPiece("same", word),
                DiffPiece("removed", old_space),
                DiffPiece("added", new_space),
            )


def _merged(pieces: Iterable[DiffPiece]) -> Iterator[DiffPiece]:
    """Neighbours of one kind as one piece, removed before added, none empty."""
    texts: dict[Kind, list[str]] = {"same": [], "removed": [], "added": []}

    def flush() -> Iterator[DiffPiece]:
        for kind, parts in texts.items():
            text = "".join(parts)
            parts.clear()
            if text:
                yield DiffPiece(kind, text)

    last: Kind = "same"
    for piece in pieces:
        if (piece.kind == "same") != (last == "same"):
            yield from flush()
        texts[piece.kind].append(piece.text)
        last = piece.kind
    yield from flush()


def _readable(pieces: list[DiffPiece]) -> Iterator[DiffPiece]:
    """Without the odd word in common inside a long change, which only makes it hard to read."""
    changed = [0]
    for piece in pieces:
        if piece.kind == "same":
            changed.append(0)
        else:
            changed[-1] += len(piece.text)
    seen = 0
    for piece in pieces:
        if piece.kind != "same":
            yield piece
            continue
        before, after = changed[seen], changed[seen + 1]
        seen += 1
        if 3 * len(piece.text) < min(before, after):
            yield from (DiffPiece("removed", piece.text), DiffPiece("added", piece.text))
        else:
            yield piece
