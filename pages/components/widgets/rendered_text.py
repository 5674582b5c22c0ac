"""A model's text as a reader wants it: its Markdown rendered, or its source, with a copy button.

The HTML is made by `conductor/markdown`, from which nothing can run or load. Where letters matter, as in a
request or a difference, `text_block` alone is the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from conductor.markdown import LONGEST, Growing, Rendered, rendered
from pages.components.streamlit_patches.katex import katex_script
from pages.components.widgets.notable import Notable
from pages.components.widgets.text_block import text_block

_growing = Growing()

_TAIL = 20_000
"""Characters of a text that are shown while it is written and too long to be rendered: its end."""


def rendered_text(
    text: str,
    *,
    key: str,
    label: str,
    notes: Sequence[str] = (),
    heading: bool = True,
    framed: bool = True,
    copy: bool = True,
    live: bool = False,
    waiting: str = "",
    height: int | str | None = None,
    steady: bool = False,
    notable: Notable | None = None,
) -> None:
    """Show `text` under its `label` and `notes` (such as "offline"); see `text_block` for the rest.

    `live`: it is still being written; before its first word `waiting` is shown, letter for letter. `notable`
    is what people write on its words.
    """
    document = _growing.rendered(key, text) if live else rendered(text)
    lines = () if text.strip() else waiting.splitlines()
    before = len(text) - _TAIL if live and len(text) > LONGEST else 0
    blocks = [f'<p dir="auto">{escape(line)}</p>' for line in lines] or document.blocks
    text_block(
        text[before:],
        key=key,
        label=label,
        notes=notes,
        heading=heading,
        framed=framed,
        copy=copy,
        live=live,
        height=height,
        steady=steady,
        notable=notable,
        rendering=rendering(document) | {"before": before, "blocks": blocks},
    )


def rendering(document: Rendered) -> dict[str, object]:
    """What the browser is given of `document`."""
    return {
        "blocks": document.blocks,
        "marked": document.marked,
        "problem": document.problem,
        "katex": katex_script() if document.mathematics else "",
    }
