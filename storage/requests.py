"""Sessions that requests to the API began: whose token asked, and the response that it got.

Functions of a connection inside a transaction. A session without a row here was begun by no request, or by
one of a version that kept nothing of it: it is nobody's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from conductor.conversation import Conversation
from conductor.modes import Settings
from conductor.workflow import Workflow
from storage import processes, revisions, runs, sessions, tags
from storage.owner import this_process
from storage.schema import API_REQUESTS, TAGS


@dataclass(frozen=True)
class NewRequest:
    """A request as it is about to begin in a session of its own, whose id is `session`.

    `token` is the id of the token that it came with. `workflow` was given with it, and this process is about
    to run it under the id `run`; both are None where a Conductor is to plan. One that is not to be kept is
    deleted from the beginning, so that it is removed for good in time even where its process dies.
    """

    session: str
    query: str
    pool_label: str | None
    settings: Settings
    conversation: Conversation | None = None
    tags: tuple[str, ...] = ()
    token: str | None = None
    workflow: Workflow | None = None
    run: str | None = None
    keep: bool = True


def begin(connection: Connection, request: NewRequest, *, now: float) -> None:
    """See `SessionStore.begin_request`."""
    session = sessions.create(
        connection,
        request.query,
        id=request.session,
        title=None,
        pool_label=request.pool_label,
        origin="api",
        conversation=request.conversation,
        settings=request.settings,
        now=now,
    ).id
    connection.execute(API_REQUESTS.insert(), {"session": session, "token": request.token})
    tagged = {tags.tag_of(text) for text in request.tags}
    if tagged:
        connection.execute(TAGS.insert(), [{"session": session, "tag": tag} for tag in sorted(tagged)])
    if request.workflow is not None:
        _start(connection, request, request.workflow, now=now)
    if not request.keep:
        sessions.set_deleted(connection, session, at=now)


def _start(connection: Connection, request: NewRequest, workflow: Workflow, *, now: float) -> None:
    note = "Given with the request"
    revision = revisions.add_revision(
        connection, request.session, workflow, origin="import", note=note, now=now
    )
    if request.run is None:
        return
    runs.start(
        connection,
        run=request.run,
        session=request.session,
        revision=revision.id,
        parent=None,
        pool_label=request.pool_label,
        round=1,
        experiment=None,
        trial=None,
        now=now,
    )
    processes.beat(connection, this_process())


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
