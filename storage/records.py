"""What the store gives back: frozen records of sessions, plans, revisions and runs.

Times are Unix seconds; ids are opaque texts. Knows conductor's values, not how they are stored.
"""

from __future__ import annotations

from typing import Literal

from conductor.conversation import NOTHING_SAID, Conversation
from conductor.engine.trials import EdgeTest, Swap
from conductor.messages import Usage, Value
from conductor.modes import Settings
from conductor.output import WorkerKind
from conductor.plan import PlanReport
from conductor.plan_file import Origin
from conductor.run_state import RunStatus
from conductor.workflow import Topology, Workflow

SessionState = Literal["new", "planned", "rejected"] | RunStatus
"""What happened last in a session: its newest run's status, or how planning went since. An edit after
a run leaves the run's status."""

SessionOrigin = Literal["app", "terminal", "import", "api", "fork"]
"""Where a session came from."""


class Session(Value):
    """A question and what became of it. `head` is the current revision's id, None before the first.
    `settings` is what it asks of its Conductor, None where nothing was chosen; `conversation` is what was
    said before the question, None where it stands alone.

    `updated_at` moves with plans, edits and the start and end of runs; not with names, tags or deletion.
    `origin` is None where that was not kept; a fork was made from the revision `forked_from`, which may be
    gone by now.
    """

    id: str
    title: str
    query: str
    created_at: float
    updated_at: float
    pool_label: str | None
    head: str | None
    deleted_at: float | None
    settings: Settings | None = None
    origin: SessionOrigin | None = None
    forked_from: str | None = None
    conversation: Conversation | None = None

    @property
    def said_before(self) -> Conversation:
        """What was said before the question, be it nothing."""
        return self.conversation or NOTHING_SAID


class SessionSummary(Value):
    """A session as a list shows it; `topology`, `steps` (a count) and `workers` are its current workflow's.

    `tokens` is what all its runs took, trials included; None where that is unknown or nothing has run.
    `runs` counts its runs without trials. Workers and tags are in alphabetical order.
    """

    id: str
    title: str
    query: str
    created_at: float
    updated_at: float
    state: SessionState
    topology: Topology | None
    steps: int | None
    pool_label: str | None
    origin: SessionOrigin | None = None
    forked_from: str | None = None
    deleted_at: float | None = None
    workers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tokens: int | None = None
    runs: int = 0


class Plan(Value):
    """One answer of a Conductor, valid or not; `failure` says why there is no report.

    It is the `attempt`-th of that `round` (both from 1); from round 2 on it `looks_back` on a run.
    Plans that were asked for together, to choose from, have one `alternative` in common and count as their
    attempts from 1; it is None for all others.
    """

    id: str
    session: str
    created_at: float
    planner: str
    planner_kind: WorkerKind
    report: PlanReport | None
    failure: str | None
    usage: Usage
    seconds: float | None
    round: int = 1
    attempt: int = 1
    looks_back: str | None = None
    alternative: str | None = None


class Revision(Value):
    """One state of a session's workflow; `number` counts from 1, `parent` is what was edited.

    `looks_back` is the run whose next round this is, None for a first round. `author` is the person who made
    it, None where nobody said who that is.
    """

    id: str
    session: str
    number: int
    parent: str | None
    origin: Origin
    note: str
    plan: str | None
    created_at: float
    workflow: Workflow
    looks_back: str | None = None
    author: str | None = None


class RevisionEntry(Value):
    """A revision as a history shows it: without its workflow, which has so many `steps`."""

    id: str
    number: int
    parent: str | None
    origin: Origin
    note: str
    created_at: float
    topology: Topology
    steps: int
    looks_back: str | None
    author: str | None


class RunRecord(Value):
    """A run's row; its story is in its events. `owner` names the process that runs it.

    A run that is the `trial`-th (from 0) of an `experiment` is in no list but that experiment's. `tokens` is
    what its calls took that ended so far, None where a call did not tell or the run was interrupted.
    """

    id: str
    session: str
    revision: str
    parent: str | None
    status: RunStatus
    started_at: float
    finished_at: float | None
    answer: str | None
    owner: str
    pool_label: str | None
    round: int = 1
    experiment: str | None = None
    trial: int | None = None
    tokens: int | None = None


class ExperimentRecord(Value):
    """An experiment on the run `base`; its trials are runs of their own, numbered from 0."""

    id: str
    session: str
    created_at: float
    base: str
    experiment: Swap | EdgeTest
