"""What the same step was sent in the run before, and what differs, in words.

Knows a session's runs; draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from conductor.runs.state import RunState
from conductor.values.messages import PartKind, Request, Sampling
from conductor.values.provenance import Change, Source, changes
from conductor.workflow.matching import matching
from conductor.workflow.model import Workflow
from pages.components.widgets.request_legend import source_name
from storage import RunRecord
from studio.workbench import Workbench

_PART_NAMES: Mapping[PartKind, str] = {"subtask": "task", "response": "response"}


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
