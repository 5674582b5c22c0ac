"""The difference between two texts on the page: what went is struck out, what came underlined.

Knows two texts and the text block component; knows neither workflows nor runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from conductor.text.formatting import quantity
from conductor.text.word_diff import DiffPiece, Grain, TextDiff, compare_texts
from pages.components.widgets.text_block import Stretch, Tone, text_block

_TONES: dict[str, Tone] = {"same": "", "removed": "removed", "added": "added"}

_GRAINS: dict[Grain, str] = {
    "words": "",
    "lines": "compared line by line",
    "whole": "too different to compare in parts",
}

_LONG = 12_000
_BESIDE = 400
"""From so many characters of both texts together, so many are shown beside each change."""


def text_diff(
    old: str,
    new: str,
    *,
    key: str,
    label: str,
    notes: Sequence[str] = (),
    context: int | None = None,
    heading: bool = True,
    height: int | None = None,
) -> TextDiff:
    """Show how `new` differs from `old`, and give the difference.

    With `context`, of what both have only so many characters beside each change are shown, and how many are
    left out; by default that is done with long texts, whose changes could not be found otherwise.
    Without `heading` the label is for screen readers only. `height` is in pixels.
    """
    diff = compare_texts(old, new)
    if context is None and len(old) + len(new) > _LONG:
        context = _BESIDE
    text_block(
        stretches(diff.pieces, context=context),
        key=key,
        label=label,
        notes=[*notes, *diff_notes(diff)],
        heading=heading,
        copy=False,
        height=height,
    )
    return diff


def diff_notes(diff: TextDiff) -> list[str]:
    """The notes on a difference, beside its text."""
    if diff.equal:
        return ["the same"]
    # Of texts that are not the same, never all of it.
    common = f"{min(max(round(diff.share * 100), 1), 99)}% in common" if diff.share else "nothing in common"
    return [*([common] if diff.grain != "whole" else []), *filter(None, [_GRAINS[diff.grain]])]


def stretches(pieces: Sequence[DiffPiece], *, context: int | None = None) -> list[Stretch]:
    """The pieces as tinted stretches; see `text_diff` for `context`."""
    parts: list[Stretch] = []
    for at, piece in enumerate(pieces):
        if piece.kind == "same" and context is not None and len(pieces) > 1:
            before = context if at > 0 else 0
            after = context if at < len(pieces) - 1 else 0
            parts += _shortened(piece.text, before=before, after=after)
        else:
            title = "" if piece.kind == "same" else piece.kind.capitalize()
            parts.append(Stretch(piece.text, _TONES[piece.kind], title))
    return parts


def _shortened(text: str, *, before: int, after: int) -> list[Stretch]:
    """The ends of a text that both have, as far as they stand beside a change."""
    left_out = len(text) - before - after
    if left_out < 80:
        return [Stretch(text)]
    gap = Stretch(f" [… {quantity(left_out, 'character')} the same …] ", "quiet")
    ends = (Stretch(text[:before]), gap, Stretch(text[len(text) - after :]))
    return [stretch for stretch in ends if stretch.text]
