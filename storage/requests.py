"""Sessions that requests to the API began: whose token asked, and the response that it got.

Functions of a connection inside a transaction. A session without a row here was begun by no request, or by
one of a version that kept nothing of it: it is nobody's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from conductor.conversation import Conversation
from conductor.modes import Settings
from conductor.workflow import Workflow
from storage import revisions, sessions, tags
from storage.records import Session
from storage.schema import API_REQUESTS


def begin(
    connection: Connection,
    query: str,
    *,
    pool_label: str | None,
    settings: Settings,
    conversation: Conversation | None,
    tagged: Sequence[str],
    token: str | None,
    workflow: Workflow | None,
    keep: bool,
    now: float,
) -> Session:
    """See `SessionStore.begin_request`."""
    session = sessions.create(
        connection,
        query,
        title=None,
        pool_label=pool_label,
        origin="api",
        conversation=conversation,
        settings=settings,
        now=now,
    ).id
    connection.execute(API_REQUESTS.insert(), {"session": session, "token": token})
    tags.add_all(connection, [session], tagged)
    if workflow is not None:
        revisions.add_revision(
            connection, session, workflow, origin="import", note="Given with the request", now=now
        )
    if not keep:
        sessions.set_deleted(connection, session, at=now)
    return sessions.find(connection, session)


def is_open_to(connection: Connection, session: str, *, token: str) -> bool:
    """See `SessionStore.is_open_to`."""
    begun_with = connection.scalar(select(API_REQUESTS.c.token).where(API_REQUESTS.c.session == session))
    return begun_with in (None, token)


def keep_response(connection: Connection, session: str, response: str) -> None:
    """See `SessionStore.keep_response`."""
    own = API_REQUESTS.c.session == session
    connection.execute(API_REQUESTS.update().where(own).values(response=response))


def response(connection: Connection, session: str) -> str | None:
    """See `SessionStore.response`."""
    return connection.scalar(select(API_REQUESTS.c.response).where(API_REQUESTS.c.session == session))
