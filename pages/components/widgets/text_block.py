"""Text from models and people with a copy button: shown letter for letter, or its Markdown rendered.

A Streamlit component (v2). Knows text in parts, nothing of runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from conductor.markdown import STYLES
from pages.components.streamlit_patches.component import component
from pages.components.widgets.notable import Notable, notable_data, on_noted

HTML = """<div class="text-block">
<div class="text-block-head"><span class="text-block-heading"></span><span class="text-block-notes"></span>
<button class="rendered-view" type="button" hidden>Source</button>
<button class="text-block-copy" type="button">Copy</button></div>
<p class="rendered-problem" role="note" hidden></p>
<div class="text-block-legend" hidden><div class="text-block-bar" role="img"></div>
<ul class="text-block-sources"></ul></div>
<div class="text-block-body" tabindex="0" role="region"></div>
</div>"""

SHEETS = "text_block.css notable.css rendered_text.css text_block_legend.css"

Tone = Literal[
    "", "quiet", "query", "task", "tool", "seen", "removed", "added",
    "seen-1", "seen-2", "seen-3", "seen-4", "seen-5", "seen-6", "seen-7", "seen-8",
]  # fmt: skip


class Stretch(NamedTuple):
    """A stretch of text, how it is tinted, and the text for a pointer resting on it.

    `source` is the place of its entry in the legend, `chip` a word before it that is no part of the text.
    """

    text: str
    tone: Tone = ""
    title: str = ""
    source: int | None = None
    chip: str = ""


class LegendEntry(NamedTuple):
    """One place that a text comes from, with its part of the whole (0 to 1) and the same in words.

    `mark` is a letter or number shown where there is no room for the `name`, `amount` a number
    of `unit`, such as "tokens".
    """

    name: str
    mark: str
    tone: Tone
    part: float
    amount: str
    percent: str
    unit: str = ""
    detail: str = ""
    notes: tuple[str, ...] = ()


_block = component("conductor_text", __file__, html=HTML, styles=STYLES, css=SHEETS, js="text_block_mount.js")


def text_block(
    text: str | Sequence[Stretch],
    *,
    key: str,
    label: str,
    notes: Sequence[str] = (),
    legend: Sequence[LegendEntry] = (),
    heading: bool = True,
    framed: bool = True,
    copy: bool = True,
    live: bool = False,
    height: int | str | None = None,
    steady: bool = False,
    notable: Notable | None = None,
    rendering: Mapping[str, object] | None = None,
) -> None:
    """Show `text` under its `label` and `notes` (such as "offline").

    A `legend` above it shows how much of the text comes from where. Without `heading` the label is for
    screen readers only. `height` (pixels) makes the text scroll inside; `steady` gives it
    that height from its first word on, so that what stands below stays where it is. `notable` is what people
    write on its words. With a `rendering` it is shown as `rendered_text` has it.
    """
    parts = [Stretch(text)] if isinstance(text, str) else text
    data = {
        "parts": [list(part) for part in parts],
        "label": label,
        "notes": list(notes),
        "legend": [entry._asdict() for entry in legend],
        "heading": heading,
        "framed": framed,
        "copy": copy,
        "live": live,
        "height": height,
        "steady": steady,
        "notable": notable_data(notable, key=key),
        "rendering": rendering,
    }
    _block(key=key, data=data, on_noted_change=on_noted(notable, key=key))
