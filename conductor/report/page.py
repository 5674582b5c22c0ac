"""The report's text: a run in the template `page.html`, which replays it.

The template engine escapes everything that a model or a person wrote but the Markdown that
`conductor/markdown` has made harmless; the page's own policy forbids it to load anything, and to run any
script but `page.js`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from conductor.drawing.layout import layouts
from conductor.markdown import STYLES, with_mathml
from conductor.report.pictures import ROW_HEIGHT, chart_of, picture
from conductor.report.steps import chunks, first_blocks, note_of, steps_of
from conductor.report.words import STATUSES, moment, outcome, output_notes, run_facts, session_facts
from conductor.runs.events import Event
from conductor.runs.replay import first_speed, speeds_for
from conductor.runs.state import RunState, advance
from conductor.runs.step_state import StepState, StepStatus
from conductor.runs.timeline import Moments, timeline_of
from conductor.text.formatting import duration, named, percent, steps_of_numbers
from conductor.text.json_text import portable
from conductor.values.message_parts.tool_use import indented
from conductor.values.note import Note
from conductor.values.output import NO_ANSWER
from conductor.values.total import Total


@dataclass(frozen=True, slots=True)
class Planning:
    """Who planned a workflow, and the text that Conductor wrote in addition to the plan, or "".

    `edited`: people changed the plan before the run.
    """

    planner: str
    reasoning: str
    edited: bool = False


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
_TEMPLATES.filters["percent"] = percent
_TEMPLATES.filters["duration"] = duration
_TEMPLATES.filters["steps_of_numbers"] = steps_of_numbers
_TEMPLATES.filters["indented"] = indented
_TEMPLATES.filters["with_mathml"] = with_mathml
_TEMPLATES.filters["chunks"] = chunks
_TEMPLATES.filters["first_blocks"] = first_blocks

_SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
_SCRIPT_HASH = b64encode(sha256(_SCRIPT.encode()).digest()).decode()


def run_report(
    state: RunState,
    events: Sequence[Event] = (),
    *,
    title: str,
    written_at: float,
    pool_label: str | None = None,
    used: Total | None = None,
    planning: Planning | None = None,
    notes: Sequence[Note] = (),
    session: str | None = None,
) -> str:
    """The HTML of a run that has started; `events` give the moments that its state does not hold, and the
    replay.

    `title` is its session's; `used` is the session's usage with planning and all runs, None if unknown;
    `pool_label` is set where no model answered, `written_at` is in Unix seconds; `planning` is None if
    no Conductor planned the workflow. `notes` are people's, on the question and on the steps of this run.
    `session` are the lines of a session file, from which the page is imported; "" where they are too many.
    """
    timeline = timeline_of(state, now=written_at, moments=Moments.of(events))
    html = _TEMPLATES.get_template("page.html").render(
        title=title,
        styles=STYLES,
        state=state,
        outcome=outcome(state),
        pool_label=pool_label,
        started=moment(state.started_at),
        written=moment(written_at),
        facts=[*run_facts(state), *session_facts(used)],
        answer_notes=_answer_notes(state),
        planning=planning,
        pictures=[picture(layout) for layout in layouts(state.workflow)] if state.workflow else [],
        chart=chart_of(timeline),
        critical=bool(timeline.path),
        row_height=ROW_HEIGHT,
        steps=steps_of(state, notes),
        notes=[note_of(note) for note in notes if note.step is None],
        replay=_replay(state, events, timeline.seconds),
        script=_SCRIPT,
        script_hash=_SCRIPT_HASH,
        # No text may end the element that holds it: in JSON, "<" stands in texts only.
        session=session and session.replace("<", "\\u003c"),
    )
    return portable(html)


def _replay(state: RunState, events: Sequence[Event], seconds: float) -> dict[str, object] | None:
    """What `page.js` reads; None for a run that goes on, took no time or has no events."""
    frames = () if state.live else frames_of(events, seconds=seconds)
    if not frames or not seconds:
        return None
    speeds = {"speeds": speeds_for(seconds), "speed": first_speed(seconds)}
    return {"seconds": seconds, **speeds, "words": STATUSES, "frames": frames}


def _answer_notes(state: RunState) -> list[str]:
    if state.workflow is None or state.answer_step is None:
        return []
    at = state.answer_step
    from_step = [] if at == state.workflow.final else [f"from step {at + 1}"]
    refused = [NO_ANSWER] if state.steps[at].status == "refused" else []
    return [*from_step, *refused, *output_notes(state.workflow.steps[at], state.steps[at])]


# -- replay ----------------------------------------------------------------------------------------

_FINEST = 600
"""A step's text grows at most so often in a replay: more cannot be seen, and would be in the file."""


class Frame(NamedTuple):
    """A step (from 0) `at` seconds into its run. `retries` counts the tries that failed before, `doing` are
    the calls of tools that it waits for.

    `text` is added to the step's text so far where `grows`, else it is all of it.
    """

    at: float
    step: int
    status: StepStatus
    retries: int
    grows: bool
    text: str
    doing: str


def frames_of(events: Iterable[Event], *, seconds: float) -> tuple[Frame, ...]:
    """The frames of a run of so many `seconds`, in order, as far as its events can be folded."""
    frames: list[Frame] = []
    state, latest = RunState(), 0.0
    # Each step as it was, and the place of its newest frame.
    before: dict[int, tuple[StepState, int]] = {}
    for event in events:
        try:
            state = advance(state, event)
        except ValueError:
            break
        # A clock that was set back does not undo what had happened; an interruption is noticed long after it.
        if state.started_at is not None:
            latest = min(seconds, max(latest, event.at - state.started_at))
        for step, own in enumerate(state.steps):
            old, place = before.get(step, (StepState(), -1))
            if own is old or _seen(own) == _seen(old):
                continue
            grows = own.text.startswith(old.text)
            frame = Frame(
                round(latest, 4),
                step,
                own.status,
                len(own.retries),
                grows,
                own.text.removeprefix(old.text) if grows else own.text,
                _doing(own),
            )
            if place >= 0 and grows and _is_soon(frames[place], frame, seconds / _FINEST):
                frames[place] = frames[place]._replace(text=frames[place].text + frame.text)
            else:
                place = len(frames)
                frames.append(frame)
            before[step] = own, place
    return tuple(frames)


def _seen(step: StepState) -> tuple[StepStatus, int, str, str]:
    return step.status, len(step.retries), step.text, _doing(step)


def _doing(step: StepState) -> str:
    return "" if step.done else named([call.tool.line for call in step.unanswered if call.tool], cut=120)


def _is_soon(last: Frame, frame: Frame, gap: float) -> bool:
    """Whether nothing but a little text came since the step's last frame."""
    same = (last.status, last.retries, last.doing) == (frame.status, frame.retries, frame.doing)
    return same and frame.at - last.at < gap
