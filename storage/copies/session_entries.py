"""All of a session as values: its rows without what belongs to one store.

That is which session they are of, their numbers, which process ran them; an entry's place in its section is
its number. Knows values only: no store, no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from conductor.conversation import Conversation
from conductor.corrections import Thumbs
from conductor.engine.trials import EdgeTest, Swap
from conductor.events import EVENT, Event
from conductor.messages import Usage, Value
from conductor.modes import Settings
from conductor.output import Output, WorkerKind
from conductor.plan import PlanReport
from conductor.plan_file import Origin
from conductor.run_state import RunStatus
from conductor.workflow import Workflow
from storage.records import SessionState

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
    conversation: Conversation | None = Field(default=None, description="what was said before the question")
    tags: tuple[Annotated[str, Field(pattern=r"\S")], ...] = ()


class PlanEntry(Value):
    """One answer of a Conductor, valid or not; plans asked for together have one `alternative` in common."""

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
    """One run of a revision; what happened in it stands in its events."""

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
    """Variants tried on the run `base`; its trials are runs."""

    id: str
    created_at: Moment
    base: str
    experiment: Swap | EdgeTest


class CorrectionEntry(Value):
    """That `revision` is what people made of `plan`, which the revision `planned` holds."""

    revision: str
    plan: str
    planned: str
    created_at: Moment


class RatingEntry(Value):
    """What a person thinks of a run's answer."""

    run: str
    thumbs: Thumbs
    rated_at: Moment


Entry = (
    SessionEntry
    | PlanEntry
    | RevisionEntry
    | RunEntry
    | ExperimentEntry
    | CorrectionEntry
    | RatingEntry
    | Output
    | Event
)

Kind = Literal["plans", "revisions", "runs", "experiments"]
"""The sections whose entries have ids and numbers."""

Section = Literal[
    "session",
    "plans",
    "revisions",
    "runs",
    "experiments",
    "corrections",
    "ratings",
    "outputs",
    "events",
]
"""In the order in which a file has them."""

SECTIONS: Mapping[Section, TypeAdapter[Any]] = {
    "session": TypeAdapter(SessionEntry),
    "plans": TypeAdapter(PlanEntry),
    "revisions": TypeAdapter(RevisionEntry),
    "runs": TypeAdapter(RunEntry),
    "experiments": TypeAdapter(ExperimentEntry),
    "corrections": TypeAdapter(CorrectionEntry),
    "ratings": TypeAdapter(RatingEntry),
    "outputs": TypeAdapter(Output),
    "events": EVENT,
}
"""What an entry of each section is; "session" is one entry, the others are lists of them."""
