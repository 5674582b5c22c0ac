"""Sessions, workflows and responses in the store, as far as a token may see them.

A token sees what no other token's request began; anything else does not exist for it. `token` is its id
throughout, None for this machine's own token, which sees everything. Knows the store; knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from conductor.errors import StorageError, UnknownId
from conductor.values.conversation import Conversation
from conductor.values.presets import Settings
from conductor.workflow.model import Workflow
from storage.records import RunRecord, Session
from storage.store import SessionStore

LISTED = 50
"""Stored workflows in the list of models."""

_PAGE = 200
_PAGES = 10
"""How many sessions are searched for them: some have no workflow, or are API requests themselves."""


@dataclass(frozen=True)
class StoredWorkflow:
    """A workflow by the id of its session (its newest revision) or of one revision.

    `created_at` is in Unix seconds.
    """

    id: str
    title: str
    workflow: Workflow
    created_at: float


@dataclass(frozen=True)
class StoredRequest:
    """The question of an earlier request, with the messages before it. `response` is the body that it was
    answered with, None where none was stored; `answer` is its own runs' answer, None where they gave none.
    """

    query: str
    conversation: Conversation
    response: str | None
    answer: str | None


def visible_session(store: SessionStore, id: str, *, token: str | None) -> Session | None:
    """The session of that id; None where it is deleted, or not there for this token."""
    if token is not None and not store.requests.is_open_to(id, token=token):
        return None
    try:
        session = store.sessions.find(id)
    except UnknownId:
        return None
    return session if session.deleted_at is None else None


def workflow(store: SessionStore, id: str, *, token: str | None) -> StoredWorkflow | None:
    """The workflow of that session or revision; None where there is none."""
    session = visible_session(store, id, token=token)
    if session is None:
        return _revision(store, id, token=token)
    head = store.revisions.head(id)
    if head is None:
        return None
    return StoredWorkflow(id, title=session.title, workflow=head.workflow, created_at=session.created_at)


def _revision(store: SessionStore, id: str, *, token: str | None) -> StoredWorkflow | None:
    try:
        revision = store.revisions.find(id)
    except UnknownId:
        return None
    session = visible_session(store, revision.session, token=token)
    if session is None:
        return None
    return StoredWorkflow(id, title=session.title, workflow=revision.workflow, created_at=revision.created_at)


def newest_workflows(store: SessionStore) -> tuple[StoredWorkflow, ...]:
    """The newest workflows that people made, one a session."""
    found = (_readable(store, id) for id in _sessions_of_people(store))
    return tuple(islice((one for one in found if one is not None), LISTED))


def _readable(store: SessionStore, id: str) -> StoredWorkflow | None:
    """None also for a damaged workflow or one of a later version: the others are listed all the same."""
    try:
        return workflow(store, id, token=None)
    except StorageError:
        return None


def _sessions_of_people(store: SessionStore) -> Iterator[str]:
    """The sessions with a workflow that no API request began, last updated first."""
    for page in range(_PAGES):
        sessions = store.sessions.listed(limit=_PAGE, offset=page * _PAGE)
        yield from (one.id for one in sessions if one.steps is not None and one.origin != "api")
        if len(sessions) < _PAGE:
            break


def request(store: SessionStore, id: str, *, token: str | None) -> StoredRequest | None:
    """The request that began that session, and its answer; None where there is no such session.

    What people did in the session since is not part of it.
    """
    session = visible_session(store, id, token=token)
    if session is None or session.origin != "api":
        return None
    own = reversed(_own_runs(store, session))
    return StoredRequest(
        session.query,
        conversation=session.said_before,
        response=store.requests.response(id),
        answer=next((run.answer for run in own if run.status == "finished" and run.answer), None),
    )


def _own_runs(store: SessionStore, session: Session) -> Sequence[RunRecord]:
    """The rounds of the request itself, without what people ran afterwards."""
    rounds = (session.settings or Settings()).rounds
    runs = reversed(store.runs.of_session(session.id))
    return [run for number, run in takewhile(lambda it: it[0] == it[1].round, enumerate(runs, 1))][:rounds]


def response(store: SessionStore, id: str, *, token: str | None) -> str | None:
    """The body that is stored as the session's response; None where there is none."""
    return None if visible_session(store, id, token=token) is None else store.requests.response(id)


def delete(store: SessionStore, id: str, *, token: str | None) -> bool:
    """Delete the session of a stored response, and return whether there was one. The app can restore it."""
    if response(store, id, token=token) is None:
        return False
    store.sessions.delete(id)
    return True
