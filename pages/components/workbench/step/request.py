"""Finds the stored request of a step, the sources of its parts, and its difference from the run before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conductor.report.words import source_name
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.messages import PartKind, Request, Sampling
from conductor.values.output import Output
from conductor.values.provenance import Change, Source, changes
from conductor.workflow.matching import places_in
from conductor.workflow.model import Workflow
from pages.components.view_models.session import SessionView
from pages.components.widgets.request_legend import Place, origin_notes
from storage import RunRecord
from studio.workbench import Workbench

_PART_NAMES: Mapping[PartKind, str] = {"subtask": "task", "response": "response"}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that the step at `step` (from 0) was sent in `run`, whose state is `state`.

    `notes` state where it differs from the workflow's request now, or is not of the run shown. Of a request
    from before, `number` is that of its run (a session's from 1), and `places` are the positions of its steps
    in the run that it is compared with, for those that are still there.
    """

    run: RunRecord
    state: RunState
    step: int
    notes: tuple[str, ...] = ()
    number: int = 0
    places: Mapping[int, int] = field(default_factory=dict)

    @property
    def request(self) -> Request:
        """Its messages and sampling."""
        request = self.own.request
        assert request is not None, "made only of steps that were sent one"
        return request

    @property
    def workflow(self) -> Workflow:
        """What that run ran."""
        assert self.state.workflow is not None, "steps are of a workflow"
        return self.state.workflow

    @property
    def own(self) -> StepState:
        return self.state.steps[self.step]

    @property
    def worker(self) -> str:
        return self.own.answered_by(self.workflow.steps[self.step].worker)


def request_sent(
    bench: Workbench, view: SessionView, workflow: Workflow, step: int, state: StepState | None
) -> Sent | None:
    """The request that `step` of `workflow` was sent in the run shown, also before an edit.

    Where that run left the step out, of the run that last called it.
    """
    run = view.state
    if view.run is None or run is None or run.workflow is None:
        return None
    output = None if state is None else state.output
    before_edits = not view.as_run and output is None
    at: int | None = step
    if before_edits:
        at = _place_before(places_in(run.workflow, workflow), step)
    elif not view.as_run:
        at = next((at for at, own in enumerate(run.steps) if own.output == output), None)
    if at is None:
        return None if output is None else _first_request(bench, view, output)
    if run.steps[at].request is not None:
        sent = Sent(view.run, run, at)
        if not before_edits:
            return sent
        return replace(sent, notes=("As it was sent before your edits.", *_more(workflow, step, sent)))
    call = None if run.covered(at) else earlier_request(bench, view.run, at)
    if call is None:
        return None
    return replace(call, notes=(f"As it was sent in run {call.number}; the last run left this step out.",))


def _first_request(bench: Workbench, view: SessionView, output: Output) -> Sent | None:
    """The request that an output answered which the run shown does not hold."""
    maker = next((run for run in bench.store.runs.of_session(view.session.id) if run.id == output.run), None)
    state = None if maker is None else bench.state(maker)
    if maker is None or state is None or state.workflow is None or state.steps[output.step].request is None:
        return None
    note = "As it was sent when this output was made, in an earlier run."
    return Sent(maker, state, output.step, (note,))


def _place_before(places: Mapping[int, int], step: int) -> int | None:
    return next((before for before, now in places.items() if now == step), None)


def _more(workflow: Workflow, step: int, sent: Sent) -> list[str]:
    """Whose work will be in the next request and was not in this one."""
    places = places_in(sent.workflow, workflow)
    seen = {places.get(seen.step) for seen in sent.request.seen if seen.round is None}
    more = [f"step {read + 1}" for read in workflow.steps[step].access if read not in seen]
    return [f"In the next run it also sees {', '.join(more)}."] if more else []


def origins(bench: Workbench, view: SessionView, sent: Sent) -> dict[Place, tuple[str, ...]]:
    """Notes on the outputs that were sent, for the steps of this round and of earlier ones."""
    notes: dict[Place, tuple[str, ...]] = {
        (None, at): origin_notes(own) for at, own in enumerate(sent.state.steps)
    }
    if any(seen.round is not None for seen in sent.request.seen):
        for _, earlier in bench.planning.rounds(view.session.id):
            notes |= {(earlier.round, at): origin_notes(own) for at, own in enumerate(earlier.steps)}
    return notes


def earlier_request(bench: Workbench, run: RunRecord, step: int) -> Sent | None:
    """What `step` of `run` was sent when it was last called before, in the runs that led to this one.

    Rounds are distinguished: the round before is another workflow. None if it was never called.
    """
    workflow = bench.state(run).workflow
    records = bench.store.runs.of_session(run.session)
    numbers = {record.id: len(records) - at for at, record in enumerate(records)}
    by_id = {record.id: record for record in records}
    before = by_id.get(run.parent or "")
    while workflow is not None and before is not None and before.round == run.round:
        state = bench.state(before)
        places = {} if state.workflow is None else places_in(state.workflow, workflow)
        there = _place_before(places, step)
        own = None if there is None else state.steps[there]
        if there is not None and own is not None and own.request and own.started_at is not None:
            return Sent(before, state, there, number=numbers[before.id], places=places)
        before = by_id.get(before.parent or "")
    return None


def differences(before: Sent, request: Request, *, worker: str) -> tuple[str, ...]:
    """What differs between a request that `worker` answered and the one before, a clause each."""
    notes = [
        sentence
        for change in changes(before.request, request, places=before.places)
        if change.any and (sentence := _sentence(change))
    ]
    if before.worker != worker:
        notes.append(f"sent to {worker}, not {before.worker}")
    if before.request.sampling != request.sampling:
        notes.append(f"{_sampling(request.sampling)}, not {_sampling(before.request.sampling)}")
    return tuple(notes)


def unchanged(before: Sent, request: Request) -> tuple[str, ...]:
    """The sources whose words are the same in both, by name."""
    return tuple(
        _name(change.new)
        for change in changes(before.request, request, places=before.places)
        if not change.any and change.new is not None
    )


def _sentence(change: Change) -> str:
    if change.new is None:
        return "" if change.old is None else f"{_name(change.old)} is no longer seen"
    if change.old is None:
        return f"{_name(change.new)} is new"
    was = "" if change.old.step == change.new.step else f" ({_name(change.old)} then)"
    name = f"{_name(change.new)}{was}"
    if change.new.kind == "step":
        parts = " and ".join(_PART_NAMES[kind] for kind in change.changed)
        same = " and ".join(_PART_NAMES[kind] for kind in change.same)
        return f"{name}: its {parts} changed{f', its {same} the same' if same else ''}"
    return f"{name} changed"


def _name(source: Source) -> str:
    if source.kind == "step":
        name = source_name(source)
        return f"{name[0].lower()}{name[1:]}"
    return {"query": "the query", "task": "its own task", "tool": "the calls of tools"}.get(
        source.kind, "the app's wording"
    )


def sent_with(sampling: Sampling) -> str:
    """The form of the answer and the tools that went with the messages, as a sentence; "" for neither."""
    words = [option.words for option in (sampling.response_format, sampling.tools) if option is not None]
    return f"Sent with it: {', '.join(words)}." if words else ""


def _sampling(sampling: Sampling) -> str:
    return ", ".join(sampling.words) or "no sampling of its own"
