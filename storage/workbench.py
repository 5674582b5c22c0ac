"""What a person does with a session: ask, plan, edit, run, stop, export. The app and the command line
both stand on this.

Knows the store and the core; knows no page and prints nothing. Every change is durable before a
method returns; a run's events are written behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from conductor.background import Background, LivePlan, LiveRun
from conductor.engine.assignment import Assignment
from conductor.engine.extent import EDITED, Extent
from conductor.engine.meter import Meter
from conductor.engine.trials import Experiment
from conductor.errors import FormatError, PlanError, WorkflowError
from conductor.modes import MAX_ROUNDS, Settings
from conductor.orchestrate import plan_request
from conductor.output import Output
from conductor.plan_file import read_plan, write_plan
from conductor.planner.conductor import Conductor
from conductor.planner.planner import check_query
from conductor.run_state import RunState
from conductor.workers.pool import Pool
from conductor.workflow import Step, Workflow
from storage.alternatives import FEWEST, MOST, LiveAlternatives
from storage.conducting import Call, Conducting, Listener
from storage.ensemble import Ensemble, Ensembles
from storage.experimenting import Base, Experimenting, LiveExperiment
from storage.outlook import Outlook, outlook
from storage.records import Plan, Revision, RunRecord, Session
from storage.store import SessionStore

FOLDED_RUNS = 64
"""Ended runs whose state is kept in memory; a page asks for the same ones again and again."""


LOOKED_BACK = 20
"""Runs in which a step's last output is looked for."""


@dataclass(frozen=True)
class Workbench:
    """One store, what goes on in its sessions, and who plans and answers there."""

    store: SessionStore
    background: Background
    conducting: Conducting
    experimenting: Experimenting = field(init=False)
    _folded: dict[str, RunState] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        experimenting = Experimenting(self.store, self.background, state=self.state)
        object.__setattr__(self, "experimenting", experimenting)

    @classmethod
    def over(cls, store: SessionStore, *, pool: Pool, conductor: Conductor, nests: bool = False) -> Workbench:
        """A workbench with its own background loop; `nests`: the Conductor is one of the workers."""
        ensemble = Ensemble(workers=pool, conductor=conductor, nests=nests)
        return cls.following(store, lambda: ensemble)

    @classmethod
    def following(cls, store: SessionStore, ensembles: Ensembles) -> Workbench:
        """A workbench whose pool and Conductor may change; what has begun keeps those it began with."""
        background = Background(store)
        conducting = Conducting(store, background, ensembles=ensembles)
        return cls(store=store, background=background, conducting=conducting)

    @property
    def pool(self) -> Pool:
        """All who may be given a step now. Raises `PoolError` while the pool cannot be read."""
        return self.conducting.ensemble.pool

    @property
    def conductor(self) -> Conductor:
        """Who plans now. Raises `PoolError` while the pool cannot be read."""
        return self.conducting.ensemble.conductor

    def close(self) -> None:
        """Stop what runs and close the store."""
        self.background.close()
        self.store.close()

    # -- plans -----------------------------------------------------------------------------------

    def ask(self, query: str, *, settings: Settings | None = None) -> Session:
        """A new session for a query. Raises `QueryError` when it is empty or too long."""
        session = self.store.create_session(check_query(query), pool_label=self.pool.label)
        return session if settings is None else self.store.set_settings(session.id, settings)

    def settings(self, session: str) -> Settings:
        """What the session asks of its Conductor."""
        return self.store.session(session).settings or Settings()

    def plan(self, session: str, *, listen: Listener | None = None) -> Plan:
        """Ask the Conductor for a workflow and wait; an invalid plan is asked for again, with its reasons.

        The last answer; a valid one is the session's newest revision.
        """
        self.conducting.begin_plan(self._first_call(session, self.settings(session), listen), then_run=False)
        self.conducting.wait(session)
        kept = self.store.latest_plan(session)
        if kept is None:
            raise PlanError(f"{self.conductor.card.name} ended without a plan or a reason; ask again.")
        return kept

    def begin_plan(self, session: str, *, then_run: bool = False) -> LivePlan:
        """Ask the Conductor once, and run what it plans when `then_run`; returns at once.

        An invalid plan is for a person to judge: `ask_again` sends its reasons back.
        """
        settings = self.settings(session).model_copy(update={"attempts": 1})
        return self.conducting.begin_plan(self._first_call(session, settings, None), then_run=then_run)

    def ask_again(self, session: str) -> LivePlan:
        """Send the reasons why the newest plans are invalid back to the Conductor; returns at once.

        Raises `PlanError` when the newest plan is valid, or was asked for as often as the settings allow.
        """
        rejected = self.rejected(session)
        settings = self.settings(session)
        if not rejected:
            raise PlanError("The newest plan is not an invalid one; plan the query anew instead.")
        if len(rejected) >= settings.attempts:
            raise PlanError(
                f"The Conductor was asked {len(rejected)} times; change the query, or edit a plan by hand."
            )
        last = rejected[-1]
        before = self.state(self.store.run(last.looks_back)) if last.looks_back else None
        ensemble = self.conducting.ensemble
        request = plan_request(
            self.store.session(session).query, pool=ensemble.pool, settings=settings, after=before
        ).model_copy(update={"rejected": tuple(plan.report for plan in rejected)})
        call = Call(
            session=session,
            ensemble=ensemble,
            request=request,
            settings=settings.model_copy(update={"attempts": 1}),
            looks_back=last.looks_back,
        )
        return self.conducting.begin_plan(call, then_run=False)

    def rejected(self, session: str) -> tuple[Plan, ...]:
        """The newest round's newest attempts, where the last of them is invalid; oldest first."""
        found: list[Plan] = []
        for plan in reversed(self.store.plans(session)):
            if plan.report is None or plan.report.ok or (found and plan.round != found[0].round):
                break
            found.append(plan)
            if plan.attempt == 1:
                break
        return tuple(reversed(found))

    def begin_round(self, session: str) -> LivePlan:
        """Let the Conductor look at the newest run and plan another round, which then runs; returns at once.

        Raises `WorkflowError` where there is no finished run, or `MAX_ROUNDS` were made.
        """
        last = self.store.latest_run(session)
        state = None if last is None else self.state(last)
        if state is None or state.status != "finished" or not state.whole:
            raise WorkflowError(
                "Another round looks back on a finished run of all steps; run the workflow first."
            )
        if state.round >= MAX_ROUNDS:
            raise WorkflowError(f"This was round {state.round}; a query has at most {MAX_ROUNDS} rounds.")
        settings = self.settings(session).model_copy(update={"attempts": 1, "rounds": state.round + 1})
        ensemble = self.conducting.ensemble
        request = plan_request(
            self.store.session(session).query, pool=ensemble.pool, settings=settings, after=state
        )
        call = Call(
            session=session, ensemble=ensemble, request=request, settings=settings, looks_back=state.run
        )
        return self.conducting.begin_plan(call, then_run=True)

    def begin_alternatives(self, session: str, count: int) -> LiveAlternatives:
        """Ask the Conductor for `count` plans at once for the round that is shown; returns at once.

        `use_candidate` makes one the workflow. Raises `PlanError` where it is fewer than `FEWEST` or more
        than `MOST`.
        """
        return self.conducting.begin_alternatives(self._alternatives_call(session, count), count=count)

    def plan_alternatives(
        self, session: str, count: int, *, listen: Listener | None = None
    ) -> tuple[Plan, ...]:
        """Ask for them and wait; all of them, in the order of asking. Raises as `begin_alternatives`."""
        call = replace(self._alternatives_call(session, count), listen=listen)
        self.conducting.begin_alternatives(call, count=count)
        self.conducting.wait(session)
        return self.store.alternatives(session)

    def _alternatives_call(self, session: str, count: int) -> Call:
        if not FEWEST <= count <= MOST:
            raise PlanError(f"{count} plans at once cannot be asked for; ask for {FEWEST} to {MOST}.")
        head = self.store.head(session)
        looks_back = head.looks_back if head is not None else None
        before = self.state(self.store.run(looks_back)) if looks_back else None
        settings, ensemble = self.settings(session), self.conducting.ensemble
        request = plan_request(
            self.store.session(session).query, pool=ensemble.pool, settings=settings, after=before
        )
        return Call(
            session=session, ensemble=ensemble, request=request, settings=settings, looks_back=looks_back
        )

    def use_candidate(self, plan: str, candidate: int, *, head: Revision | None = None) -> Revision:
        """Make a candidate (from 0) of a plan its session's workflow; `head` is what it takes the place of.

        Raises `PlanError` where the plan has no such candidate or it is not valid, `WorkflowError` for a
        worker that the pool has lost, `EditConflict` when the head is another one by now.
        """
        kept = self.store.plan(plan)
        found = kept.report.candidates[candidate : candidate + 1] if kept.report is not None else ()
        if candidate < 0 or not found:
            raise PlanError(f"The plan {plan!r} has no candidate {candidate + 1}; choose one that is listed.")
        workflow = found[0].workflow
        if workflow is None:
            why = "keeps the answer" if found[0].ok else "is not valid"
            raise PlanError(f"This plan {why}, so it cannot be used as a workflow; choose another.")
        workflow.check_workers(self.pool.names)
        return self.store.add_revision(
            kept.session,
            workflow,
            origin="conductor",
            note=_picked(kept, candidate),
            plan=plan,
            expected=head.id if head is not None else None,
        )

    def _first_call(self, session: str, settings: Settings, listen: Listener | None) -> Call:
        ensemble = self.conducting.ensemble
        request = plan_request(self.store.session(session).query, pool=ensemble.pool, settings=settings)
        return Call(session=session, ensemble=ensemble, request=request, settings=settings, listen=listen)

    # -- revisions -------------------------------------------------------------------------------

    def head(self, session: str) -> Revision | None:
        """The session's current workflow, None before there is one."""
        return self.store.head(session)

    def edit(self, session: str, workflow: Workflow, *, note: str, head: Revision | None = None) -> Revision:
        """Keep an edited workflow as the newest revision; `head` is the revision that was edited.

        Raises `WorkflowError` for an unknown worker, `EditConflict` when the head is another one by now. A
        worker that the pool has lost may stay, so that its steps can be mended one after another.
        """
        lost = head.workflow.workers() if head is not None else ()
        workflow.check_workers(dict.fromkeys((*self.pool.names, *lost)))
        return self.store.add_revision(
            session, workflow, origin="human", note=note, expected=head.id if head is not None else None
        )

    def import_plan(
        self, text: str | bytes, *, query: str | None = None, fallback: str | None = None
    ) -> Session:
        """A new session from a workflow file; `query` counts over the file's own, `fallback` after it.

        Raises `FormatError`, `WorkflowError` or `QueryError`; nothing is kept then.
        """
        document = read_plan(text)
        workflow = document.workflow
        workflow.check_workers(self.pool.names)
        asked = query or document.query or fallback
        if not asked:
            raise FormatError("The file names no query; write one in the query box (or beside --workflow).")
        session = self.ask(asked)
        self.store.add_revision(session.id, workflow, origin="import", note="Imported")
        return session

    def export(self, session: str) -> str:
        """The current workflow as a file's text. Raises `WorkflowError` before there is one."""
        head = self._required_head(session)
        return write_plan(
            head.workflow,
            query=self.store.session(session).query,
            origin=head.origin,
            workers=self.pool.names,
            label=self.pool.label,
        )

    # -- runs ------------------------------------------------------------------------------------

    def outlook(self, session: str) -> Outlook:
        """What running the current workflow will do. Raises `WorkflowError` as `start`."""
        return self.outlooks(session, [EDITED])[EDITED]

    def outlooks(self, session: str, extents: Sequence[Extent]) -> dict[Extent, Outlook]:
        """What running the current workflow as far as each of `extents` will do; those that cannot be are
        left out. Raises `WorkflowError` where a step's worker is not in the pool.
        """
        assignment = self.assignment(session)
        last = self.store.latest_run(session)
        old = self.store.revision(last.revision).workflow if last else None
        outputs = self.store.outputs(session)
        return {
            extent: outlook(
                assignment,
                old=old,
                outputs=outputs,
                extent=extent,
                preloaded=self._preloaded(session, assignment.workflow, extent),
            )
            for extent in extents
            if extent.possible(assignment.workflow)
        }

    def start(self, session: str, extent: Extent = EDITED, *, listen: Listener | None = None) -> LiveRun:
        """Run the current workflow as far as `extent` in a run of its own; returns at once.

        Further rounds follow a whole run by themselves as the session's settings say. Raises `WorkflowError`
        when a step's worker is not in the pool, the session runs already, or `extent` names a step that
        cannot be run so.
        """
        head = self._required_head(session)
        last = self.store.latest_run(session)
        if last is not None and self.state(last).live:
            raise WorkflowError("This session is running already; stop that run first.")
        extent.check(head.workflow)
        return self.conducting.begin_run(
            session,
            settings=self.settings(session),
            extent=extent,
            preloaded=self._preloaded(session, head.workflow, extent),
            listen=listen,
        )

    def assignment(self, session: str) -> Assignment:
        """The current workflow set to the session's query. Raises `WorkflowError` as `start` does."""
        head = self._required_head(session)
        return Assignment.of(
            head.workflow,
            query=self.store.session(session).query,
            pool=self.pool,
            previous=self.conducting.previous(head),
        )

    def last_outputs(self, session: str, workflow: Workflow) -> dict[int, Output]:
        """What each step of `workflow` last gave in this session, by position, whatever it was asked.

        A step is known again by its instruction and its worker, else by its place in a workflow of as many
        steps. Pinned outputs count before all others.
        """
        found: dict[int, Output] = dict(workflow.pins)
        for run in self.store.runs(session)[:LOOKED_BACK]:
            state = self.state(run)
            if len(found) == len(workflow) or state.workflow is None:
                break
            for at, step in enumerate(workflow.steps):
                output = None if at in found else _same_step(step, at, len(workflow), state)
                if output is not None:
                    found[at] = output
        return found

    def unwritten(self, session: str, step: int) -> Output:
        """An empty output for a step of the current workflow that has none, for a person to write.

        Its fingerprint is "" where it is not known yet what the step will see.
        """
        assignment = self.assignment(session)
        known = self.outlook(session).radius.known
        own = assignment.workflow.steps[step]
        seen = all(read in known for read in own.access)
        return Output(
            fingerprint=assignment.fingerprint(step, known) if seen else "",
            text="",
            worker=own.worker,
            worker_kind=self.pool.cards[own.worker].kind,
            seconds=0.0,
            run="",
            step=step,
        )

    def _preloaded(self, session: str, workflow: Workflow, extent: Extent) -> dict[int, Output]:
        return self.last_outputs(session, workflow) if extent.kind == "only" else {}

    # -- experiments -----------------------------------------------------------------------------

    def experiment(self, session: str, experiment: Experiment) -> LiveExperiment:
        """Try variants of the current workflow on what its last run gave; returns at once.

        Raises `WorkflowError` where the current workflow has no finished run to compare with, an experiment
        of the session goes on already, or this one does not fit the workflow.
        """
        base = self.base(session)
        if base is None:
            raise WorkflowError(
                "An experiment is compared with a finished run of the workflow as it is now; run it first."
            )
        if self.experimenting.running(session):
            raise WorkflowError("An experiment goes on in this session; wait for it, or stop it first.")
        return self.experimenting.begin(
            experiment,
            on=base,
            ensemble=self.conducting.ensemble,
            meter=Meter(self.settings(session).budget),
        )

    def base(self, session: str) -> Base | None:
        """The newest finished run of all steps of the current workflow; None where it has none."""
        head = self._required_head(session)
        for run in self.store.runs(session)[:LOOKED_BACK]:
            state = self.state(run)
            if state.status == "finished" and state.whole and state.tells_of(head.workflow):
                return Base(record=run, state=state, previous=self.conducting.previous(head))
        return None

    def stop(self, session: str) -> None:
        """Stop what goes on in the session; what is done is kept."""
        self.conducting.stop(session)
        last = self.store.latest_run(session)
        if last is not None:
            self.background.cancel(last.id)

    def rounds(self, session: str) -> tuple[tuple[Revision, RunState], ...]:
        """The rounds before the current workflow's, oldest first: what was run and what came of it."""
        before: list[tuple[Revision, RunState]] = []
        head = self.store.head(session)
        while head is not None and head.looks_back is not None:
            run = self.store.run(head.looks_back)
            head = self.store.revision(run.revision)
            before.append((head, self.state(run)))
        return tuple(reversed(before))

    def state(self, run: RunRecord) -> RunState:
        """A run's state, live or from the store: the same fold."""
        live = self.background.live(run.id)
        if live is not None:
            return live.state
        known = self._folded.get(run.id)
        if known is None:
            known = self.store.run_state(run.id)
            if not known.live:
                self._remember(run.id, known)
        return known

    def runs_here(self, run: RunRecord) -> bool:
        """Whether this process runs it, and so can stop it."""
        return self.background.live(run.id) is not None

    def unsaved(self, run: RunRecord) -> str | None:
        """Why not everything of a run could be kept; None when it could."""
        live = self.background.live(run.id)
        return live.unsaved if live is not None else None

    def _remember(self, run: str, state: RunState) -> None:
        while len(self._folded) >= FOLDED_RUNS:
            self._folded.pop(next(iter(self._folded)), None)
        self._folded[run] = state

    def _required_head(self, session: str) -> Revision:
        head = self.store.head(session)
        if head is None:
            raise WorkflowError("This session has no workflow yet; plan one first.")
        return head


def _same_step(step: Step, at: int, steps: int, state: RunState) -> Output | None:
    """The output in `state` of the step that is `step` (at `at` of `steps`) again; None where it has none."""
    if state.workflow is None:
        return None
    named = (step.instruction, step.worker)
    for earlier, done in zip(state.workflow.steps, state.steps, strict=True):
        if (earlier.instruction, earlier.worker) == named and done.output is not None:
            return done.output
    return state.steps[at].output if len(state.steps) == steps else None


def _picked(plan: Plan, candidate: int) -> str:
    """What a revision says of the candidate it was made of."""
    several = plan.report is not None and len(plan.report.candidates) > 1
    which = f"plan {candidate + 1} of the text" if several else "its plan"
    if plan.alternative is None:
        return f"Used {which}"
    return f"Used alternative {plan.attempt}{f', {which}' if several else ''}"
