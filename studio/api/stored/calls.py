"""Calls of tools whose results clients send: which run made them, and under which ids.

Knows the store; knows no HTTP. A token is as in `visible`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from conductor.errors import UnknownId
from conductor.text.json_text import portable
from conductor.values.conversation import Conversation, Turn
from conductor.values.output import Output
from storage.records import Revision
from storage.store import SessionStore
from studio.api.stored.turn_thoughts import with_thoughts
from studio.api.stored.visible import session_of_calls

_CALL = re.compile(r"call_([0-9a-f]{16})_(\d{1,3})")
_SHORT = 9


def call_id(run: str, index: int) -> str:
    """The id of the call at `index` (from 0) in the run's answer, by which its result finds the run: 40
    characters at most, as OpenAI takes.
    """
    return f"call_{run}_{index}"


def waiting_revision(
    store: SessionStore, query: str, conversation: Conversation, *, token: str | None, stored: bool
) -> Revision | None:
    """The revision whose run made the calls that `conversation` has the results of, behind this query.

    None if they are of no run here that this token may read, and where the query or the messages before
    it are not those of its session. A request that is not to be `stored` goes on in no session that is.
    """
    calls = next((turn.tool_calls for turn in reversed(conversation.following) if turn.tool_calls), ())
    matches = [_CALL.fullmatch(call.id) for call in calls]
    runs = {None if match is None else match[1] for match in matches}
    run = runs.pop() if len(runs) == 1 else None
    try:
        record = None if run is None else store.runs.find(run)
    except UnknownId:
        return None
    session = None if record is None else session_of_calls(store, record.session, token=token)
    if record is None or session is None or session.origin != "api":
        return None
    if session.expires_at is None and not stored:
        return None
    request = (portable(query), conversation.before)
    return (
        store.revisions.find(record.revision)
        if request == (session.query, session.earlier_conversation.before)
        else None
    )


def with_workers_ids(
    store: SessionStore, conversation: Conversation, *, continues: Revision | None, token: str | None
) -> Conversation:
    """The conversation whose calls behind the question have the ids of the worker that made them, and its
    thoughts; else short ids: no endpoint takes all ids of all others, and some take nine letters and digits
    only.

    Those in the session of the revision that it `continues` are that already.
    """
    earlier = None if continues is None else store.sessions.find(continues.session).earlier_conversation
    own_ids = set() if earlier is None else {c.id for turn in earlier.following for c in turn.tool_calls}
    ids = {id: id for id in own_ids}
    outputs: dict[str, Output | None] = {}
    for call in (call for turn in conversation.following for call in turn.tool_calls):
        if call.id not in own_ids:
            outputs[call.id], at = _output_of(store, call.id, token=token)
            of_output = () if (output := outputs[call.id]) is None else output.tool_calls[at : at + 1]
            ids[call.id] = next((each.id for each in of_output if each.id), short_id(call.id))
    following = (
        with_thoughts(turn, next((outputs.get(call.id) for call in turn.tool_calls), None))
        for turn in conversation.following
    )
    renamed = conversation.model_copy(update={"following": tuple(_renamed(turn, ids) for turn in following)})
    if earlier is None:
        return renamed.with_results
    return renamed.model_copy(update={"planned_with": earlier.planned_with})


def _renamed(turn: Turn, ids: Mapping[str, str]) -> Turn:
    calls = tuple(call.model_copy(update={"id": ids[call.id]}) for call in turn.tool_calls)
    result = None if turn.tool_call_id is None else ids.get(turn.tool_call_id, turn.tool_call_id)
    return turn.model_copy(update={"tool_calls": calls, "tool_call_id": result})


def _output_of(store: SessionStore, id: str, *, token: str | None) -> tuple[Output | None, int]:
    """The output that made a call with an id of ours, and the place of the call in it; None if it is no such
    id, or unknown.
    """
    match = _CALL.fullmatch(id)
    if match is None:
        return None, 0
    try:
        run = store.runs.find(match[1])
        state = store.runs.state(match[1])
    except UnknownId:
        return None, 0
    if session_of_calls(store, run.session, token=token) is None or state.answer_step is None:
        return None, 0
    return state.steps[state.answer_step].output, int(match[2])


def short_id(id: str) -> str:
    """Nine letters and digits in the place of an id, always the same; itself where it is that."""
    if len(id) == _SHORT and id.isascii() and id.isalnum():
        return id
    return hashlib.blake2s(id.encode(errors="backslashreplace")).hexdigest()[:_SHORT]
