"""A graph as one picture of SVG, for notebooks and files: of a workflow, of a run, of a difference. Pure.

Letters and lines have the colour of the text around them, so that one picture is right on any ground; each
hue has a contrast of at least 3 with light and dark grounds, and goes with a sign and a word. All texts are
escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from textwrap import wrap
from typing import Any
from unicodedata import east_asian_width

from conductor.drawing.layout import MARGIN, Card, access_layouts
from conductor.drawing.marks import MARKS, Mark, marks
from conductor.report.pictures import picture
from conductor.report.words import mark, outcome, run_facts
from conductor.runs.events import Event, PlanningStarted, StepInner, TextPiece
from conductor.runs.request import RequestState
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState, StepStatus
from conductor.text.control_characters import visible
from conductor.workflow.diff import EdgeChange, PlanDiff
from conductor.workflow.drawable import Drawable
from conductor.workflow.model import Step, Workflow

_WIDTH = 800
"""Pixels that a cell of a notebook leaves a picture at least, mostly."""

_LETTER, _LEAST_LETTER = 13.0, 9.8
"""Pixels that letters are high, and at least in a picture that is made narrower."""

_GREEN, _RED, _BLUE, _BROWN = (MARKS[colour].hue for colour in ("green", "red", "blue", "orange"))

_STATES: Mapping[StepStatus, tuple[str, str]] = {
    "waiting": ("○", ""),
    "running": ("●", _BLUE),
    "finished": ("✓", _GREEN),
    "refused": ("?", _BROWN),
    "empty": ("∅", _BROWN),
    "failed": ("✗", _RED),
    "blocked": ("⊘", _RED),
    "cancelled": ("■", ""),
    "interrupted": ("■", _BROWN),
    "paused": ("‖", _BROWN),
}

_Edges = Mapping[tuple[int, int], EdgeChange | None]
"""By (read, reader), and how each changes."""

_EDGES: Mapping[EdgeChange | None, str] = {
    None: 'opacity=".5" stroke-width="1.5"',
    "added": f'color="{_GREEN}" stroke-width="3.5"',
    "removed": f'color="{_RED}" stroke-width="2" stroke-dasharray="5 5"',
}

# Of a file of its own; a page that a picture stands in has no such root.
_ALONE = "<style>svg:root{color-scheme:light dark;color:CanvasText;background:Canvas}</style>"


@dataclass(frozen=True, slots=True)
class _Box:
    """What a step's box shows: `words` at its foot after a `sign`; `hue` is "" for the colour of the text."""

    number: int
    step: Step
    worker: str
    sign: str = ""
    words: str = ""
    hue: str = ""
    is_removed: bool = False


def svg_of(value: Drawable) -> str:
    """The picture; "" of a run that has no workflow."""
    match value:
        case Workflow():
            return _svg(_boxes(value), _edges(value), label=repr(value))
        case RunState(workflow=Workflow() as workflow):
            return _svg(_boxes(workflow, value.steps), _edges(workflow), label=repr(value))
        case PlanDiff():
            boxes = [_box_of_row(value, old, new) for old, new in value.rows]
            return _svg(boxes, value.edges, label=repr(value))
    return ""


def _edges(workflow: Workflow) -> _Edges:
    return {(read, at): None for at, step in enumerate(workflow.steps) for read in step.access}


def _boxes(workflow: Workflow, states: tuple[StepState, ...] = ()) -> list[_Box]:
    boxes = [_Box(at + 1, step, step.worker) for at, step in enumerate(workflow.steps)]
    return [_ran(box, own) for box, own in zip(boxes, states, strict=True)] if states else boxes


def _ran(box: _Box, own: StepState) -> _Box:
    sign, hue = ("↺", "") if own.reused else _STATES[own.status]
    return _Box(box.number, box.step, own.answered_by(box.worker), sign, mark(own), hue)


def _box_of_row(diff: PlanDiff, old: int | None, new: int | None) -> _Box:
    if new is None:
        assert old is not None, "a row has a step"
        step = diff.old.steps[old]
        return _Box(old + 1, step, step.worker, "−", "removed", _RED, is_removed=True)
    step = diff.new.steps[new]
    if old is None:
        return _Box(new + 1, step, step.worker, "+", "added", _GREEN)
    changes = diff.of_new[new].changes
    if not changes:
        return _Box(new + 1, step, step.worker)
    words = changes[0].replace("_", " ") if len(changes) == 1 else f"{len(changes)} changes"
    return _Box(new + 1, step, step.worker, "±", words, _BLUE)


def _svg(boxes: list[_Box], changes: _Edges, *, label: str) -> str:
    access = tuple(tuple(read for read, to in changes if to == at) for at in range(len(boxes)))
    offered = access_layouts(access, "down", ("brief", "flat"))
    layout = next((each for each in offered if each.least_width <= _WIDTH), offered[-1])
    drawing, hues = picture(layout), marks(dict.fromkeys(box.worker for box in boxes))
    letter = max(_LETTER, _LEAST_LETTER * drawing.width / _WIDTH)
    edges = [
        f'<g {_EDGES[changes[edge]]}><path d="{line}" fill="none" stroke="currentColor"/>'
        f'<path d="{head}" fill="currentColor"/></g>'
        for edge, (_, line, head) in zip(layout.routes, drawing.edges, strict=True)
    ]
    shapes = [
        _shape(card, box, hues[box.worker], letter) for card, box in zip(layout.cards, boxes, strict=True)
    ]
    return visible(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} {drawing.width:.0f} '
        f'{drawing.height:.0f}" width="{drawing.width:.0f}" style="max-width:100%;height:auto" role="img" '
        f'aria-label="{escape(label)}" font-family="system-ui, sans-serif" fill="currentColor">{_ALONE}'
        f"{''.join(edges)}{''.join(shapes)}</svg>",
        pictures=False,
    )


def _shape(card: Card, box: _Box, worker: Mark, letter: float) -> str:
    """An inner picture, beyond which no text can run."""
    return (
        f'<svg x="{card.left}" y="{card.top}" width="{card.width}" height="{card.height}">'
        f"<title>{escape(box.step.instruction[:2_000])}</title>{_plate(card, box)}"
        f"{''.join(_texts(card, box, worker, letter))}</svg>"
    )


def _plate(card: Card, box: _Box) -> str:
    line = f'stroke="{box.hue}" stroke-width="2"' if box.hue else 'stroke="currentColor" stroke-opacity=".4"'
    dashes = ' stroke-dasharray="5 4"' if box.is_removed else ""
    return (
        f'<rect x="1" y="1" width="{card.width - 2}" height="{card.height - 2}" rx="8" '
        f'fill-opacity=".05" {line}{dashes}/>'
    )


def _texts(card: Card, box: _Box, worker: Mark, letter: float) -> Iterator[str]:
    left, small = 12.0, letter * 0.92
    room = card.width - 2 * left
    title = f"{box.number}. {' '.join(box.step.instruction[:600].split())}"
    struck = ' text-decoration="line-through"' if box.is_removed else ""
    if is_flat := card.height < 4 * letter:
        share = 0.5 if box.words else 0.35
        foot, place = card.height / 2 + letter * 0.35, left + room * (1 - share)
        room *= share
    else:
        foot, place = card.height - 14, left
    for at, line in enumerate(_wrapped(title, (place - 2 * left if is_flat else room) / letter, 2 - is_flat)):
        look = 'fill-opacity=".75"' if at else 'font-weight="600"'
        yield _text(left, foot if is_flat else letter * (1.75 + 1.4 * at), letter, line, look + struck)
    for line in _wrapped(f"{box.sign} {box.words}".strip(), room * 0.7 / small, 1):
        room -= small * (1 + sum(map(_width, line)))
        yield _text(card.width - left, foot, small, line, 'text-anchor="end" font-weight="600"')
    yield (
        f'<polygon points="{worker.points}" fill="{worker.hue}" '
        f'transform="translate({place:.1f} {foot - small * 0.85:.1f}) scale({small / 24:.3f})"/>'
    )
    for line in _wrapped(box.worker, room / small - 1.35, 1):
        yield _text(place + small * 1.35, foot, small, line)


def _text(x: float, y: float, size: float, words: str, look: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" {look}>{escape(words)}</text>'


def _wrapped(text: str, heights: float, most: int) -> list[str]:
    """The text in lines as long as so many letters are high, the last one cut."""
    widths = [_width(letter) for letter in text[:100]]
    mean = sum(widths) / len(widths) if widths else 1.0
    return wrap(text, max(4, int(heights / mean)), max_lines=most, placeholder="…")


def _width(letter: str) -> float:
    """About how wide a letter is, in heights."""
    if east_asian_width(letter) in "WF":
        return 1.1
    return 0.8 if letter.isupper() or letter in "mw@%" else 0.54


# -- in a notebook ---------------------------------------------------------------------------------


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
