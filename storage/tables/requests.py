"""Sessions that requests to the API began: which token was used, and the response that it got.

Functions of a connection inside a transaction. A session without a row here was begun by no request, or by
a version that recorded none: it belongs to no token.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from conductor.runs.request import RunRequest
from storage.database.schema import API_REQUESTS, TAGS
from storage.records import RequestSession
from storage.tables import revisions, runs, sessions, tags


def begin(
    connection: Connection,
    request: RunRequest,
    *,
    session: str,
    stored_as: RequestSession,
    pool_label: str | None,
    run: str | None,
    owner: str,
    now: float,
) -> None:
    """See `store.requests.begin`."""
    sessions.create(
        connection,
        request.query,
        id=session,
        title=None,
        pool_label=pool_label,
        origin="api",
        conversation=None if request.conversation.nothing else request.conversation,
        settings=request.settings,
        now=now,
    )
    connection.execute(API_REQUESTS.insert(), {"session": session, "token": stored_as.token})
    tagged = {tags.tag_of(text) for text in stored_as.tags}
    if tagged:
        connection.execute(TAGS.insert(), [{"session": session, "tag": tag} for tag in sorted(tagged)])
    if request.workflow is not None:
        note = "Given with the request"
        revision = revisions.add_revision(
            connection, session, request.workflow, origin="import", note=note, now=now
        )
        if run is not None:
            runs.start(
                connection,
                run=run,
                session=session,
                revision=revision.id,
                parent=None,
                pool_label=pool_label,
                round=1,
                experiment=None,
                trial=None,
                owner=owner,
                now=now,
            )
    if not stored_as.keep:
        sessions.set_deleted(connection, session, at=now)


def is_open_to(connection: Connection, session: str, *, token: str) -> bool:
    """See `store.requests.is_open_to`."""
    begun_with = connection.scalar(select(API_REQUESTS.c.token).where(API_REQUESTS.c.session == session))
    return begun_with in (None, token)


def keep_response(connection: Connection, session: str, response: str) -> None:
    """See `store.requests.keep_response`."""
    own = API_REQUESTS.c.session == session
    connection.execute(API_REQUESTS.update().where(own).values(response=response))


def response(connection: Connection, session: str) -> str | None:
    """See `store.requests.response`."""
    return connection.scalar(select(API_REQUESTS.c.response).where(API_REQUESTS.c.session == session))
