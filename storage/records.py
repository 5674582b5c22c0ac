"""What the store gives back: frozen records of sessions, plans, revisions and runs.

Times are Unix seconds; ids are opaque texts. Knows conductor's values, not how they are stored.
"""

from __future__ import annotations

from typing import Literal

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


class Session(Value):
    """A question and what became of it. `head` is the current revision's id, None before the first.
    `settings` is what it asks of its Conductor, None where nothing was chosen.

    `updated_at` moves with plans, edits and the start and end of runs; not with names or deletion.
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


class SessionSummary(Value):
    """A session as a list shows it; `topology` and `steps` (a count) are its current workflow's."""

    id: str
    title: str
    query: str
    created_at: float
    updated_at: float
    state: SessionState
    topology: Topology | None
    steps: int | None
    pool_label: str | None


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

    `looks_back` is the run whose next round this is, None for a first round.
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


class RunRecord(Value):
    """A run's row; its story is in its events. `owner` names the process that runs it.

    A run that is the `trial`-th (from 0) of an `experiment` is in no list but that experiment's.
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


class ExperimentRecord(Value):
    """An experiment on the run `base`; its trials are runs of their own, numbered from 0."""

    id: str
    session: str
    created_at: float
    base: str
    experiment: Swap | EdgeTest
