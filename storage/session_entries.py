"""A whole session as values: its rows without what belongs to one store.

Left out are the session that a row belongs to, its number (its place among the entries of its kind), and the
process that ran it. Knows values only: no store, no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from conductor.engine.experiments import Experiment
from conductor.planner.corrections import Thumbs
from conductor.runs.events import EVENT, Event
from conductor.runs.state import RunStatus
from conductor.values.charge import Charge
from conductor.values.conversation import Conversation
from conductor.values.messages import Usage, Value
from conductor.values.note import Note
from conductor.values.output import Output, WorkerKind
from conductor.values.presets import Settings
from conductor.workflow.file import Origin
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport

SessionState = Literal["new", "planned", "rejected", "unplanned", "unanswered"] | RunStatus
"""What happened last in a session: its newest run's status, or how planning went since. An edit after a run
leaves the run's status. `cancelled` and `interrupted` are also those of planning that gave no first workflow.

`rejected`: the plan is not valid. `unplanned`: planning failed and gave no plan at all. `unanswered`: the run
finished, and its worker declined to answer."""

Moment = Annotated[float, Field(allow_inf_nan=False, description="Unix seconds")]


class SessionEntry(Value):
    """The question; `head` is the id of the current revision."""

    id: str
    title: str
    query: str
    created_at: Moment
    updated_at: Moment
    state: SessionState = Field(description="what happened last")
    pool_label: str | None = Field(default=None, description="set where no model answers")
    head: str | None = Field(default=None, description="id of the current revision")
    settings: Settings | None = None
    conversation: Conversation | None = Field(default=None, description="the turns before the question")
    tags: tuple[Annotated[str, Field(pattern=r"\S")], ...] = ()


class PlanEntry(Value):
    """One answer of a Conductor, valid or not; plans requested together have the same `alternative`."""

    id: str
    created_at: Moment
    planner: str
    planner_kind: WorkerKind
    report: PlanReport | None = None
    failure: str | None = None
    usage: Usage
    seconds: float | None = None
    round: int = 1
    attempt: int = 1
    looks_back: str | None = Field(default=None, description="id of the run that it looks back on")
    alternative: str | None = None


class ChargedPlanEntry(PlanEntry):
    """One answer of a Conductor with what each request for it took; None in a file of an earlier version."""

    charges: tuple[Charge, ...] | None = None


class RevisionEntry(Value):
    """One state of the workflow; `parent` is the id of the revision that was edited."""

    id: str
    parent: str | None = None
    origin: Origin
    note: str
    plan: str | None = Field(default=None, description="id of the plan that it was made of")
    created_at: Moment
    workflow: Workflow
    looks_back: str | None = Field(default=None, description="id of the run whose next round it is")
    author: str | None = Field(default=None, description="who made it, where that is known")


class RunEntry(Value):
    """One run of a revision; its events hold what happened in it."""

    id: str
    revision: str
    parent: str | None = Field(default=None, description="id of the run before")
    status: RunStatus
    started_at: Moment
    finished_at: Moment | None = None
    answer: str | None = None
    pool_label: str | None = None
    round: int = 1
    experiment: str | None = None
    trial: int | None = Field(default=None, description="its place in the experiment, from 0")


class ExperimentEntry(Value):
    """Variants of the run `base`; its trials are runs."""

    id: str
    created_at: Moment
    base: str
    experiment: Experiment


class CorrectionEntry(Value):
    """The revision `revision` is what people made of `plan`, whose own workflow is the revision `planned`."""

    revision: str
    plan: str
    planned: str
    created_at: Moment


class RatingEntry(Value):
    """A person's rating of a run's answer."""

    run: str
    thumbs: Thumbs
    rated_at: Moment


class NoteEntry(Note):
    """A person's note. It is on a text of the run `run`, or where that is None on one of the revision
    `revision`; on the question both are None.
    """

    revision: str | None = None
    run: str | None = None


Decision = Literal["taken", "part", "left"]
"""What a person did with a changed plan: took all of it, took some of its changes, or left the old one."""


class ChangeEntry(Value):
    """What a person asked the Conductor to change in the workflow of `revision`, in words.

    `plan` is the Conductor's answer, None if it was not stored yet; `decision` is None until there is one,
    and `chosen` the revision that it made.
    """

    id: str
    revision: str
    wish: str
    created_at: Moment
    author: str | None = None
    plan: str | None = Field(default=None, description="id of the Conductor's answer")
    decision: Decision | None = None
    chosen: str | None = Field(default=None, description="id of the revision that was made of the answer")


NumberedEntry = ChargedPlanEntry | RevisionEntry | RunEntry | ExperimentEntry
"""Entries with an id and a number."""

Entry = (
    SessionEntry | NumberedEntry | CorrectionEntry | RatingEntry | NoteEntry | ChangeEntry | Output | Event
)

Kind = Literal[
    "session",
    "plan",
    "revision",
    "run",
    "experiment",
    "correction",
    "rating",
    "note",
    "change",
    "output",
    "event",
]

ENTRIES: Mapping[Kind, TypeAdapter[Any]] = {
    "session": TypeAdapter(SessionEntry),
    "plan": TypeAdapter(ChargedPlanEntry),
    "revision": TypeAdapter(RevisionEntry),
    "run": TypeAdapter(RunEntry),
    "experiment": TypeAdapter(ExperimentEntry),
    "correction": TypeAdapter(CorrectionEntry),
    "rating": TypeAdapter(RatingEntry),
    "note": TypeAdapter(NoteEntry),
    "change": TypeAdapter(ChangeEntry),
    "output": TypeAdapter(Output),
    "event": EVENT,
}
"""The entries of each kind, in the order in which the entries of a session stand."""

REFERENCES: Mapping[Kind, Mapping[str, Kind]] = {
    "session": {"head": "revision"},
    "plan": {"looks_back": "run"},
    "revision": {"parent": "revision", "plan": "plan", "looks_back": "run"},
    "run": {"revision": "revision", "parent": "run", "experiment": "experiment"},
    "experiment": {"base": "run"},
    "correction": {"revision": "revision", "plan": "plan", "planned": "revision"},
    "rating": {"run": "run"},
    "note": {"revision": "revision", "run": "run"},
    "change": {"revision": "revision", "plan": "plan", "chosen": "revision"},
}
"""Which fields of an entry hold the id of another one, and the kind of that one."""
