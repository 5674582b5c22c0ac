"""Sessions that requests to the API began: which token was used, and the response that it got.

Functions of a connection inside a transaction. A session without a row here was begun by no request, or by
a version that recorded none: it belongs to no token.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from conductor.runs.request import RunRequest
from storage.database.schema import API_REQUESTS
from storage.records import RequestSession
from storage.tables import revisions, runs, sessions


def begin(
    connection: Connection,
    now: float,
    request: RunRequest,
    *,
    session: str,
    stored_as: RequestSession,
    pool_label: str | None,
    run: str | None,
    owner: str,
) -> None:
    """See `Requests.begin`; `owner` is that of the run."""
    sessions.create(
        connection,
        now,
        request.query,
        id=session,
        pool_label=pool_label,
        origin="api",
        conversation=None if request.conversation.nothing else request.conversation,
        settings=request.settings,
    )
    connection.execute(API_REQUESTS.insert(), {"session": session, "token": stored_as.token})
    sessions.add_tags(connection, [session], stored_as.tags)
    if request.workflow is not None:
        note = "Given with the request"
        revision = revisions.add(connection, now, session, request.workflow, origin="import", note=note).id
        if run is not None:
            runs.start(
                connection, now, owner, run=run, session=session, revision=revision, pool_label=pool_label
            )
    if not stored_as.keep:
        sessions.delete(connection, now, session)


def is_open_to(connection: Connection, session: str, *, token: str) -> bool:
    """Whether a request with the token of that id may read the session: no other token began it."""
    begun_with = connection.scalar(select(API_REQUESTS.c.token).where(API_REQUESTS.c.session == session))
    return begun_with in (None, token)


def keep_response(connection: Connection, session: str, response: str) -> None:
    """Store the body of the response to a request; does nothing where its session was removed."""
    own = API_REQUESTS.c.session == session
    connection.execute(API_REQUESTS.update().where(own).values(response=response))


def response(connection: Connection, session: str) -> str | None:
    """The body of the response to the session's request, None where none was stored."""
    return connection.scalar(select(API_REQUESTS.c.response).where(API_REQUESTS.c.session == session))
