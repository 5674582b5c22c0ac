"""Draws values with a graph in a notebook, a run with its answer, and work under way.

Knows the display of IPython and nothing of a kernel. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from typing import Any

from conductor.report.graph import svg_of
from conductor.report.words import outcome, run_facts
from conductor.runs.events import Event, PlanningStarted, StepInner, TextPiece
from conductor.runs.request import RequestState
from conductor.runs.state import RunState
from conductor.workflow.diff import PlanDiff
from conductor.workflow.drawable import Drawable


def html_of(value: Drawable) -> str:
    """The picture, and of a run its answer and what it took."""
    svg = svg_of(value)
    match value:
        case RunState():
            reasons = [value.no_plan, *(step.message for step in value.steps)]
            answer = value.answer or next(filter(None, reasons), "")
            words = f'<div style="white-space:pre-wrap">{escape(answer)}</div>' if answer else ""
            return f"{words}{svg}<div>{_facts(value)}</div>"
        case PlanDiff():
            return f"{svg}<div>{escape(_differences(value))}</div>"
    return svg


def _differences(diff: PlanDiff) -> str:
    changed = [
        f"step {pair.new + 1}: {', '.join(pair.changes).replace('_', ' ')}"
        for pair in diff.pairs
        if not pair.same
    ]
    counts = [f"{len(diff.added)} added (+, thick)", f"{len(diff.removed)} removed (−, dashed)"]
    return " · ".join([*counts, f"{len(changed)} changed (±)", *changed])


def _facts(state: RunState) -> str:
    facts = [f"{name}: {words}" for name, words in run_facts(state)]
    return escape(" · ".join([outcome(state)[1], *facts]))


@contextmanager
def live_display(display: Callable[..., Any]) -> Iterator[Callable[[Event], None]]:
    """Shows the work whose events are given while it goes on, and one line of it in the end."""
    handle = display({"text/plain": ""}, raw=True, display_id=True)
    request, planner, last = RequestState(), "", ""

    def show(html: str) -> None:
        nonlocal last
        if html != last:
            handle.update({"text/html": html, "text/plain": ""}, raw=True)
            last = html

    def on_event(event: Event) -> None:
        nonlocal request, planner
        request = request.advance(event)
        planner = event.planner if isinstance(event, PlanningStarted) else planner
        if not isinstance(event, TextPiece | StepInner):
            show(svg_of(request.attempts[-1]) or escape(f"{planner} plans …"))

    try:
        yield on_event
    finally:
        state = request.attempts[-1] if request.attempts else RunState()
        if state.workflow is not None:
            show(_facts(replace(state, status="cancelled") if state.live else state))
        else:
            show(escape(state.no_plan or ("stopped" if state.report is None else "planned")))
