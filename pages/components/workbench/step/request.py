"""Which stored request a step was sent, where its parts come from, and how it differs from the run before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.messages import PartKind, Request, Sampling
from conductor.values.output import Output
from conductor.values.provenance import Change, Source, changes
from conductor.workflow.matching import matching
from conductor.workflow.model import Workflow
from pages.components.view_models.session import SessionView
from pages.components.widgets.request_legend import Place, origin_notes, source_name
from storage import RunRecord
from studio.workbench import Workbench

_PART_NAMES: Mapping[PartKind, str] = {"subtask": "task", "response": "response"}


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


def origins(bench: Workbench, view: SessionView, sent: Sent) -> dict[Place, tuple[str, ...]]:
    """Notes on the outputs that were sent, for the steps of this round and of earlier ones."""
    found: dict[Place, tuple[str, ...]] = {
        (None, at): origin_notes(own) for at, own in enumerate(sent.state.steps)
    }
    if any(seen.round is not None for seen in sent.request.seen):
        for _, earlier in bench.planning.rounds(view.session.id):
            found |= {(earlier.round, at): origin_notes(own) for at, own in enumerate(earlier.steps)}
    return found


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that a step was sent: in which run (`number` counts a session's from 1), where the step stood
    then (from 0), and who answered. `places` are the positions of that run's steps in the run that it is
    compared with, for those that are still there.
    """

    request: Request
    run: RunRecord
    state: RunState
    number: int
    step: int
    worker: str
    places: Mapping[int, int]


def asked_before(bench: Workbench, run: RunRecord, step: int) -> Asked | None:
    """What `step` of `run` was sent when it was last called before, in the runs that led to this one.

    Rounds are distinguished: the round before is another workflow. None where it was never called.
    """
    workflow = bench.state(run).workflow
    records = bench.store.runs.of_session(run.session)
    numbers = {record.id: len(records) - at for at, record in enumerate(records)}
    known = {record.id: record for record in records}
    before = known.get(run.parent or "")
    while workflow is not None and before is not None and before.round == run.round:
        state = bench.state(before)
        if state.workflow is not None:
            places = places_in(state.workflow, workflow)
            there = next((old for old, new in places.items() if new == step), None)
            own = None if there is None else state.steps[there]
            if there is not None and own is not None and own.request and own.started_at is not None:
                return Asked(
                    request=own.request,
                    run=before,
                    state=state,
                    number=numbers[before.id],
                    step=there,
                    worker=own.answered_by(state.workflow.steps[there].worker),
                    places=places,
                )
        before = known.get(before.parent or "")
    return None


@lru_cache(maxsize=32)
def places_in(old: Workflow, new: Workflow) -> Mapping[int, int]:
    """The positions in `new` of the steps of `old` that are still there."""
    if old.unpinned == new.unpinned:
        return {at: at for at in range(len(old))}
    return matching(old, new)


def differences(before: Asked, request: Request, *, worker: str) -> tuple[str, ...]:
    """What differs between a request that `worker` answered and the one before, a clause each."""
    found = [
        said
        for change in changes(before.request, request, places=before.places)
        if change.any and (said := _said(change))
    ]
    if before.worker != worker:
        found.append(f"sent to {worker}, not {before.worker}")
    if before.request.sampling != request.sampling:
        found.append(f"{_sampling(request.sampling)}, not {_sampling(before.request.sampling)}")
    return tuple(found)


def unchanged(before: Asked, request: Request) -> tuple[str, ...]:
    """The sources whose words are the same in both, by name."""
    return tuple(
        _name(change.new)
        for change in changes(before.request, request, places=before.places)
        if not change.any and change.new is not None
    )


def _said(change: Change) -> str:
    if change.new is None:
        return "" if change.old is None else f"{_name(change.old)} is not seen any more"
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
    return {"query": "the query", "task": "its own task"}.get(source.kind, "the app's wording")


def _sampling(sampling: Sampling) -> str:
    said = [f"{name.replace('_', ' ')} {value:g}" for name, value in sampling if value is not None]
    return ", ".join(said) or "no sampling of its own"
