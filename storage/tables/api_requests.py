"""The rows of the API: bearer tokens, how many requests came with them, and the sessions that these began.

Functions of a connection inside a transaction. A token's secret comes here as its digest only. A session
without a row of its own here was begun by no request, or by a version that recorded none: it belongs to no
token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict, Unpack

from sqlalchemy import Connection, exists, func, select

from conductor.errors import StorageError
from conductor.runs.request import RunRequest
from conductor.text.json_text import portable
from storage.api_token import MAX_NAME, Secret, Token, TokenLimits
from storage.database.compiled_statement import insert_into
from storage.database.schema import (
    API_CONVERSATIONS,
    API_EARLIER_RESPONSES,
    API_REQUESTS,
    API_SPENDING,
    API_TOKENS,
    SESSIONS,
)
from storage.limits import Spent, begin_of, day_of
from storage.records import RequestSession, Revision
from storage.tables import ledger, revisions, runs, sessions
from storage.tables.rows import Rows, new_id

_TOKENS = Rows(Token, API_TOKENS, "token")


def add(connection: Connection, now: float, name: str, secret: Secret, limits: TokenLimits) -> Token:
    """See `Tokens.create`."""
    called = " ".join(portable(name).split())
    if not 0 < len(called) <= MAX_NAME:
        raise StorageError(f"A token needs a name of 1 to {MAX_NAME} characters; none was made.")
    same = API_TOKENS.c.name == called
    if connection.scalar(select(exists().where(same, API_TOKENS.c.revoked_at.is_(None)))):
        raise StorageError(
            f"There is a token {called!r} already; choose another name, or revoke that one first."
        )
    row = {"id": secret.id, "name": called, "digest": secret.digest, "created_at": now, "limits": limits}
    connection.execute(API_TOKENS.insert(), row)
    return find(connection, secret.id)


def find(connection: Connection, id: str) -> Token:
    """The token of that id. Raises `StorageError` when there is none."""
    row = with_digest(connection, id)
    if row is None:
        raise StorageError(f"There is no token {id!r} in this store; choose one of those that are listed.")
    return row[0]


def with_digest(connection: Connection, id: str) -> tuple[Token, str] | None:
    """The token of that id, also one that was revoked, and the digest of its secret; None without one."""
    row = connection.execute(select(API_TOKENS).where(API_TOKENS.c.id == id)).first()
    if row is None:
        return None
    return Token(**{name: getattr(row, name) for name in Token.model_fields}), row.digest


def listed(connection: Connection) -> tuple[Token, ...]:
    """All tokens, the newest first, those that were revoked last."""
    tokens = _TOKENS.select(connection)
    return tuple(sorted(tokens, key=lambda each: (each.revoked_at is not None, -each.created_at, each.id)))


def any_in_force(connection: Connection) -> bool:
    """Whether there is a token that was not revoked."""
    return bool(connection.scalar(select(exists().where(API_TOKENS.c.revoked_at.is_(None)))))


def revoke(connection: Connection, now: float, id: str) -> Token:
    """No request with it is accepted from now on; nothing happens where it was revoked before."""
    find(connection, id)
    valid = (API_TOKENS.c.id == id, API_TOKENS.c.revoked_at.is_(None))
    connection.execute(API_TOKENS.update().where(*valid).values(revoked_at=now))
    return find(connection, id)


def note_use(connection: Connection, id: str, *, now: float) -> None:
    """Store when its last request came."""
    connection.execute(API_TOKENS.update().where(API_TOKENS.c.id == id).values(used_at=now))


# -- what is spent ---------------------------------------------------------------------------------


def note_request(connection: Connection, now: float, id: str) -> None:
    row = insert_into(API_SPENDING, connection.dialect.name).values(token=id, day=day_of(now), requests=1)
    keys = [API_SPENDING.c.token, API_SPENDING.c.day]
    more = {"requests": API_SPENDING.c.requests + 1}
    connection.execute(row.on_conflict_do_update(index_elements=keys, set_=more))


def spent(connection: Connection, now: float, id: str) -> Spent:
    """What its requests have used in the period of its budget that is now."""
    begin = begin_of(find(connection, id).limits.period, now=now)
    requests = func.coalesce(func.sum(API_SPENDING.c.requests), 0)
    own = (API_SPENDING.c.token == id, API_SPENDING.c.day >= day_of(begin))
    count = connection.scalar(select(requests).where(*own))
    return ledger.spent(connection, begin=begin, token=id).model_copy(update={"requests": int(count or 0)})


# -- the sessions of requests ------------------------------------------------------------------------


class Place(TypedDict):
    """The id of a request's session, how it is stored, and the label of the pool that its run has."""

    session: str
    stored_as: RequestSession
    pool_label: NotRequired[str | None]


def begin_session(
    connection: Connection,
    now: float,
    request: RunRequest,
    *,
    run: str | None,
    owner: str,
    **place: Unpack[Place],
) -> None:
    """See `Requests.begin`; `owner` is that of the run."""
    session, stored_as, pool_label = place["session"], place["stored_as"], place.get("pool_label")
    workflow, revision = request.workflow, None if request.workflow is None else new_id()
    # All of it is new: nothing is read, and each row is written once.
    sessions.insert(
        connection,
        now,
        id=session,
        query=request.query,
        pool_label=pool_label,
        origin="api",
        conversation=None if request.conversation.nothing else request.conversation,
        settings=request.settings,
        state="new" if workflow is None else "planned" if run is None else "running",
        head=revision,
        **_times(now, stored_as),
    )
    row = {"session": session, "token": stored_as.token, "response": stored_as.response}
    connection.execute(API_REQUESTS.insert(), row)
    sessions.add_tags(connection, [session], stored_as.tags)
    if workflow is not None and revision is not None:
        note = "Given with the request"
        revisions.insert(
            connection, now, session, workflow, id=revision, number=1, origin="import", note=note
        )
        if run is not None:
            new: runs.NewRun = {"run": run, "session": session, "revision": revision}
            new |= {"pool_label": pool_label, "by": request.by}
            runs.insert(connection, now, owner, number=1, **new)


def _times(now: float, stored_as: RequestSession) -> dict[str, float | None]:
    """When the session was deleted and is removed."""
    if stored_as.lifetime is None:
        return {"deleted_at": None, "expires_at": None}
    return {"deleted_at": now, "expires_at": now + stored_as.lifetime}


def continue_session(
    connection: Connection, now: float, request: RunRequest, *, revision: str, stored_as: RequestSession
) -> Revision:
    """See `Requests.continue_session`."""
    before = revisions.find(connection, revision)
    # First of all, because it locks the row.
    columns: dict[str, Any] = {"conversation": request.conversation, "updated_at": now}
    sessions.change(connection, before.session, **columns, **_times(now, stored_as))
    runs.check_idle(connection, before.session)
    if request.workflow is None or request.workflow == before.workflow:
        return before
    note = "Given with a further request"
    return revisions.add(
        connection, now, before.session, request.workflow, origin="import", note=note, parent=revision
    )


def set_newest_turn(connection: Connection, session: str, *, digests: Sequence[str]) -> None:
    """The session's newest turn is known by these digests, and no longer by those of the turn before; does
    nothing where the session was removed.
    """
    table = API_CONVERSATIONS
    connection.execute(table.delete().where(table.c.session == session))
    if connection.scalar(select(exists().where(SESSIONS.c.id == session))):
        connection.execute(table.insert(), [{"digest": each, "session": session} for each in digests])


def with_newest_turn(connection: Connection, digests: Sequence[str]) -> tuple[str, ...]:
    """The sessions whose newest turn is known by one of these digests, last updated first."""
    own = select(API_CONVERSATIONS.c.session).where(API_CONVERSATIONS.c.digest.in_(digests))
    theirs = select(SESSIONS.c.id).where(SESSIONS.c.id.in_(own))
    return tuple(connection.scalars(theirs.order_by(SESSIONS.c.updated_at.desc())))


def is_open_to(connection: Connection, session: str, *, token: str, whole: bool = True) -> bool:
    """Whether a request with the token of that id may read the session: no other token began it.

    A token for some workers reads as a `whole` only what it began: others may name any worker.
    """
    first_token = connection.scalar(select(API_REQUESTS.c.token).where(API_REQUESTS.c.session == session))
    if first_token is not None or not whole:
        return first_token in (None, token)
    limits = connection.scalar(select(API_TOKENS.c.limits).where(API_TOKENS.c.id == token))
    return limits is None or limits.workers is None


def is_own(connection: Connection, session: str, *, token: str | None) -> bool:
    """Whether a request with the token of that id (None: without one) began the session."""
    own = (API_REQUESTS.c.session == session, API_REQUESTS.c.token.is_not_distinct_from(token))
    return bool(connection.scalar(select(exists().where(*own))))


def extend(connection: Connection, now: float, session: str, *, seconds: float) -> None:
    """Let a session that is not to be stored stay so long from now on; one that is stored by now stays."""
    own = (SESSIONS.c.id == session, SESSIONS.c.expires_at.is_not(None))
    connection.execute(SESSIONS.update().where(*own).values(expires_at=now + seconds))


def keep_response(connection: Connection, session: str, response: str) -> None:
    """Store the body of the response to a request; does nothing where its session was removed."""
    own = API_REQUESTS.c.session == session
    connection.execute(API_REQUESTS.update().where(own).values(response=response))


def response(connection: Connection, session: str) -> str | None:
    """The stored body of the response to the session's request, or None."""
    return connection.scalar(select(API_REQUESTS.c.response).where(API_REQUESTS.c.session == session))


def set_response_aside(connection: Connection, session: str, *, answer: str) -> None:
    """Keep the response under the name `answer`, and have none; does nothing without a response."""
    own = API_REQUESTS.c.session == session
    newest = response(connection, session)
    if newest is not None:
        row = {"session": session, "answer": answer, "response": newest}
        connection.execute(API_EARLIER_RESPONSES.insert(), row)
        connection.execute(API_REQUESTS.update().where(own).values(response=None))


def earlier_response(connection: Connection, session: str, *, answer: str) -> str | None:
    """The response that is stored under that name, or None."""
    table = API_EARLIER_RESPONSES.c
    own = (table.session == session, table.answer == answer)
    return connection.scalar(select(table.response).where(*own))


def keep_earlier_response(connection: Connection, session: str, *, answer: str, response: str) -> None:
    """Put `response` in the place of the one that was kept under that name."""
    table = API_EARLIER_RESPONSES.c
    own = (table.session == session, table.answer == answer)
    connection.execute(API_EARLIER_RESPONSES.update().where(*own).values(response=response))


def responses_of(connection: Connection, session: str) -> tuple[str, ...]:
    """All responses to requests of the session."""
    columns = (API_EARLIER_RESPONSES.c, API_REQUESTS.c)
    groups = [connection.scalars(select(own.response).where(own.session == session)) for own in columns]
    return tuple(text for texts in groups for text in texts if text is not None)


def answered(
    connection: Connection,
    *,
    token: str | None,
    containing: str,
    begin: str | None,
    newest_first: bool,
    limit: int,
) -> tuple[str, ...]:
    """The sessions that are not deleted and open to that token (None: to all), with a response that has this
    text in it; by their age, those from the session `begin` on.
    """
    own, theirs = API_REQUESTS.c, SESSIONS.c
    earlier = API_EARLIER_RESPONSES.c
    has_earlier = exists().where(
        earlier.session == own.session, earlier.response.contains(containing, autoescape=True)
    )
    has = own.response.contains(containing, autoescape=True) | has_earlier
    query = (
        select(own.session).join(SESSIONS, theirs.id == own.session).where(theirs.deleted_at.is_(None), has)
    )
    if token is not None:
        query = query.where(own.token.is_(None) | (own.token == token))
    if begin is not None:
        at = select(theirs.created_at).where(theirs.id == begin).scalar_subquery()
        older = theirs.created_at < at if newest_first else theirs.created_at > at
        same = theirs.id <= begin if newest_first else theirs.id >= begin
        query = query.where(older | ((theirs.created_at == at) & same))
    by = (theirs.created_at, theirs.id)
    order = [column.desc() for column in by] if newest_first else by
    return tuple(connection.scalars(query.order_by(*order).limit(limit)))
