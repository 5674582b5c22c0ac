"""What the store returns: frozen records of sessions, plans, revisions and runs.

Times are Unix seconds; ids are opaque texts. Knows conductor's values, not how they are stored.
"""

from __future__ import annotations

from typing import Literal

from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.messages import Value
from conductor.values.presets import Settings
from conductor.values.total import Total
from conductor.workflow.file import Origin
from conductor.workflow.model import Topology
from storage.session_entries import ChangeEntry, ExperimentEntry, NoteEntry, PlanEntry, RunEntry, SessionState
from storage.session_entries import RevisionEntry as RevisionInFile

SessionOrigin = Literal["app", "terminal", "import", "api", "fork", "evaluation"]
"""Where a session came from."""


class Session(Value):
    """A question and its results. `head` is the current revision's id, None before the first. `settings` are
    those for its Conductor, None where nothing was chosen; `conversation` holds the messages before the
    question, None without any.

    `updated_at` changes with plans, edits and the start and end of runs; not with names, tags or deletion.
    `origin` is None where it was not recorded; a fork was made from the revision `forked_from`, which may
    be removed by now.
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
    def earlier_conversation(self) -> Conversation:
        """The messages before the question; may be empty."""
        return self.conversation or NO_CONVERSATION


class RequestSession(Value):
    """How the session of an API request is stored.

    `token` is the id of the token that the request came with: only requests with the same token read the
    session. None: every request does. `tags` are the session's. Unless `keep`, the session is deleted from
    the start, so that it is removed in time even where its process dies. `continues` is the id of the
    revision whose session the request continues, None for a new session. `response` is what is stored of the
    response from the start, None for nothing.
    """

    token: str | None = None
    tags: tuple[str, ...] = ()
    keep: bool = True
    continues: str | None = None
    response: str | None = None


class SessionSummary(Value):
    """A session as a list shows it; `topology`, `steps` (a count) and `workers` are its current workflow's.

    `tokens` is what planning and all its runs took, trials included, as far as that is known; None where
    nothing of it is. `tokens_at_least`: a part is unknown, so that it was more.
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
    tokens_at_least: bool = False
    runs: int = 0

    @property
    def used(self) -> Total:
        """Its tokens as a total."""
        return Total(tokens=self.tokens, tokens_at_least=self.tokens_at_least)


class Plan(PlanEntry):
    """One answer of a Conductor, valid or not; `failure` is why there is no report.

    It is the `attempt`-th of that `round` (both from 1); from round 2 on it `looks_back` on a run.
    Plans that were requested together, to choose from, share one `alternative` and number their attempts
    from 1; it is None for all others.
    """

    session: str


class Revision(RevisionInFile):
    """One state of a session's workflow; `number` counts from 1, `parent` is what was edited.

    `looks_back` is the run whose next round this is, None for a first round. `author` is the person who made
    it, None where unknown.
    """

    session: str
    number: int


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


class RunRecord(RunEntry):
    """A run's row; its course is in its events. `owner` names the open store that runs it.

    A run that is the `trial`-th (from 0) of an `experiment` is listed only there. `tokens` is what its ended
    calls took, None where a call did not report it or the run was interrupted.
    """

    session: str
    owner: str
    tokens: int | None = None


class ExperimentRecord(ExperimentEntry):
    """An experiment on the run `base`; its trials are separate runs, numbered from 0."""

    session: str


class NoteRecord(NoteEntry):
    """A person's note in a session; `deleted_at` is None unless it was deleted."""

    session: str
    deleted_at: float | None = None


class ChangeRecord(ChangeEntry):
    """What a person asked the Conductor to change in a session's workflow."""

    session: str


class EvaluationRecord(Value):
    """An evaluation; `ended_at` is None while it goes on or where its process died, `reason` why it was
    stopped before its end.
    """

    id: str
    created_at: float
    spec: EvaluationSpec
    ended_at: float | None
    reason: str | None


class EvaluationSize(Value):
    """How many questions an evaluation has, how many cells were begun, and how many of them were scored."""

    questions: int
    sessions: int
    scored: int


class CellRecord(Value):
    """One item (its position from 0), answered by a planner; `repeat` counts from 0. `answered_in` is the
    session, `result` None until it was scored.
    """

    evaluation: str
    item: int
    planner: str
    repeat: int
    answered_in: str
    result: CellResult | None


class SessionFilter(Value):
    """Sessions that meet all of these conditions; an empty one, or None, excludes no session.

    `search` is what a person types, see `search.terms`. Of several states, topologies or workers one will do;
    tags must all be there. Topology and workers are the current workflow's. `since` and `until` are Unix
    seconds, of `updated_at`, both included. `least_tokens` is compared with what is known of planning and
    of runs whose tokens are known, and `most_tokens` finds only sessions where nothing is unknown.
    `deleted` selects the deleted sessions in place of the others, `evaluated` those of evaluations, `token`
    those that requests with the token of that id began.
    """

    search: str = ""
    states: tuple[SessionState, ...] = ()
    topologies: tuple[Topology, ...] = ()
    workers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    least_tokens: int | None = None
    most_tokens: int | None = None
    deleted: bool = False
    evaluated: bool = False
    token: str | None = None

    @property
    def reversed_range(self) -> str | None:
        """Which range ends before it begins, so that no session is in it; None where none does."""
        if self.since is not None and self.until is not None and self.since > self.until:
            return "The last day is before the first; exchange the two."
        least, most = self.least_tokens, self.most_tokens
        if least is not None and most is not None and least > most:
            return f"At least {least:,} and at most {most:,} tokens is no range; exchange the two."
        return None


EVERYTHING = SessionFilter()
"""All sessions that are not deleted, but for the thousands that evaluations make."""
