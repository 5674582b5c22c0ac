"""A model's text as a reader wants it: its Markdown rendered, or its source, with a copy button.

A Streamlit component (v2). The HTML is made by `conductor/markdown`, from which nothing can run or load.
Where letters matter, as in a request or a difference, `text_block` is the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from conductor.markdown import LONGEST, STYLES, Growing, rendered
from pages.components.streamlit_patches.component import component
from pages.components.streamlit_patches.katex import katex_script
from pages.components.widgets.notable import Notable, notable_data, on_noted

HTML = """<div class="text-block rendered">
<div class="text-block-head"><span class="text-block-heading"></span><span class="text-block-notes"></span>
<button class="rendered-view" type="button">Source</button>
<button class="text-block-copy" type="button">Copy</button></div>
<p class="rendered-problem" role="note" hidden></p>
<div class="text-block-body" tabindex="0" role="region"></div>
</div>"""

SHEETS = "text_block.css notable.css rendered_text.css"

_component = component(
    "conductor_rendered_text",
    __file__,
    html=HTML,
    styles=STYLES,
    css=SHEETS,
    js="rendered_text_mount.js",
)

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
    data = {
        "text": text[before:],
        "before": before,
        "blocks": [f'<p dir="auto">{escape(line)}</p>' for line in lines] or document.blocks,
        "marked": document.marked,
        "problem": document.problem,
        "katex": katex_script() if document.mathematics else "",
        "label": label,
        "notes": tuple(notes),
        "heading": heading,
        "framed": framed,
        "copy": copy,
        "live": live,
        "height": height,
        "steady": steady,
        "notable": notable_data(notable, key=key),
    }
    _component(key=key, data=data, on_noted_change=on_noted(notable, key=key))
