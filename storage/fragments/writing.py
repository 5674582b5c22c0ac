"""Values as the JSON that is stored, with references in the place of texts that other rows may show.

Knows what events, outputs and workflows hold; reads nothing but what a copied row refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json
from sqlalchemy import Connection, Table, Text, bindparam, select
from sqlalchemy.sql.dml import UpdateBase

from conductor.runs import events
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.attached_file import AttachedFile
from conductor.values.message_parts.images import Image
from conductor.values.message_parts.tool_use import ToolUse
from conductor.values.messages import Message, Part, Request, SeenResponse
from conductor.values.output import Output
from conductor.workflow.fingerprint import NONCE_LENGTH
from conductor.workflow.model import Workflow
from storage.database import encoding as texts
from storage.database.compiled_statement import Statement, insert_into
from storage.database.schema import FRAGMENTS, LONG_TEXTS, OUTPUT, RUNS, WORKFLOW
from storage.fragments.reading import MARK, NONCE, PARTS, TEXT, VALUE, digest_of

T = TypeVar("T")

LEAST = 256
"""Shorter texts stay where they are: a reference and the row that it names take about a hundred bytes."""

LEAST_REQUEST = 1_000
"""A request of fewer characters stays in its event as it is, also where another run has the same one."""

LEAST_BEGINNING = 2_000
"""So does the first event of a run, workflow and all: to look through each costs more than sharing saves."""

_GROUP = 8
"""Digests of a request's parts that are one fragment."""

_LONG = {"text", "reasoning", "thoughts"}
"""The members of an output that may be long."""

_OUTPUT = {"output"}


def _insert(table: Table, dialect: str, *, by_run: bool) -> UpdateBase:
    insert = insert_into(table, dialect)
    owner = bindparam("owner", type_=Text)
    session: Any = select(RUNS.c.session).where(RUNS.c.id == owner).scalar_subquery() if by_run else owner
    values = {"session": session, "digest": bindparam("digest"), "text": bindparam("text")}
    return insert.inline().values(values).on_conflict_do_nothing()


_TEXTS_OF_RUN = Statement(partial(_insert, LONG_TEXTS, by_run=True))
_TEXTS_OF_SESSION = Statement(partial(_insert, LONG_TEXTS, by_run=False))
_JSON_OF_RUN = Statement(partial(_insert, FRAGMENTS, by_run=True))
_JSON_OF_SESSION = Statement(partial(_insert, FRAGMENTS, by_run=False))


class Fragments:
    """Makes stored JSON of one session's values, and holds what it refers to until that is kept."""

    def __init__(self) -> None:
        # Digests by text: what one transaction writes often shows one text several times.
        self._texts: dict[str, str] = {}
        self._json: dict[str, str] = {}

    @property
    def characters(self) -> int:
        """Of all that it holds."""
        return sum(map(len, self._texts)) + sum(map(len, self._json))

    def keep(self, connection: Connection, *, session: str) -> None:
        """Insert what the session does not have yet."""
        _TEXTS_OF_SESSION.execute(connection, _rows({session: self._texts}))
        _JSON_OF_SESSION.execute(connection, _rows({session: self._json}))

    @staticmethod
    def keep_for_runs(connection: Connection, of_runs: Mapping[str, Fragments]) -> None:
        """Insert what the runs' sessions do not have yet."""
        _TEXTS_OF_RUN.execute(connection, _rows({run: own._texts for run, own in of_runs.items()}))
        _JSON_OF_RUN.execute(connection, _rows({run: own._json for run, own in of_runs.items()}))

    def event(self, event: events.Event) -> str:
        return self._or_plain(self._event, event, events.EVENT)

    def finished(self, event: events.StepFinished) -> tuple[str, str]:
        """The event and its output as they are stored; the output is a part of the event."""
        output = self.output(event.output)
        try:
            return _with_members(event.model_dump_json(exclude=_OUTPUT), {"output": output}), output
        except PydanticSerializationError:
            return texts.to_json(events.EVENT, event), output

    def output(self, output: Output) -> str:
        return self._or_plain(self._output, output, OUTPUT)

    def workflow(self, workflow: Workflow) -> str:
        """The workflow as it is stored; only pins are references, because the database reads the rest."""
        return self._or_plain(self._workflow, workflow, WORKFLOW)

    @staticmethod
    def _or_plain(stored: Callable[[T], str], value: T, adapter: TypeAdapter[Any]) -> str:
        try:
            return stored(value)
        except (PydanticSerializationError, UnicodeEncodeError):
            # Half of a surrogate pair, which only this replaces.
            return texts.to_json(adapter, value)

    # -- images ------------------------------------------------------------------------------------

    def long_text(self, text: str) -> str:
        """The digest of a text that a row refers to, however short it is."""
        return _digest(text, self._texts)

    # -- events ------------------------------------------------------------------------------------

    def _event(self, event: events.Event) -> str:
        if isinstance(event, events.RunStarted) and len(plain := event.model_dump_json()) < LEAST_BEGINNING:
            return plain
        members = {name: stored for name, stored in self._members(event).items() if stored is not None}
        if not members:
            return event.model_dump_json()
        return _with_members(event.model_dump_json(exclude=set(members)), members)

    def _members(self, event: events.Event) -> Mapping[str, str | None]:
        """The event's members that refer to fragments, as JSON; None for one that stays as it is."""
        match event:
            case events.StepStarted():
                return {"request": self._request(event.request, address=event.fingerprint)}
            case events.StepFellBack() if event.request is not None:
                return {"request": self._request(event.request, address="")}
            case events.StepToolsOffered():
                return {"request": self._request(event.request, address="")}
            case events.StepToolsCalled() if event.answer is not None:
                return {"answer": self._message(event.answer, "")}
            case events.StepToolsContinued():
                uses = self._uses(event.uses) if event.uses else None
                return {"request": self._request(event.request, address=event.fingerprint), "uses": uses}
            case events.StepToolsReturned():
                return {"request": self._request(event.request, address=""), "uses": self._uses(event.uses)}
            case events.StepFinished():
                # Not a reference to all of it: the database adds up what outputs took.
                return {"output": self._output(event.output)}
            case events.StepReused():
                request = self._request(event.request, address=event.output.fingerprint)
                return {"output": self._whole(event.output), "request": request}
            case events.StepKept():
                return {"output": self._whole(event.output)}
            case events.StepInner():
                return {"event": self._event(event.event)}
            case events.RunStarted():
                return {
                    "query": _json(self._text(event.query)),
                    "workflow": self._value(self._workflow(event.workflow)),
                    "previous": _json([self._seen(seen) for seen in event.previous]),
                    "conversation": _json(self._conversation(event.conversation)),
                }
            case events.RunFinished() if event.answer is not None and len(event.answer) >= LEAST:
                return {"answer": _json(self._text(event.answer))}
            case _:
                return {}

    def _seen(self, seen: SeenResponse) -> dict[str, Any]:
        texts = {"instruction": self._text(seen.instruction), "response": self._text(seen.response)}
        return asdict(seen) | texts

    def _conversation(self, conversation: Conversation) -> dict[str, Any]:
        rest = conversation.model_dump(exclude={"turns", "instructions", "following", "images", "files"})
        following = {"following": self._turns(conversation.following)} if conversation.following else {}
        turns = self._turns(conversation.turns)
        extras = {**following, **self._images(conversation.images), **self._files(conversation.files)}
        return {**rest, "instructions": self._text(conversation.instructions), "turns": turns, **extras}

    def _turns(self, turns: Sequence[Turn]) -> list[dict[str, Any]]:
        return [
            turn.model_dump(exclude={"text", "images", "files", "thoughts"})
            | {"text": self._text(turn.text), **self._images(turn.images), **self._files(turn.files)}
            | self._thoughts(turn.thoughts)
            for turn in turns
        ]

    def _images(self, images: Sequence[Image]) -> dict[str, Any]:
        if not images:
            return {}
        return {"images": [image.model_dump() | {"url": self._text(image.url)} for image in images]}

    def _files(self, files: Sequence[AttachedFile]) -> dict[str, Any]:
        if not files:
            return {}
        return {"files": [file.model_dump() | {"text": self._text(file.text)} for file in files]}

    def _thoughts(self, thoughts: str | None) -> dict[str, Any]:
        return {} if thoughts is None else {"thoughts": self._text(thoughts)}

    # -- requests ----------------------------------------------------------------------------------

    def _request(self, request: Request, *, address: str) -> str | None:
        characters = sum([len(part.text) for message in request.messages for part in message.parts])
        if characters < LEAST_REQUEST and not any(message.images for message in request.messages):
            return None
        nonce = address[:NONCE_LENGTH]
        messages = ",".join([self._message(message, nonce) for message in request.messages])
        sampling = request.sampling.model_dump_json(exclude_none=True)
        return self._value(f'{{"messages":[{messages}],"sampling":{sampling}}}')

    def _message(self, message: Message, nonce: str) -> str:
        ends = [at for at, part in enumerate(message.parts, 1) if part.kind == "response"]
        if len(ends) < 2:
            ends = []
        elif any(MARK in part.text for part in message.parts if part.kind == "frame"):
            nonce = ""
        blocks = [
            self._fragment(_json([self._part(part, nonce) for part in message.parts[start:end]]))
            for start, end in pairwise([0, *ends])
        ]
        parts: list[Any] = [{PARTS: self._joined(blocks), NONCE: nonce}] if blocks else []
        parts += [self._part(part, "") for part in message.parts[ends[-1] if ends else 0 :]]
        named = {"tool_call_id": message.tool_call_id, "name": message.name}
        rest: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
        if message.tool_calls:
            rest["tool_calls"] = [call.model_dump() for call in message.tool_calls]
        rest |= {**self._images(message.images), **self._thoughts(message.thoughts)}
        calling = f",{_json(rest)[1:-1]}" if rest else ""
        return f'{{"role":"{message.role}","parts":{_json(parts)}{calling}}}'

    def _joined(self, blocks: Sequence[str]) -> str:
        """Digests one after another, every full group of them as a separate fragment: of two requests that
        begin with the same steps, the second repeats few.
        """
        if len(blocks) <= _GROUP:
            return "".join(blocks)
        groups = [blocks[start : start + _GROUP] for start in range(0, len(blocks), _GROUP)]
        full = len(blocks) // _GROUP
        alike = [self._fragment(_json([{PARTS: "".join(group), NONCE: ""}])) for group in groups[:full]]
        return "".join([*alike, *blocks[full * _GROUP :]])

    def _part(self, part: Part, nonce: str) -> dict[str, Any]:
        text = part.text.replace(nonce, MARK) if nonce and part.kind == "frame" else part.text
        stored: dict[str, Any] = {"kind": part.kind, "text": self._text(text)}
        source = {"step": part.step, "worker": part.worker, "round": part.round}
        stored |= {name: value for name, value in source.items() if value is not None}
        if part.by_hand:
            stored["by_hand"] = True
        return stored

    # -- outputs and workflows ---------------------------------------------------------------------

    def _output(self, output: Output) -> str:
        return self._long(output) or output.model_dump_json()

    def _long(self, output: Output) -> str | None:
        long = {name: text for name in _LONG if (text := getattr(output, name)) is not None}
        results = [use.result for use in output.tool_uses]
        if all(len(text) < LEAST for text in (*long.values(), *results)):
            return None
        rest = output.model_dump_json(exclude=_LONG | {"tool_uses"}, exclude_none=True)
        uses = {"tool_uses": self._uses(output.tool_uses)} if results else {}
        return _with_members(rest, {name: _json(self._text(text)) for name, text in long.items()} | uses)

    def _uses(self, uses: Sequence[ToolUse]) -> str:
        return _json([use.model_dump() | {"result": self._text(use.result)} for use in uses])

    def _whole(self, output: Output) -> str | None:
        """A reference to all of an output that was made before; None for one without long texts."""
        stored = self._long(output)
        return None if stored is None else self._value(stored)

    def _workflow(self, workflow: Workflow) -> str:
        pinned = {at: stored for at, pin in workflow.pins.items() if (stored := self._whole(pin)) is not None}
        if not pinned:
            return workflow.model_dump_json()
        steps = (
            _with_members(step.model_dump_json(exclude={"pin"}), {"pin": pinned[at]})
            if at in pinned
            else step.model_dump_json()
            for at, step in enumerate(workflow.steps)
        )
        return f'{{"steps":[{",".join(steps)}]}}'

    # -- fragments ---------------------------------------------------------------------------------

    def _text(self, text: str) -> str | dict[str, str]:
        if len(text) < LEAST:
            return text
        return {TEXT: _digest(text, self._texts)}

    def _value(self, stored: str) -> str:
        """The JSON, or a reference to it."""
        return stored if len(stored) < LEAST else f'{{"{VALUE}":"{self._fragment(stored)}"}}'

    def _fragment(self, stored: str) -> str:
        return _digest(stored, self._json)


def _with_members(stored: str, members: Mapping[str, str]) -> str:
    """The JSON object `stored`, which is not empty, with more members, whose values are JSON."""
    return stored[:-1] + "".join([f',"{name}":{value}' for name, value in members.items()]) + "}"


def _digest(text: str, digests: dict[str, str]) -> str:
    digest = digests.get(text)
    if digest is None:
        digest = digests[text] = digest_of(text)
    return digest


def _rows(digests: Mapping[str, Mapping[str, str]]) -> list[dict[str, str]]:
    """The rows of each owner, a run or a session, with its digests by text."""
    return [
        {"owner": owner, "digest": digest, "text": text}
        for owner, own in digests.items()
        for text, digest in own.items()
    ]


def _json(value: object) -> str:
    return to_json(value).decode()
