"""The content address of a step: equal fingerprints may share an output.

Source: conductor-format, "How a workflow is run". The instructions of the steps it sees are left out
on purpose: a changed instruction that gives the same output changes nothing further down.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from json.encoder import encode_basestring_ascii as _quoted

from conductor.values.conversation import Conversation
from conductor.workflow.model import Step

_as_json = json.JSONEncoder().encode


def written(conversation: Conversation) -> str:
    """The conversation as it counts in fingerprints, "" where there is nothing in it."""
    return "" if conversation.nothing else _as_json({"conversation": conversation.model_dump()})


def fingerprint(
    step: Step,
    *,
    identity: str,
    query: str,
    conversation: str = "",
    seen: Sequence[str],
    by_hand: Collection[int] = (),
    previous: Sequence[str] = (),
    final: bool,
    style: str,
) -> str:
    """64 hexadecimal digits over everything that decides what `step` answers.

    `identity` is the worker's; `conversation` holds the messages before the query, as `written`; `seen` are
    the outputs the step may read, in step order, those at the places `by_hand` written by a person and sent
    as such; `previous` are those of the previous round. The request of a `final` step names it the last one,
    so being final counts. `style` names the layout of the request.
    """
    # The JSON text of one list, item by item: a list as a whole goes the encoder's longer way.
    content = [
        _quoted(style),
        _quoted(identity),
        "null" if step.sampling.unset else _quoted(step.sampling.model_dump_json()),
        _quoted(step.instruction),
        _quoted(query),
        "true" if final else "false",
    ]
    if conversation:
        content.append(conversation)
    for at, text in enumerate(seen):
        content.append(_as_json({"by_hand": text}) if at in by_hand else _quoted(text))
    if previous:
        content.append(_as_json(list(previous)))
    return sha256(f"[{', '.join(content)}]".encode("ascii")).hexdigest()
