"""The report's text: what is to be told of a run, put into the template that lies beside this module.

Everything that a model or a person wrote is escaped by the template engine; the page has no script, and its
own policy forbids it to run one or to ask for anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from conductor.events import Event
from conductor.report.chart import ROW_HEIGHT, chart_of
from conductor.report.graph import faces, pictures
from conductor.report.steps import steps_of
from conductor.report.words import OUTCOMES, mark, moment, output_notes, run_facts
from conductor.run_state import RunState
from conductor.timeline import Moments, timeline_of

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def run_report(
    state: RunState,
    events: Sequence[Event] = (),
    *,
    title: str,
    written_at: float,
    pool_label: str | None = None,
) -> str:
    """The HTML of a run that has started; `events` tell the moments that its state does not.

    `title` is its session's, `pool_label` is set where no model answered, `written_at` is in Unix seconds.
    """
    timeline = timeline_of(state, now=written_at, moments=Moments.of(events))
    html = _TEMPLATES.get_template("page.html").render(
        title=title,
        state=state,
        outcome=OUTCOMES[state.status],
        pool_label=pool_label,
        started=moment(state.started_at),
        written=moment(written_at),
        facts=run_facts(state),
        answer_notes=_answer_notes(state),
        pictures=pictures(state),
        faces=faces(state),
        chart=chart_of(timeline),
        critical=bool(timeline.path),
        row_height=ROW_HEIGHT,
        marks=[mark(step) for step in state.steps],
        steps=steps_of(state),
    )
    return _written(html)


def _answer_notes(state: RunState) -> list[str]:
    if state.workflow is None or state.answer_step is None:
        return []
    at = state.answer_step
    from_step = [] if at == state.workflow.final else [f"from step {at + 1}"]
    return [*from_step, *output_notes(state.workflow.steps[at], state.steps[at])]


def _written(text: str) -> str:
    """The text as a file can hold it: half a surrogate pair and NUL become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "\ufffd")
