"""What sessions and workflows the API shows to whom: a token's requests see what no other token began.

Knows the API's values and the store. `token` is the id of whoever asks, None for who needs none and sees
everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from conductor.api.orchestra import Answered, Saved
from conductor.errors import StorageError, UnknownId
from conductor.modes import Settings
from storage.records import RunRecord, Session
from storage.store import SessionStore

LISTED = 50
"""Saved workflows that the list of models has."""

_PAGE = 200
_PAGES = 10
"""How many sessions are looked through for them: some have no workflow, or are requests themselves."""


def shown(store: SessionStore, id: str, *, token: str | None) -> Session | None:
    """The session of that id, None where it is deleted or not there for whoever asks."""
    if token is not None and not store.is_open_to(id, token=token):
        return None
    try:
        session = store.session(id)
    except UnknownId:
        return None
    return session if session.deleted_at is None else None


def saved(store: SessionStore, id: str, *, token: str | None) -> Saved | None:
    """See `Orchestra.saved`."""
    session = shown(store, id, token=token)
    if session is None:
        return _revision(store, id, token=token)
    head = store.head(id)
    if head is None:
        return None
    return Saved(id, title=session.title, workflow=head.workflow, created_at=session.created_at)


def _revision(store: SessionStore, id: str, *, token: str | None) -> Saved | None:
    try:
        revision = store.revision(id)
    except UnknownId:
        return None
    session = shown(store, revision.session, token=token)
    if session is None:
        return None
    return Saved(id, title=session.title, workflow=revision.workflow, created_at=revision.created_at)


def newest_saved(store: SessionStore) -> tuple[Saved, ...]:
    """See `Orchestra.newest_saved`."""
    found = (_readable(store, id) for id in _of_people(store))
    return tuple(islice((one for one in found if one is not None), LISTED))


def _readable(store: SessionStore, id: str) -> Saved | None:
    """None also for what is damaged, or of a later version: it keeps no other from being listed."""
    try:
        return saved(store, id, token=None)
    except StorageError:
        return None


def _of_people(store: SessionStore) -> Iterator[str]:
    """The sessions with a workflow that are no requests, last updated first."""
    for page in range(_PAGES):
        sessions = store.sessions(limit=_PAGE, offset=page * _PAGE)
        yield from (one.id for one in sessions if one.steps is not None and one.origin != "api")
        if len(sessions) < _PAGE:
            break


def answered(store: SessionStore, id: str, *, token: str | None) -> Answered | None:
    """See `Orchestra.answered`."""
    session = shown(store, id, token=token)
    if session is None or session.origin != "api":
        return None
    own = reversed(_own_runs(store, session))
    return Answered(
        session.query,
        conversation=session.said_before,
        response=store.response(id),
        answer=next((run.answer for run in own if run.status == "finished" and run.answer), None),
    )


def _own_runs(store: SessionStore, session: Session) -> Sequence[RunRecord]:
    """The rounds that followed one another from the request on; what people ran afterwards is left out."""
    rounds = (session.settings or Settings()).rounds
    runs = reversed(store.runs(session.id))
    return [run for number, run in takewhile(lambda it: it[0] == it[1].round, enumerate(runs, 1))][:rounds]


def response(store: SessionStore, id: str, *, token: str | None) -> str | None:
    """See `Orchestra.response`."""
    return None if shown(store, id, token=token) is None else store.response(id)


def delete(store: SessionStore, id: str, *, token: str | None) -> bool:
    """See `Orchestra.delete`."""
    if response(store, id, token=token) is None:
        return False
    store.delete_session(id)
    return True
