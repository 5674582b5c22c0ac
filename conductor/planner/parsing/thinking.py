"""Separates the `<think>` blocks of a completion from the rest of it.

Knows the two tags and nothing of plans. Reasoning servers often strip the opening tag, and a cut
completion has no closing one: both are understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from conductor.workflow.plan_report import Span

_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A completion split in two.

    `body` has the completion's length, with blanks in place of thinking, so offsets agree. `blocks`
    are the thinking's spans, tags included, in ascending order; `thinking` is their text without tags.
    """

    body: str
    blocks: tuple[Span, ...]
    thinking: str


def split(text: str) -> Spoken:
    """Separate thinking from the rest.

    A closing tag without an opening one makes everything before it thinking; an opening tag without
    a closing one, everything after it. A block with blocks inside it lasts until its own closing tag, where
    there is one.
    """
    blocks: list[Span] = []
    opened: int | None = None
    nested = 0
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if opened is None:
                opened, nested = tag.start(), 0
            else:
                nested += 1
        elif opened is not None:
            blocks.append((opened, tag.end()))
            opened = None
        elif nested:
            blocks[-1] = (blocks[-1][0], tag.end())
            nested -= 1
        else:
            blocks = [(0, tag.end())]
    if opened is not None:
        blocks.append((opened, len(text)))
    inner = (_TAG.sub("", text[start:end]).strip() for start, end in blocks)
    return Spoken(
        body=_blanked(text, blocks),
        blocks=tuple(blocks),
        thinking="\n\n".join(part for part in inner if part),
    )


def _blanked(text: str, blocks: list[Span]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in blocks:
        pieces += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*pieces, text[at:]])
