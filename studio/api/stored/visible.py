"""Sessions, workflows and responses in the store, as far as a token may see them.

A token sees what no other token's request began, a token for some workers only what its own requests began
and workflows; anything else does not exist for it. `token` is its id throughout, None for this machine's own
token, which sees everything. Knows the store; knows no HTTP.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from pydantic import BaseModel, ConfigDict

from conductor.errors import StorageError, UnknownId
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.tools import ToolCall
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.workflow.model import Workflow
from storage.records import RunRecord, Session
from storage.store import SessionStore
from studio.access.errors import ApiError
from studio.api.stored.turn_thoughts import with_thoughts
from studio.api.tool_names import ToolNames, arguments_of
from studio.workbench.resuming import SOON, resumes_by_itself

RESPONSE = "resp_"
"""A response's id is its session's behind this; see `answer_id` for further ones of the same session."""

COMPLETION = "chatcmpl-"
"""The same of a chat completion."""

LATE_SECONDS = 30.0
"""How long after the end of its run a living process may take to store a response."""

IN_PROGRESS = "in_progress"
"""The status of a response that has not ended."""

WAITS = "paused"
"""Why a response is incomplete whose run waits at a gate."""

LISTED = 50
"""Stored workflows in the list of models."""

_PAGE = 200
_PAGES = 10
"""How many sessions are searched for them: some have no workflow, or are API requests themselves."""

_NOT_THERE = "was not stored, was deleted since, or is another token's"


@dataclass(frozen=True)
class StoredWorkflow:
    """A workflow by the id of its session (its newest revision) or of one revision.

    `created_at` is in Unix seconds.
    """

    id: str
    title: str
    workflow: Workflow
    created_at: float


def visible_session(store: SessionStore, id: str, *, token: str | None, whole: bool = True) -> Session | None:
    """The session of that id; None if it is deleted, or not there for this token, as a `whole` or for its
    workflow.
    """
    if token is not None and not store.requests.is_open_to(id, token=token, whole=whole):
        return None
    try:
        session = store.sessions.find(id)
    except UnknownId:
        return None
    return session if session.deleted_at is None else None


def session_of_calls(store: SessionStore, id: str, *, token: str | None) -> Session | None:
    """As `visible_session`; also a session that is not stored, for as long as it waits for the results of its
    calls of tools, for the token that began it.
    """
    session = visible_session(store, id, token=token)
    if session is not None or not store.requests.is_own(id, token=token):
        return session
    unstored = store.sessions.find(id)
    waits = unstored.expires_at is not None and unstored.expires_at > time.time()
    return unstored if waits else None


# -- workflows -------------------------------------------------------------------------------------


def workflow(store: SessionStore, id: str, *, token: str | None) -> StoredWorkflow | None:
    """The workflow of that session or revision, or None."""
    session = visible_session(store, id, token=token, whole=False)
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
    session = visible_session(store, revision.session, token=token, whole=False)
    if session is None:
        return None
    return StoredWorkflow(id, title=session.title, workflow=revision.workflow, created_at=revision.created_at)


def newest_workflows(store: SessionStore) -> tuple[StoredWorkflow, ...]:
    """The newest workflows that people made, one a session."""
    workflows = (_readable(store, id) for id in _sessions_of_people(store))
    return tuple(islice((one for one in workflows if one is not None), LISTED))


def _readable(store: SessionStore, id: str) -> StoredWorkflow | None:
    """None also for a damaged workflow or one of a later version: the others are listed all the same."""
    try:
        return workflow(store, id, token=None)
    except StorageError:
        return None


def _sessions_of_people(store: SessionStore) -> Iterator[str]:
    """The sessions with a workflow that no API request began, last updated first."""
    after = None
    for _ in range(_PAGES):
        window = store.sessions.window(after=after, most=_PAGE)
        sessions = store.sessions.summaries(window.ids)
        yield from (one.id for one in sessions if one.steps is not None and one.origin != "api")
        after = window.further
        if after is None:
            break


# -- responses -------------------------------------------------------------------------------------


class ResponseOrigin(BaseModel):
    """What is stored beside the body of a response: who makes it, and how its text is read from the events.

    `owner` is the store's text for the process, `run_before` the session's last run before. See `Answer` for
    the rest; `events`: its own stream also has the run's events, so its numbers are not those of the answer.
    `answer` is its mark among those of its session, "" for the first. `following` is how many messages the
    question was followed by, None if an earlier version began it; `followed` are these messages, where the
    session went on and may have others by now.
    """

    model_config = ConfigDict(frozen=True)

    owner: str = ""
    run_before: str | None = None
    rounds: int = 1
    live: bool = False
    verbatim: bool = False
    events: bool = False
    answer: str = ""
    following: int | None = None
    followed: tuple[Turn, ...] | None = None

    def beside(self, shape: Mapping[str, Any]) -> str:
        """The response with that `shape` as it is stored; only its object `conductor` has more."""
        own = {**shape.get("conductor", {}), _ORIGIN_KEY: self.model_dump(mode="json")}
        return json.dumps({**shape, "conductor": own})


_ORIGIN_KEY = "begun"
_CHAT = "chat.completion"


def answer_id(session: str, answer: str) -> str:
    """The id of an answer without its beginning: the session's for the first one."""
    return f"{session}_{answer}" if answer else session


@dataclass(frozen=True)
class StoredResponse:
    """A response that was stored: its `shape` as it was sent; until it has `ended`, as far as it is known.

    `origin` is None for one that an earlier version stored.
    """

    session: str
    shape: Mapping[str, Any]
    origin: ResponseOrigin | None

    @classmethod
    def read(cls, session: str, text: str) -> StoredResponse:
        shape = json.loads(text)
        own = (shape.get("conductor") or {}).pop(_ORIGIN_KEY, None)
        origin = None if own is None else ResponseOrigin.model_validate(own)
        begins = COMPLETION if shape.get("object") == _CHAT else RESPONSE
        shape["id"] = begins + answer_id(session, "" if origin is None else origin.answer)
        return cls(session, shape, origin)

    @property
    def answer(self) -> str:
        """Its mark among the responses of its session."""
        return "" if self.origin is None else self.origin.answer

    @property
    def ended(self) -> bool:
        return bool(self.shape["status"] != IN_PROGRESS)

    @property
    def tool_names(self) -> ToolNames:
        """Which functions stood for the tools of its request."""
        return ToolNames.of(self.shape.get("tools") or ())


def response(store: SessionStore, id: str, *, token: str | None) -> StoredResponse:
    """A stored response. Raises `ApiError` for an unknown id."""
    return _stored(store, id, RESPONSE, "response", "response", token=token)


def _stored(
    store: SessionStore, id: str, prefix: str, kind: str, named: str, *, token: str | None
) -> StoredResponse:
    session = _session_of(store, id, prefix, token=token)
    record = None if session is None else _response_in(store, session.id, id)
    if record is None:
        message = f"There is no {named} {id[:200]!r}: it {_NOT_THERE}."
        raise ApiError(message, status=404, param=f"{kind}_id", code=f"{kind}_not_found")
    return record


def check_own(store: SessionStore, record: StoredResponse, token: str | None, kind: str) -> None:
    """Raises `ApiError` where another token, or none, began it."""
    if token is not None and not store.requests.is_own(record.session, token=token):
        message = f"The {kind} {record.shape['id']!r} was not made for this token, which may only read it."
        raise ApiError(message, status=403, param=f"{kind}_id", code=f"not_own_{kind}")


def _response_in(store: SessionStore, session: str, id: str) -> StoredResponse | None:
    """The response or the completion of that id, of those of the session."""
    newest = store.requests.response(session)
    if newest is not None and (record := StoredResponse.read(session, newest)).shape["id"] == id:
        return record
    _, _, answer = id.removeprefix(RESPONSE).removeprefix(COMPLETION).partition("_")
    body = store.requests.earlier_response(session, answer=answer)
    earlier = None if body is None else StoredResponse.read(session, body)
    return earlier if earlier is not None and earlier.shape["id"] == id else None


def again(store: SessionStore, record: StoredResponse) -> StoredResponse:
    """The same response as it is stored now."""
    return _response_in(store, record.session, str(record.shape["id"])) or record


def is_earlier(store: SessionStore, record: StoredResponse) -> bool:
    """Whether another response of its session began since."""
    newest = store.requests.response(record.session)
    return newest is None or StoredResponse.read(record.session, newest).answer != record.answer


def set_aside(store: SessionStore, session: str, *, followed: tuple[Turn, ...]) -> None:
    """Keep the newest response of a session in which another one begins, with the messages that its question
    was followed by: the session has others from now on.
    """
    body = store.requests.response(session)
    if body is not None:
        newest = StoredResponse.read(session, body)
        if newest.origin is not None:
            origin = newest.origin.model_copy(update={"followed": followed})
            store.requests.keep_response(session, origin.beside(newest.shape))
        store.requests.set_response_aside(session, answer=newest.answer)


def is_abandoned(store: SessionStore, record: StoredResponse) -> bool:
    """Whether nothing is stored any more for a response that has not ended: its runs are over and its process
    died, or that could not store it. For a moment another process may go on with it by itself.
    """
    run = store.runs.latest(record.session)
    if record.ended or (run is not None and (run.status == "running" or _goes_on_soon(run))):
        return False
    if record.origin is None or not store.processes.lives(record.origin.owner):
        return True
    since = record.shape["created_at"] if run is None else run.finished_at or run.started_at
    return time.time() - since > LATE_SECONDS and not store.plans.is_underway(record.session)


def _goes_on_soon(run: RunRecord) -> bool:
    is_new = run.finished_at is not None and time.time() - run.finished_at < SOON
    return run.status == "interrupted" and is_new and resumes_by_itself()


def delete_response(store: SessionStore, id: str, *, token: str | None) -> None:
    """Delete the session of a stored response, which the app can restore. Raises as `response`."""
    record = response(store, id, token=token)
    check_own(store, record, token, "response")
    if not record.ended and not is_abandoned(store, record):
        message = f"The response {id[:200]!r} is under way; cancel it first."
        raise ApiError(message, status=409, param="response_id", code="response_in_progress")
    store.sessions.delete(record.session)


def messages_until(store: SessionStore, id: str, *, token: str | None) -> Conversation:
    """The messages of the request that was answered by that response, its answer, and its instructions.

    What people did in the session since does not count. Raises `ApiError` where there is no such response, or
    it has no answer.
    """
    session = _session_of(store, id, RESPONSE, token=token)
    record = None if session is None else _response_in(store, session.id, id)
    answer = None if session is None or session.origin != "api" else _answer(store, session, record)
    if session is None or answer is None:
        message = (
            f"There is no response {id[:200]!r} to continue: it gave no answer, {_NOT_THERE}. "
            "Give the messages themselves."
        )
        raise ApiError(message, param="previous_response_id", code="previous_response_not_found")
    turns = (*_request_turns(session, record), answer)
    return Conversation(instructions=session.earlier_conversation.instructions, turns=turns)


def messages_of(store: SessionStore, record: StoredResponse) -> tuple[Turn, ...]:
    """The messages of the request that was answered, those of earlier responses included."""
    return _request_turns(store.sessions.find(record.session), record)


def _request_turns(session: Session, record: StoredResponse | None) -> tuple[Turn, ...]:
    past = session.earlier_conversation
    origin = ResponseOrigin() if record is None or record.origin is None else record.origin
    following = past.following[: origin.following] if origin.followed is None else origin.followed
    query = Turn(role="user", text=session.query, name=past.speaker, images=past.images, files=past.files)
    return (*past.turns, query, *following)


def _answer(store: SessionStore, session: Session, record: StoredResponse | None) -> Turn | None:
    """The answer that the client got, else that of the request's own runs, or None.

    In the app the session may have another answer by now.
    """
    if record is not None and record.ended:
        answer = _answer_turn(record)
        is_answer = answer.text or answer.tool_calls
        return with_thoughts(answer, output_of(store, record)) if is_answer else None
    rounds = (session.settings or Settings()).rounds
    runs = enumerate(reversed(store.runs.of_session(session.id)), start=1)
    # What people ran afterwards begins with round 1 again.
    own = [run for number, run in takewhile(lambda it: it[0] == it[1].round, runs)][:rounds]
    texts = (run.answer for run in reversed(own) if run.status == "finished" and run.answer)
    return next((Turn(role="assistant", text=text) for text in texts), None)


def output_of(store: SessionStore, record: StoredResponse) -> Output | None:
    """The output that is the answer of a response; None without one, or if its run is not there any more."""
    about = record.shape.get("conductor") or {}
    if about.get("answer_step") is None:
        return None
    try:
        state = store.runs.state(about["run"])
    except UnknownId:
        return None
    step: int = about["answer_step"]
    return state.steps[step].output


def _answer_turn(record: StoredResponse) -> Turn:
    """The items of a response as one message, whose calls are as the worker made them."""
    output = record.shape["output"]
    texts = [part["text"] for item in output if item["type"] == "message" for part in item["content"]]
    calls = []
    for item in output:
        if item["type"] in ("function_call", "custom_tool_call"):
            custom = item["type"] == "custom_tool_call"
            arguments = arguments_of(item["input"]) if custom else item["arguments"]
            name = record.tool_names.function(item["name"], item.get("namespace"))
            calls.append(ToolCall(id=item["call_id"], name=name, arguments=arguments))
    return Turn(role="assistant", text="".join(texts), tool_calls=tuple(calls))


def _session_of(store: SessionStore, id: str, prefix: str, *, token: str | None) -> Session | None:
    """The session of a response or a completion, whose ids begin with `prefix`."""
    session, _, _ = id.removeprefix(prefix).partition("_")
    return visible_session(store, session, token=token) if id.startswith(prefix) else None


# -- chat completions --------------------------------------------------------------------------------


def completion(store: SessionStore, id: str, *, token: str | None) -> StoredResponse:
    """A chat completion that was stored because its request asked for it. Raises `ApiError` without one."""
    return _stored(store, id, COMPLETION, "completion", "chat completion", token=token)


def with_metadata(
    store: SessionStore, id: str, metadata: Mapping[str, str], *, token: str | None
) -> Mapping[str, Any]:
    """The completion of that id, which has this metadata from now on. Raises as `completion`."""
    record = completion(store, id, token=token)
    check_own(store, record, token, "completion")
    shape = {**record.shape, "metadata": metadata}
    body = (record.origin or ResponseOrigin()).beside(shape)
    if is_earlier(store, record):
        store.requests.keep_earlier_response(record.session, answer=record.answer, response=body)
    else:
        store.requests.keep_response(record.session, body)
    return shape


def delete_completion(store: SessionStore, id: str, *, token: str | None) -> None:
    """Delete its session, which the app can restore. Raises as `completion`."""
    record = completion(store, id, token=token)
    check_own(store, record, token, "completion")
    store.sessions.delete(record.session)


def completions(
    store: SessionStore, *, token: str | None, after: str | None, newest_first: bool
) -> Iterator[StoredResponse]:
    """The chat completions behind that of the id `after`, by their age. Raises as `completion`."""
    last = None if after is None else completion(store, after, token=token)
    begin, awaited = None if last is None else last.session, last is not None
    while True:
        sessions = store.requests.answered(
            token=token,
            containing=f'"object": "{_CHAT}"',
            begin=begin,
            newest_first=newest_first,
            limit=_PAGE,
        )
        # Each further page begins with the last session of the page before.
        for session in sessions[0 if awaited or begin is None else 1 :]:
            for record in _completions_in(store, session, newest_first=newest_first):
                if not awaited:
                    yield record
                awaited = awaited and record.shape["id"] != after
        if len(sessions) < _PAGE:
            return
        begin = sessions[-1]


def _completions_in(store: SessionStore, session: str, *, newest_first: bool) -> list[StoredResponse]:
    responses = [StoredResponse.read(session, text) for text in store.requests.responses_of(session)]
    chats = [one for one in responses if one.shape["object"] == _CHAT]
    return sorted(chats, key=lambda one: float(one.shape["created"]), reverse=newest_first)
