"""The beginning of every step, in the browser before it is asked for: what is seen of a step that a person
selects, until the server has drawn it.

A Streamlit component (v2). It knows texts and the names of a step's parts, no session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from conductor.markdown import STYLES, rendered
from conductor.workflow.model import MAX_STEPS
from pages.components.streamlit_patches.component import component
from pages.components.widgets.rendered_text import rendering
from pages.components.widgets.text_block import HTML, SHEETS, Stretch

MOST = 1_500
"""Characters of a text: what is seen of it without scrolling, and a little more."""

_component = component(
    "conductor_step_preview",
    __file__,
    html=f"""<div class="step-preview">
<div class="preview-head"><h3></h3><span class="preview-worker"></span></div>
<div class="preview-parts"></div><p class="preview-state"></p>
<p class="preview-instruction"></p>{HTML}</div>""",
    styles=STYLES,
    css=f"{SHEETS} step_preview.css",
    js="step_preview.js",
)


@dataclass(frozen=True, slots=True)
class Preview:
    """What is known of a step. `output` is None before there is one; `state` and `notes`, such as "offline",
    are shown with it. `usual` is the part shown if none is chosen.
    """

    name: str
    worker: str
    instruction: str
    output: str | None
    state: str
    notes: Sequence[str]
    usual: str


def step_previews(previews: Sequence[Preview], *, parts: Sequence[str]) -> None:
    """Keep `previews` of all steps for the graph whose steps the reading pane shows; nothing is seen yet.

    `parts` are the names of a step's parts: first its output, then its instruction.
    """
    steps = [asdict(preview) | _texts(preview) for preview in previews]
    _component(key="step-previews", data={"parts": list(parts), "steps": steps})


def _texts(preview: Preview) -> dict[str, Any]:
    if not preview.output:
        return {"output": None, "instruction": preview.instruction[:MOST]}
    text = preview.output[:MOST]
    output = {"parts": [Stretch(text)], "rendering": rendering(_beginning(text))}
    return {"output": output, "instruction": preview.instruction[:MOST]}


_beginning = lru_cache(maxsize=2 * MAX_STEPS)(rendered)
