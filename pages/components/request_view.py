"""What a step saw: the stored request as it was sent, tinted by where each part came from.

Knows requests and the passage component; knows neither runs nor edits.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.messages import Part, Request
from conductor.workflow import Workflow
from pages.components.faces import step_name
from pages.components.passage import Stretch, Tone, passage
from pages.components.state import plain

_TONES: dict[str, Tone] = {
    "frame": "quiet",
    "query": "query",
    "subtask": "seen",
    "response": "seen",
    "instruction": "task",
}


def request_view(request: Request, *, key: str, hidden: Sequence[str] = ()) -> None:
    """Draw it, closed at first; `hidden` names what the step could not see."""
    box = st.expander("What this step saw", icon=":material/visibility:", key=f"saw-{key}", on_change="rerun")
    if not box.open:
        return
    with box:
        st.caption("The request exactly as it was sent. Tinted: the query, earlier steps, its own task.")
        read = sources(request)
        if read:
            st.caption(f"It could see: {plain('; '.join(read))}")
        stretches = [
            Stretch(part.text, _TONES[part.kind], _named(part))
            for message in request.messages
            for part in message.parts
        ]
        passage(stretches, key=f"request-{key}", label="Request", height=320)
        if hidden:
            st.caption("It could not see: " + ", ".join(plain(name) for name in hidden))


def sources(request: Request) -> list[str]:
    """The steps whose work is in a request, in the order sent: "round 1, step 2" or "step 2"."""
    return [source(seen.step, seen.round) for seen in request.seen]


def source(step: int, round: int | None) -> str:
    """A step (from 0) as a source; `round` is set for one of an earlier round."""
    return f"step {step + 1}" if round is None else f"round {round}, step {step + 1}"


def hidden_from(workflow: Workflow, step: int) -> list[str]:
    """The names of the earlier steps whose work a step may not see."""
    access = workflow.steps[step].access
    return [step_name(workflow, read) for read in range(step) if read not in access]


def _named(part: Part) -> str:
    if part.step is None:
        return ""
    name = source(part.step, part.round)
    return f"{name[0].upper()}{name[1:]}, {part.kind}"
