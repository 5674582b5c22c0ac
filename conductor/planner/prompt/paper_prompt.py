"""A planning prompt laid out as in the research code, for checkpoints that were trained on it.

The wording is ours; the order, the labels and the numbered "Model 0:" lines are what such a checkpoint knows.
Its labels are plain, so a zero-width space keeps the material from beginning a line with one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from conductor.planner.prompt.examples import Writing
from conductor.planner.prompt.sentences import (
    CHANGE_ASKED,
    CHANGE_HOW,
    Layout,
    images_note,
    keep_answer,
    one_line,
    pool_lines,
    tools_note,
)
from conductor.planner.protocol import PlanRequest
from conductor.values.conversation import Conversation
from conductor.values.messages import Part
from conductor.workflow.change_request import ChangeRequest
from conductor.workflow.model import Step

_SYSTEM = """\
Your part is to answer questions by having language models with different skills work on them. You are given \
a user's question and a numbered list of the models that are available. You write a workflow of up to {most} \
steps. Each step consists of three things: a model, the subtask that it shall do, and an access list of the \
earlier steps whose subtasks and responses it sees while it does that.
A subtask may ask for the whole answer, for a part of it, for a better version of what an earlier step \
wrote, or for anything else that helps later models. Every model is shown the user's question. The response \
of the last step is returned to the user.{thrift}
{form}
{access}
For instance:
{examples}"""

_LABEL = re.compile(
    r"^(?=[ \t]*(?:(?:USER QUESTION|AVAILABLE LANGUAGE MODELS|PREVIOUS WORKFLOW|PRESENT WORKFLOW|"
    r"REQUESTED CHANGE|STEP \d+|SUBTASK|RESPONSE|INSTRUCTIONS FOR THE ANSWER|"
    r"CONVERSATION BEFORE THE QUESTION)\b|(?:USER|ASSISTANT|TOOL):))",
    re.IGNORECASE | re.MULTILINE,
)


def _parts(request: PlanRequest, writing: Writing) -> Iterator[Part]:
    pool = "\n".join(pool_lines(request, noun="Model"))
    yield from _opening(request.conversation)
    yield Part("query", _defused(request.query))
    yield from images_note(request, noun="model")
    yield Part("frame", f"\n\nAVAILABLE LANGUAGE MODELS:\n{pool}")
    if tools := tools_note(request, noun="model"):
        yield Part("frame", f"\n\n{_defused(tools)}")
    if request.change is not None:
        yield from _change(request.change)
        return
    if request.previous is None:
        return
    before = request.round - 1
    answered = {seen.step: seen.response for seen in request.responses}
    yield Part("frame", f"\n\nPREVIOUS WORKFLOW (round {before}):")
    for at, step in enumerate(request.previous.steps):
        yield Part("frame", _head(step, at))
        yield Part("subtask", _defused(step.instruction), at, step.worker, before)
        if at in answered:
            yield Part("frame", "\nRESPONSE:\n")
            yield Part("response", _defused(answered[at]), at, step.worker, before)
        else:
            yield Part("frame", "\nRESPONSE: none")
    keep = keep_answer(writing, between="\n")
    so_far = "\n\nThe answer so far is the response of the last step that has one. "
    yield Part("frame", f"{so_far}{keep}\nIf it does not, write a new workflow.")


def _change(change: ChangeRequest) -> Iterator[Part]:
    """The plan as it is, and what is to be changed in it."""
    yield Part("frame", "\n\nPRESENT WORKFLOW:")
    for at, step in enumerate(change.workflow.steps):
        yield Part("frame", _head(step, at))
        yield Part("subtask", _defused(step.instruction), at, step.worker)
    yield Part("frame", f"\n\n{CHANGE_ASKED}\n\nREQUESTED CHANGE:\n")
    yield Part("instruction", _defused(change.wish))
    yield Part("frame", f"\n\n{CHANGE_HOW}")


def _head(step: Step, at: int) -> str:
    return f"\n\nSTEP {at}: {one_line(step.worker)}, access {list(step.access)}\nSUBTASK:\n"


def _opening(conversation: Conversation) -> Iterator[Part]:
    """All up to the question itself."""
    between = ""
    if conversation.system:
        yield Part("frame", "INSTRUCTIONS FOR THE ANSWER:\n")
        yield Part("system", _defused(conversation.system))
        between = "\n\n"
    if conversation.exchange:
        between = f"{between}CONVERSATION BEFORE THE QUESTION:\n"
        for turn in conversation.exchange:
            yield Part("frame", f"{between}{turn.role.upper()}:\n")
            yield from turn.parts(_defused)
            between = "\n"
        between = "\n\n"
    yield Part("frame", f"{between}USER QUESTION:\n")


def _defused(text: str) -> str:
    """`text` in which no line begins with one of the labels."""
    return _LABEL.sub("\u200b", text)


PAPER = Layout(
    system=_SYSTEM,
    example="EXAMPLE {number}:\nQuestion: {question}\nAssistant Response: {completion}",
    noun="model",
    parts=_parts,
    thinks_freely=True,
)
