"""Running two plans of one question at once, to see which of them is first and which costs less."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import Estimate, estimate
from conductor.engine.known_outputs import NO_OUTPUTS
from conductor.engine.schedule import blast_radius
from conductor.errors import WorkflowError
from conductor.orchestration.rounds import plan_request
from conductor.planner.rule_planner import plan_by_rules
from conductor.runs.scope import RunScope
from conductor.workflow.model import Workflow
from storage.records import Revision
from studio.sessions.background_runs import LiveRun
from studio.sessions.person_limits import PersonLimits, admitted
from studio.workbench.bench import Bench


@dataclass(frozen=True, slots=True)
class Contender:
    """A workflow that answers a session's question: that of its `revision`, or another one called `name`."""

    session: str
    workflow: Workflow
    name: str
    revision: str | None = None


class Racing:
    """Running two plans of one question at once."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def estimates(self, contenders: Sequence[Contender]) -> tuple[Estimate, ...]:
        """What a whole run of each will probably take. Raises `WorkflowError` for a worker that is not in
        the pool.
        """
        outputs, cards = self._bench.store.runs.outputs, self._bench.pool.cards
        expected = []
        for contender in contenders:
            bound = self._bound(contender)
            radius = blast_radius(None, bound, NO_OUTPUTS, scope=_whole(contender.workflow))
            earlier = outputs(contender.session)
            expected.append(estimate(bound, radius.called, earlier, cards=cards, outputs=radius.outputs))
        return tuple(expected)

    def start(self, left: Contender, right: Contender) -> tuple[LiveRun, LiveRun]:
        """Run both whole, in a new run each; returns at once.

        Each is run in its own session, or in a fork where the session has another workflow by now, is busy
        or runs the other one. Raises `WorkflowError` where they answer different questions, or a worker is
        not in the pool, and `LimitReached` as one run does; then neither is run.
        """
        sessions = self._bench.store.sessions
        if sessions.find(left.session).query != sessions.find(right.session).query:
            raise WorkflowError("These are plans for two questions; choose two plans of one question.")
        for contender in (left, right):
            self._bound(contender)
        limits = admitted(self._bench.store, self._bench.asker)
        first = self._home(left, homes=())
        second = self._home(right, homes=(first.session,))
        live = self._begin(first, limits)
        try:
            return live, self._begin(second, limits)
        except BaseException:
            self._bench.background.cancel(live.run)
            raise

    def rules_plan(self, session: str) -> Workflow:
        """What the planning rules write for the session's question, without a call."""
        request = plan_request(self._bench.request(session), pool=self._bench.pool)
        return plan_by_rules(request)[1]

    def _begin(self, head: Revision, limits: PersonLimits | None) -> LiveRun:
        # One round: the run of another one would not be compared.
        settings = self._bench.settings(head.session).model_copy(update={"rounds": 1})
        return self._bench.runner.begin_run(
            head.session,
            replace(self._bench.request(head.session, settings), attended=False),
            revision=head,
            scope=_whole(head.workflow),
            preloaded={},
            limits=limits,
        )

    def _home(self, contender: Contender, *, homes: Collection[str]) -> Revision:
        """The current revision of the session in which the contender is run."""
        store = self._bench.store
        head = self._bench.required_head(contender.session)
        last = store.runs.latest(contender.session)
        idle = not self._bench.activities.busy(contender.session) and (
            last is None or last.status != "running"
        )
        if head.workflow == contender.workflow and contender.session not in homes and idle:
            return head
        fork = store.sessions.fork(contender.session, contender.revision or head.id)
        forked = self._bench.required_head(fork.id)
        if forked.workflow == contender.workflow:
            return forked
        return store.revisions.add(
            fork.id, contender.workflow, origin="import", note=contender.name, expected=forked.id
        )

    def _bound(self, contender: Contender) -> BoundWorkflow:
        find, head = self._bench.store.revisions.find, self._bench.required_head
        revision = find(contender.revision) if contender.revision else head(contender.session)
        record = self._bench.store.sessions.find(contender.session)
        return BoundWorkflow.of(
            contender.workflow,
            query=record.query,
            pool=self._bench.pool,
            previous=self._bench.runner.previous(revision),
            conversation=record.earlier_conversation,
        )


def _whole(workflow: Workflow) -> RunScope:
    """Every step, past every gate: no person is asked to continue a race."""
    return RunScope(kind="force", passes=tuple(sorted(workflow.gates)))
