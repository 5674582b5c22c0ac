"""What the selected step of a session saw: which stored request that is, where its parts come from, and how
access is granted.

Knows sessions and edits; how it looks is request_view's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.messages import Request
from conductor.values.output import Output
from conductor.workflow.model import Workflow
from pages.components.view_models.session import SessionView
from pages.components.widgets.request_legend import Place, origin_notes
from pages.components.workbench.editing.editor import Editor
from pages.components.workbench.step.previous_request import asked_before, places_in
from pages.components.workbench.step.request_view import Hidden, hidden_from, reader, request_view
from storage import RunRecord
from studio.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Sent:
    """The request that is shown for a step: of the step at `step` in `run`, whose state is `state`.

    `notes` state where it differs from the workflow's request now, or is not of the run shown.
    """

    request: Request
    run: RunRecord
    state: RunState
    workflow: Workflow
    step: int
    notes: tuple[str, ...] = ()

    @property
    def own(self) -> StepState:
        """The step in that run."""
        return self.state.steps[self.step]


def sight(editor: Editor, view: SessionView, step: int, state: StepState | None) -> None:
    """Draw what `step` saw, if it was sent anything. `state` is the step's, as the page shows it."""
    bench = editor.bench
    sent = request_sent(bench, view, editor.workflow, step, state)
    if sent is None:
        return

    def let_see(unseen: Hidden) -> None:
        grant(editor, step, unseen)
        editor.tab.ask_redraw()

    request_view(
        sent.request,
        key=f"{editor.session}-{step}",
        reader=reader(bench.pool.cards, sent.workflow.steps[sent.step].worker, sent.own),
        hidden=unseen(editor, step),
        origins=origins(bench, view, sent),
        let_see=let_see,
        locked=view.locked,
        notes=sent.notes,
        before=lambda: asked_before(bench, sent.run, sent.step),
    )


def request_sent(
    bench: Workbench, view: SessionView, workflow: Workflow, step: int, state: StepState | None
) -> Sent | None:
    """The request that `step` of `workflow` was sent in the run shown, be it before an edit.

    Where that run left the step out, of the run that last called it.
    """
    run = view.state
    if view.run is None or run is None or run.workflow is None:
        return None
    at: int | None
    notes: tuple[str, ...]
    if view.as_run:
        at, notes = step, ()
    elif state is not None and state.output is not None:
        at, notes = _place_of(run, state), ()
    else:
        at = _place_before(run.workflow, workflow, step)
        notes = ("As it was sent before your edits.",)
    if at is None:
        return None if state is None or state.output is None else _when_made(bench, view, state.output)
    request = run.steps[at].request
    if request is not None:
        sent = Sent(request, view.run, run, run.workflow, at, notes)
        return replace(sent, notes=(*notes, *_more(workflow, step, sent))) if notes else sent
    asked = None if run.covered(at) else asked_before(bench, view.run, at)
    if asked is None or asked.state.workflow is None:
        return None
    left_out = f"As it was sent in run {asked.number}; the last run left this step out."
    return Sent(asked.request, asked.run, asked.state, asked.state.workflow, asked.step, (left_out,))


def _when_made(bench: Workbench, view: SessionView, output: Output) -> Sent | None:
    """The request that an output answered which the run shown does not hold."""
    made = next((run for run in bench.store.runs.of_session(view.session.id) if run.id == output.run), None)
    state = None if made is None else bench.state(made)
    if made is None or state is None or state.workflow is None:
        return None
    request = state.steps[output.step].request
    note = "As it was sent when this output was made, in a run before the one shown."
    return None if request is None else Sent(request, made, state, state.workflow, output.step, (note,))


def _place_of(run: RunState, state: StepState) -> int | None:
    return next((at for at, own in enumerate(run.steps) if own.output == state.output), None)


def _place_before(old: Workflow, new: Workflow, step: int) -> int | None:
    return next((before for before, now in places_in(old, new).items() if now == step), None)


def _more(workflow: Workflow, step: int, sent: Sent) -> list[str]:
    """Whose work will be in the next request and was not in this one."""
    places = places_in(sent.workflow, workflow)
    seen = {places.get(seen.step) for seen in sent.request.seen if seen.round is None}
    more = [f"step {read + 1}" for read in workflow.steps[step].access if read not in seen]
    return [f"In the next run it also sees {', '.join(more)}."] if more else []


def unseen(editor: Editor, step: int) -> list[Hidden]:
    """What `step` may not see as the workflow is now."""
    blind = editor.head.looks_back is not None and not editor.workflow.steps[step].sees_previous
    return [*([Hidden(None, "the round before")] if blind else []), *hidden_from(editor.workflow, step)]


def grant(editor: Editor, step: int, unseen: Hidden) -> None:
    """Let `step` see it: one edit."""
    if unseen.step is None:
        editor.commit(
            lambda: editor.workflow.with_sight_of_previous(step, True),
            f"Step {step + 1}: sees the round before",
        )
    else:
        editor.access(step, gain=[unseen.step])


def origins(bench: Workbench, view: SessionView, sent: Sent) -> dict[Place, tuple[str, ...]]:
    """Notes on the outputs that were sent, for the steps of this round and of earlier ones."""
    found: dict[Place, tuple[str, ...]] = {
        (None, at): origin_notes(own) for at, own in enumerate(sent.state.steps)
    }
    if any(seen.round is not None for seen in sent.request.seen):
        for _, earlier in bench.planning.rounds(view.session.id):
            found |= {(earlier.round, at): origin_notes(own) for at, own in enumerate(earlier.steps)}
    return found
