"""The content address of a step: equal fingerprints may share an output.

Source: conductor-format, "How a workflow is run". The instructions of the steps it sees are left out
on purpose: a changed instruction that gives the same output changes nothing further down.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import Any

from conductor.conversation import NOTHING_SAID, Conversation
from conductor.workflow import Step


def fingerprint(
    step: Step,
    *,
    identity: str,
    query: str,
    conversation: Conversation = NOTHING_SAID,
    seen: Sequence[str],
    by_hand: Collection[int] = (),
    previous: Sequence[str] = (),
    final: bool,
    style: str,
) -> str:
    """64 hexadecimal digits over everything that decides what `step` answers.

    `identity` is the worker's; `conversation` is what was said before the query; `seen` are the outputs the
    step may read, in step order, of which those at the places `by_hand` were written by a person and are sent
    as such; `previous` are those of the round
    before; `final` steps are told that they give the answer, so being final counts. `style` names
    the layout of the request.
    """
    sampling = None if step.sampling.unset else step.sampling.model_dump_json()
    content: list[Any] = [style, identity, sampling, step.instruction, query, final]
    if not conversation.nothing:
        content.append({"conversation": conversation.model_dump()})
    content += [{"by_hand": text} if at in by_hand else text for at, text in enumerate(seen)]
    if previous:
        content.append(list(previous))
    return sha256(json.dumps(content).encode("ascii")).hexdigest()
