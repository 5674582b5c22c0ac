"""Sessions, as far as a token may list, read, delete and export them.

A token lists and deletes the sessions that it began, and reads what `visible_session` admits; this machine's
token, None throughout, has all. Knows the store; knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from conductor.errors import FormatError, StorageError, UnknownId
from conductor.text.json_text import portable
from conductor.workflow.model import Topology
from storage.records import SessionFilter
from storage.session_entries import SessionState
from storage.store import SessionStore
from studio.access.errors import ApiError
from studio.api.stored.lists import MAX_LIMIT
from studio.api.stored.visible import visible_session
from studio.session_file import write_sessions
from studio.sessions.session_shape import Shape, listed_shape, session_shape, with_summary

Texts = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=20)]
Moment = Annotated[float, Field(allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=0, lt=2**53)]


class SessionCriteria(BaseModel):
    """Which sessions are selected: those that meet all conditions. Of a parameter that is given several times
    one value is enough, of `tag` all must be there. Times are Unix seconds.
    """

    model_config = ConfigDict(extra="forbid")

    search: Annotated[str, Field(max_length=1_000)] = ""
    state: Annotated[list[SessionState], Field(max_length=20)] = []
    topology: Annotated[list[Topology], Field(max_length=20)] = []
    worker: Texts = []
    tag: Texts = []
    since: Moment | None = None
    until: Moment | None = None
    least_tokens: Tokens | None = None
    most_tokens: Tokens | None = None
    evaluated: bool = False

    def store_filter(self, *, token: str | None) -> SessionFilter:
        """Raises `ApiError` for a range that ends before it begins."""
        criteria = SessionFilter(
            search=self.search,
            states=tuple(self.state),
            topologies=tuple(self.topology),
            workers=tuple(map(portable, self.worker)),
            tags=tuple(map(portable, self.tag)),
            since=self.since,
            until=self.until,
            least_tokens=self.least_tokens,
            most_tokens=self.most_tokens,
            evaluated=self.evaluated,
            token=token,
        )
        if (fault := criteria.reversed_range) is not None:
            param = "most_tokens" if self.since is None or self.until is None else "until"
            raise ApiError(fault, param=param, code="invalid_value")
        return criteria


class SessionPage(SessionCriteria):
    """Which of the selected sessions are listed: at most `limit` behind the one of the id `after`."""

    after: Annotated[str, Field(max_length=200)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 20


class SessionObject(BaseModel):
    """A session with all its parts; times are Unix seconds, what is unknown is null."""

    id: str
    object: Literal["session"]
    session: dict[str, Any]
    answer: str | None
    no_plan: str | None
    plans: list[dict[str, Any]]
    revisions: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    notes: list[dict[str, Any]]


class DeletedSession(BaseModel):
    """A session was deleted."""

    id: str
    object: Literal["session.deleted"]
    deleted: Literal[True]


def listed(store: SessionStore, page: SessionPage, *, token: str | None) -> Shape:
    """A page of the sessions that the token began, last updated first. Raises `ApiError`."""
    criteria = page.store_filter(token=token)
    after = page.after and portable(page.after)
    try:
        # An id must be one of the list's own; a place in it names none.
        if after and token is not None and "~" not in after and not store.requests.is_own(after, token=token):
            raise UnknownId(after)
        window = store.sessions.window(criteria, after=after, most=page.limit)
    except StorageError as error:
        message = f"The list has no {after!r}; begin without 'after'."
        raise ApiError(message, param="after", code="invalid_value") from error
    rows = store.sessions.summaries(window.ids)
    # A page that reading ended goes on behind the last session that was looked at.
    ends_early = window.further is not None and len(window.ids) < page.limit
    places = store.sessions.snippets(window.ids, page.search) if page.search else None
    return {
        "object": "list",
        "data": [{"object": "session", **listed_shape(each, places)} for each in rows],
        "first_id": rows[0].id if rows else None,
        "last_id": window.further if ends_early or not rows else rows[-1].id,
        "has_more": window.further is not None,
    }


def session_object(store: SessionStore, id: str, *, token: str | None) -> Shape:
    """The session with all its parts. Raises `ApiError` where it is not there for the token."""
    session, summary = with_summary(store, _visible_id(store, id, token))
    return {"id": id, "object": "session", **session_shape(store, session, summary)}


def delete(store: SessionStore, id: str, *, token: str | None) -> None:
    """Delete a session that the token began; the app can restore it. Raises `ApiError`."""
    _visible_id(store, id, token)
    if token is not None and not store.requests.is_own(id, token=token):
        message = f"The session {id[:200]!r} was not begun with this token, which may only read it."
        raise ApiError(message, status=403, param="session_id", code="not_own_session")
    run = store.runs.latest(id)
    if (run is not None and run.status == "running") or store.plans.is_underway(id):
        message = f"The session {id[:200]!r} is planned or run at the moment; stop that first, or wait."
        raise ApiError(message, status=409, param="session_id", code="session_busy")
    store.sessions.delete(id)


def exported(store: SessionStore, id: str, *, token: str | None) -> IO[bytes]:
    """The session file of one session. Raises `ApiError`."""
    return _file(store, [_visible_id(store, id, token)])


def exported_all(store: SessionStore, criteria: SessionCriteria, *, token: str | None) -> IO[bytes]:
    """One session file with the selected sessions that the token began, last updated first."""
    return _file(store, store.sessions.ids(criteria.store_filter(token=token)))


def _file(store: SessionStore, sessions: Sequence[str]) -> IO[bytes]:
    """Written whole before it is sent: who reads slowly holds no transaction open."""
    with ExitStack() as unsent:
        file = unsent.enter_context(TemporaryFile())
        try:
            file.writelines(write_sessions(store, sessions))
        except FormatError as error:
            raise ApiError(str(error), code="export_too_large") from error
        file.seek(0)
        unsent.pop_all()
    return file


def _visible_id(store: SessionStore, id: str, token: str | None) -> str:
    if visible_session(store, id, token=token) is None:
        message = f"There is no session {id[:200]!r}: it was deleted, or is another token's."
        raise ApiError(message, status=404, param="session_id", code="session_not_found")
    return id
