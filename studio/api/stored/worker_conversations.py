"""Conversations with a worker alone, whose turns are runs of one session: by what a next turn is known.

A client sends all messages with each turn. What it sends back of an answer may differ in white space and in
the form of arguments, so messages are compared without these. Knows the store; knows no HTTP.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conductor.runs.request import RunRequest
from conductor.text.json_text import portable
from conductor.values.conversation import Turn
from storage.records import RequestSession, Revision, Session
from storage.store import SessionStore
from studio.api.stored.visible import session_of_calls
from studio.api.tool_names import INPUT, input_of


@dataclass(frozen=True)
class WorkerConversation:
    """The messages of a request to one worker, sent with a token; `instructions` are those of all messages.

    `marks` are texts of the client's that name the conversation: with one of them, other instructions do not
    make it another one.
    """

    token: str | None
    worker: str
    messages: tuple[Turn, ...]
    instructions: str
    marks: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: RunRequest, stored_as: RequestSession) -> WorkerConversation | None:
        """That of a request. Returns None for a request to several workers, or without a user's message."""
        past, workflow = request.conversation, request.workflow
        if not past.verbatim or workflow is None or not (request.query or past.images or past.files):
            return None
        query = Turn(role="user", text=request.query, name=past.speaker, images=past.images, files=past.files)
        return cls(
            stored_as.token,
            workflow.steps[0].worker,
            (*past.turns, query, *past.following),
            past.with_all_turns.system,
            stored_as.marks,
        )

    @property
    def beginning(self) -> tuple[str, ...]:
        """The digests of the messages up to the last answer; empty without one, or where it is the end."""
        answers = [at for at, turn in enumerate(self.messages, start=1) if turn.role == "assistant"]
        if not answers or answers[-1] == len(self.messages):
            return ()
        return self._digests(self.messages[: answers[-1]], self.marks)

    def answered(self, answer: Turn, *, stops: Sequence[str], response: str | None) -> tuple[str, ...]:
        """The digests of all messages with the answer that the client got: up to the first of the `stops`.
        `response` is the answer's id, by which a next turn may name it.
        """
        end = min((at for stop in stops if (at := answer.text.find(stop)) >= 0), default=None)
        answer = answer.model_copy(update={"text": answer.text[:end]})
        marks = [mark for mark in self.marks if not mark.startswith(_RESPONSE)]
        named = () if response is None else (response_mark(response),)
        return self._digests((*self.messages, answer), (*marks, *named))

    def within(self, session: Session, request: RunRequest) -> RunRequest | None:
        """The request as a further one of the session, behind its question. Returns None if that is not the
        question of this conversation.
        """
        places = [at for at, turn in enumerate(self.messages) if turn.role != "system"]
        before = sum(turn.role != "system" for turn in session.earlier_conversation.turns)
        at = places[before] if before < len(places) else -1
        question = self.messages[at]
        if question.role != "user" or portable(question.text) != session.query:
            return None
        update = {
            "turns": self.messages[:at],
            "following": self.messages[at + 1 :],
            "speaker": question.name,
            "images": question.images,
            "files": question.files,
        }
        conversation = request.conversation.model_copy(update=update)
        return replace(request, query=question.text, conversation=conversation)

    def _digests(self, messages: Iterable[Turn], marks: Iterable[str]) -> tuple[str, ...]:
        contents = _digest(list(_contents(messages)))
        own = f"instructions {self.instructions.strip()}"
        return tuple(
            _digest([self.token, self.worker, mark, contents]) for mark in dict.fromkeys((own, *marks))
        )


_RESPONSE = "response "


def response_mark(id: str) -> str:
    """The mark of a conversation whose last answer is the response of that id."""
    return f"{_RESPONSE}{id}"


def key_mark(key: str) -> str:
    """The mark of conversations that a client gave this `prompt_cache_key`."""
    return f"key {key}"


def next_turn(
    store: SessionStore, conversation: WorkerConversation, request: RunRequest, *, stored: bool
) -> tuple[RunRequest, Revision] | None:
    """The request as the next turn of the session whose newest answer its messages go on from, and that
    session's current revision. Returns None without such a session.

    A request that is not to be `stored` goes on in no session that is.
    """
    digests = conversation.beginning
    for id in store.requests.with_newest_turn(digests) if digests else ():
        session = session_of_calls(store, id, token=conversation.token)
        if session is None or (session.expires_at is None and not stored):
            continue
        further, head = conversation.within(session, request), store.revisions.head(id)
        if further is not None and head is not None:
            return further, head
    return None


def _contents(messages: Iterable[Turn]) -> Iterator[list[Any]]:
    """The content of each message. An answer may come back as several messages: its text, then its calls."""
    answer: list[Any] = []
    for turn in messages:
        if turn.role == "system":
            continue
        calls = [[call.name, _same_arguments(call.arguments)] for call in turn.tool_calls]
        images, files = [image.url for image in turn.images], [file.text for file in turn.files]
        if turn.role != "assistant":
            if answer:
                yield answer
            answer = []
            yield [turn.role, turn.text.strip(), images, files]
        elif answer:
            answer = ["assistant", "\n".join(filter(None, (answer[1], turn.text.strip()))), answer[2] + calls]
        else:
            answer = ["assistant", turn.text.strip(), calls]
    if answer:
        yield answer


def _same_arguments(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        # As the call of a custom tool comes back.
        return {INPUT: input_of(text)}


def _digest(value: Any) -> str:
    data = json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()
