"""The records that the store returns: sessions, plans, revisions and runs, frozen.

Times are Unix seconds, ids opaque texts, numbers count from 1. Knows conductor's values, not how they are
stored.
"""

from __future__ import annotations

from typing import Literal

from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.messages import Value
from conductor.values.presets import Settings
from conductor.values.total import NOTHING, BoundedSum, Total
from conductor.workflow.file import Origin
from conductor.workflow.model import Topology
from storage.session_entries import (
    ChangeEntry,
    ExperimentEntry,
    NoteEntry,
    PlanEntry,
    RevisionEntry,
    RunEntry,
    SessionState,
)

SessionOrigin = Literal["app", "terminal", "import", "api", "fork", "evaluation"]
"""Where a session came from."""


class Session(Value):
    """A question and its results."""

    id: str
    """Its id, by which the store and addresses name it."""
    title: str
    """Its name in lists, which people may change."""
    query: str
    """The question."""
    created_at: float
    """Unix seconds."""
    updated_at: float
    """Changes with plans, edits and the start and end of runs; not with names, tags or deletion."""
    pool_label: str | None
    """That its pool calls no served model, or None."""
    head: str | None
    """The current revision's id, None before the first."""
    deleted_at: float | None
    """When it was deleted, in Unix seconds; None if it is not. It can be restored until it is removed."""
    settings: Settings | None = None
    """Those for its Conductor, None if nothing was chosen."""
    origin: SessionOrigin | None = None
    """None if it was not recorded."""
    forked_from: str | None = None
    """The revision from which a fork was made; it may be removed by now."""
    conversation: Conversation | None = None
    """The messages before the question, None without any."""
    expires_at: float | None = None
    """When it is removed for good, in Unix seconds; None for one that is stored."""

    @property
    def earlier_conversation(self) -> Conversation:
        """The messages before the question; may be empty."""
        return self.conversation or NO_CONVERSATION


class RequestSession(Value):
    """How the session of an API request is stored."""

    token: str | None = None
    """The id of the request's token: only requests with it read the session. None: all do."""
    tags: tuple[str, ...] = ()
    """Those that the session gets."""
    lifetime: float | None = None
    """How many seconds a session that is not to be stored stays for results of the tools that it calls; it is
    deleted from the start, and is removed in time even where its process dies. None: it is stored."""
    continues: str | None = None
    """The revision whose session the request continues, None for a new session."""
    response: str | None = None
    """What is stored of the response from the start, None for nothing."""
    marks: tuple[str, ...] = ()
    """Texts by which the client names the conversation with a worker alone that it is a turn of."""

    @property
    def keep(self) -> bool:
        return self.lifetime is None


class SessionSummary(Value):
    """A session as a list shows it."""

    id: str
    """Its id, by which the store and addresses name it."""
    title: str
    """Its name, which people may change."""
    query: str
    """The question."""
    created_at: float
    """Unix seconds."""
    updated_at: float
    """As in `Session`."""
    state: SessionState
    """Of its newest run or plan."""
    topology: Topology | None
    """The current workflow's shape, None without a workflow."""
    steps: int | None
    """How many the current workflow has, None without a workflow."""
    pool_label: str | None
    """That its pool calls no served model, or None."""
    origin: SessionOrigin | None = None
    """None if it was not recorded."""
    forked_from: str | None = None
    """The revision from which a fork was made, or None."""
    deleted_at: float | None = None
    """When it was deleted, in Unix seconds, or None."""
    workers: tuple[str, ...] = ()
    """The current workflow's, in alphabetical order."""
    tags: tuple[str, ...] = ()
    """In alphabetical order."""
    tokens: int | None = None
    """What planning and all runs took, trials included, as far as that is known; None if nothing of it is."""
    tokens_at_least: bool = False
    """A part is unknown, so that it was more."""
    runs: int = 0
    """Without trials."""

    @property
    def used(self) -> Total:
        """Its tokens as a total."""
        if self.tokens is None:
            return NOTHING
        bounds = BoundedSum(least=self.tokens, most=None if self.tokens_at_least else self.tokens)
        return Total(prompt=bounds, may_call=True)


class Plan(PlanEntry):
    """One answer of a Conductor, valid or not; `failure` is why there is no report.

    Plans that were requested together, to choose from, share one `alternative` and number their attempts
    from 1; it is None for all others. From round 2 on a plan `looks_back` on a run.
    """

    session: str
    """The id of its session."""


class Revision(RevisionEntry):
    """One state of a session's workflow; `number` counts from 1, `parent` is what was edited.

    `looks_back` is the run whose next round this is, None for a first round. `author` is the person who made
    it, None if unknown.
    """

    session: str
    """The id of its session."""
    number: int
    """From 1."""


class RevisionSummary(Value):
    """A revision as a history shows it, without its workflow."""

    id: str
    """Its id."""
    number: int
    """From 1."""
    parent: str | None
    """The revision that was edited, None for a first one."""
    origin: Origin
    """Who made it."""
    note: str
    """What was changed, in words."""
    created_at: float
    """Unix seconds."""
    topology: Topology
    """The workflow's shape."""
    steps: int
    """How many the workflow has."""
    looks_back: str | None
    """The run whose next round this is, None for a first round."""
    author: str | None
    """The person who made it, None if unknown."""


class RunRecord(RunEntry):
    """A run's row; its course is in its events.

    A run that is the `trial`-th (from 0) of an `experiment` is listed only there.
    """

    session: str
    """The id of its session."""
    owner: str
    """The open store that runs it."""
    token: str | None = None
    """The id of the bearer token with which it was begun, or None."""
    person: str | None = None
    """The name of the person who began it, None if unknown."""


class ExperimentRecord(ExperimentEntry):
    """An experiment on the run `base`; its trials are separate runs, numbered from 0."""

    session: str
    """The id of its session."""


class NoteRecord(NoteEntry):
    """A person's note in a session."""

    session: str
    """The id of its session."""
    deleted_at: float | None = None
    """When it was deleted, in Unix seconds, or None."""


class ChangeRecord(ChangeEntry):
    """What a person asked the Conductor to change in a session's workflow."""

    session: str
    """The id of its session."""


class EvaluationRecord(Value):
    """Planners compared on questions."""

    id: str
    """Its id."""
    created_at: float
    """Unix seconds."""
    spec: EvaluationSpec
    """What is compared, and how."""
    ended_at: float | None
    """None while it goes on or where its process died."""
    reason: str | None
    """Why it was stopped before its end, or what of it has no verdict."""


class EvaluationSize(Value):
    """How far an evaluation is."""

    questions: int
    """How many it has."""
    sessions: int
    """Cells that were started."""
    scored: int
    """Cells with a score, but those that an outage left unanswered."""


class CellRecord(Value):
    """One item, answered by a planner."""

    evaluation: str
    """The id of its evaluation."""
    item: int
    """Its position, from 0."""
    planner: str
    """By its name in the evaluation."""
    repeat: int
    """From 0."""
    answered_in: str
    """The session."""
    result: CellResult | None
    """None until it was scored."""

    @property
    def open(self) -> bool:
        """Whether it has no verdict, so that a resumed evaluation goes on with it."""
        return self.result is None or not self.result.score.is_known


class SessionFilter(Value):
    """Sessions that meet all of these conditions; an empty one, or None, excludes no session."""

    search: str = ""
    """What a person types, see `search.terms`."""
    states: tuple[SessionState, ...] = ()
    """One of them."""
    topologies: tuple[Topology, ...] = ()
    """One of them, of the current workflow."""
    workers: tuple[str, ...] = ()
    """One of them, in the current workflow."""
    tags: tuple[str, ...] = ()
    """All of them."""
    since: float | None = None
    """Unix seconds of `updated_at`, included."""
    until: float | None = None
    """Unix seconds of `updated_at`, included."""
    least_tokens: int | None = None
    """Compared with what is known of planning and of runs whose tokens are known."""
    most_tokens: int | None = None
    """Matches only sessions where nothing is unknown."""
    deleted: bool = False
    """The deleted sessions in place of the others."""
    evaluated: bool = False
    """Those of evaluations in place of the others."""
    token: str | None = None
    """Those that requests with the token of that id began."""

    @property
    def reversed_range(self) -> str | None:
        """The range that ends before it begins, so that no session is in it, or None."""
        if self.since is not None and self.until is not None and self.since > self.until:
            return "The last day is before the first; swap the two."
        least, most = self.least_tokens, self.most_tokens
        if least is not None and most is not None and least > most:
            return f"At least {least:,} and at most {most:,} tokens is not a range; swap the two."
        return None


EVERYTHING = SessionFilter()
"""All sessions that are not deleted, but for the thousands that evaluations make."""
