"""A side of a comparison: a run, a revision or a plan of a session, found by its address.

An address is "run:<id>", "revision:<id>", "plan:<id>" or, for one of several plans in a Conductor's text,
"plan:<id>:<number from 0>"; "rules:<session>" is the plan that rules write for its question. A bare
id is looked up as a run and as a revision.
Knows the store, no Streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conductor.errors import StorageError
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.workflow.file import Origin
from conductor.workflow.model import Workflow
from pages.components.view_models.run_text import clock, state_label
from storage import Plan, Revision, RunRecord, Session, SessionStore
from studio.workbench import Contender, Workbench

_NAME_LENGTH = 60
_ORIGINS: Mapping[Origin, str] = {"conductor": "by the Conductor", "human": "edited", "import": "imported"}


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a workflow of a session, and what came of it where it is a run.

    `name` is what it is called in its session, such as "Run 3"; `origin` is where its workflow came from.
    `state` is None if nothing was run, `revision` if the workflow is not of the session.
    """

    address: str
    name: str
    session: Session
    workflow: Workflow
    origin: str
    revision: str | None = None
    state: RunState | None = None

    @property
    def live(self) -> bool:
        """Whether it is a run that is under way."""
        return self.state is not None and self.state.live

    def step(self, at: int | None) -> StepState | None:
        """What came of a step in its run; None if it is not there or was not run."""
        return (
            None if self.state is None or at is None or at >= len(self.state.steps) else self.state.steps[at]
        )

    @property
    def contender(self) -> Contender:
        """Its workflow, to be run against another one."""
        return Contender(self.session.id, self.workflow, name=self.origin, revision=self.revision)


def address_of(record: Revision | RunRecord | Plan) -> str:
    """The address of a run, a revision or a plan."""
    match record:
        case RunRecord():
            return f"run:{record.id}"
        case Revision():
            return f"revision:{record.id}"
        case Plan():
            return f"plan:{record.id}"


def rules_address(session: str) -> str:
    """The address of the plan that rules write for a session's question."""
    return f"rules:{session}"


def find_side(bench: Workbench, address: str) -> Side:
    """What is at an address. Raises `StorageError` where there is nothing that can be compared."""
    kind, parted, rest = address.partition(":")
    if not parted:
        kind, rest = _kind_of(bench.store, address), address
    match kind:
        case "run":
            return _run_side(bench, bench.store.runs.find(rest))
        case "revision":
            return _revision_side(bench.store, bench.store.revisions.find(rest))
        case "plan":
            plan, _, candidate = rest.partition(":")
            return _plan_side(bench.store, bench.store.plans.find(plan), candidate)
        case "rules":
            return _rules_side(bench, rest)
    raise StorageError(
        f"{address[:_NAME_LENGTH]!r} names neither a run nor a revision; choose one, or correct the address: "
        "it is run:… or revision:… with an id."
    )


def _run_side(bench: Workbench, run: RunRecord) -> Side:
    state = bench.state(run)
    # A trial's run is in no list.
    listed = [record.id for record in reversed(bench.store.runs.of_session(run.session))]
    revision = bench.store.revisions.find(run.revision)
    return Side(
        address=address_of(run),
        name=f"Run {listed.index(run.id) + 1}" if run.id in listed else "Run of a trial",
        session=bench.store.sessions.find(run.session),
        workflow=state.workflow or revision.workflow,
        origin=_origin(revision),
        # A trial's workflow is another one.
        revision=revision.id if run.id in listed else None,
        state=state,
    )


def _revision_side(store: SessionStore, revision: Revision) -> Side:
    return Side(
        address=address_of(revision),
        name=f"Revision {revision.number}",
        session=store.sessions.find(revision.session),
        workflow=revision.workflow,
        origin=_origin(revision),
        revision=revision.id,
    )


def _origin(revision: Revision) -> str:
    """Where a workflow came from, in a few words."""
    note = " ".join(revision.note.split())[:_NAME_LENGTH]
    return "planned by the Conductor" if revision.origin == "conductor" else note or _ORIGINS[revision.origin]


def _plan_side(store: SessionStore, plan: Plan, candidate: str) -> Side:
    """The plan that counts, or the `candidate` of that number (from 0, in digits) in its text."""
    workflow = None if plan.report is None else plan.report.workflow
    if candidate and plan.report is not None:
        is_number = candidate.isdecimal() and len(candidate) < 6
        candidates = plan.report.candidates[int(candidate) :][:1] if is_number else ()
        workflow = candidates[0].workflow if candidates else None
    if workflow is None:
        raise StorageError("That plan has no workflow to compare; choose a run, a revision or a valid plan.")
    return Side(
        address=f"{address_of(plan)}:{candidate}" if candidate else address_of(plan),
        name=f"Alternative {plan.attempt}" if plan.alternative else f"Plan of {plan.planner}",
        session=store.sessions.find(plan.session),
        workflow=workflow,
        origin=f"planned by {plan.planner}",
    )


def _rules_side(bench: Workbench, session: str) -> Side:
    return Side(
        address=rules_address(session),
        name="Rule-based plan",
        session=bench.store.sessions.find(session),
        workflow=bench.racing.rules_plan(session),
        origin="planned by rules, no model was called",
    )


def _kind_of(store: SessionStore, address: str) -> str:
    for kind, find in (("run", store.runs.find), ("revision", store.revisions.find)):
        try:
            find(address)
        except StorageError:
            continue
        return kind
    raise StorageError(
        f"There is no run and no revision {address[:_NAME_LENGTH]!r} in this store; choose one."
    )


def choices(store: SessionStore, session: str) -> dict[str, str]:
    """What can be compared of a session, by address: its runs, then its revisions, newest first; its
    alternatives, and the plan of the rules.
    """
    runs, revisions = store.runs.of_session(session), store.revisions.of_session(session)
    numbers = {revision.id: revision.number for revision in revisions}
    named = {}
    for at, run in enumerate(runs):
        of = [f"of revision {numbers[run.revision]}"] if run.revision in numbers else []
        parts = [f"Run {len(runs) - at}", *of, state_label(run.status), clock(run.started_at)]
        named[address_of(run)] = " · ".join(parts)
    for revision in reversed(revisions):
        origin = _ORIGINS[revision.origin]
        note = " ".join(revision.note.split())[:_NAME_LENGTH]
        notes = [note] if note and note.lower() != origin else []
        parts = [f"Revision {revision.number}", origin, *notes, clock(revision.created_at)]
        named[address_of(revision)] = " · ".join(parts)
    for plan in store.plans.alternatives(session):
        if plan.report is not None and plan.report.workflow is not None:
            parts = [f"Alternative {plan.attempt}", plan.report.workflow.topology, "not run"]
            named[address_of(plan)] = " · ".join(parts)
    return named | {rules_address(session): "Rule-based plan · no model was called"}


def last_two(store: SessionStore, session: str) -> tuple[str, str] | None:
    """What a session is compared by where nothing is chosen: how it is now with how it was before.

    The current revision's newest run with the run before it; a revision that was not run with the newest
    run, else with what was edited. None if there is nothing to compare.
    """
    runs, head = store.runs.of_session(session), store.revisions.head(session)
    if head is None:
        return None
    of_head = next((at for at, run in enumerate(runs) if run.revision == head.id), None)
    if of_head is not None and of_head + 1 < len(runs):
        return address_of(runs[of_head + 1]), address_of(runs[of_head])
    if of_head is None and runs:
        return address_of(runs[0]), address_of(head)
    before = None if head.parent is None else store.revisions.find(head.parent)
    return None if before is None else (address_of(before), address_of(head))


@dataclass(frozen=True, slots=True)
class ThreeSides:
    """A session's workflow as it was first, as it is now, as it was last run (None before that).

    `origin` is where the first one came from: planned by a Conductor, imported or written.
    """

    first: Side
    origin: Origin
    edited: Side
    run: Side | None


def three_sides(bench: Workbench, session: str) -> ThreeSides:
    """The three states of a session. Raises `StorageError` where it has no workflow or is unknown."""
    store = bench.store
    head = store.revisions.head(session)
    if head is None:
        raise StorageError("This session has no workflow yet. Plan one on the workbench first.")
    first, runs = _first(store, head), store.runs.of_session(session)
    return ThreeSides(
        first=_revision_side(store, first),
        origin=first.origin,
        edited=_revision_side(store, head),
        run=_run_side(bench, runs[0]) if runs else None,
    )


def _first(store: SessionStore, head: Revision) -> Revision:
    """What people edited into `head`: what a Conductor planned last, else what there was first."""
    revision = head
    while revision.origin != "conductor" and revision.parent is not None:
        revision = store.revisions.find(revision.parent)
    return revision
