"""The planning prompt laid out as in the research code, for checkpoints that were trained on it.

The user's message has the instruction, the examples, the question and the models, which are numbers only; the
Conductor's answer is begun for it. Source: github.com/junho328/orchestrator, `custom_data/dataset.py`; the
texts are a `Wording`. Its labels are plain: a zero-width space stands before a line of the material that
begins with one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from conductor.planner.conductor import PlanRequest
from conductor.planner.format import Entry, write_steps
from conductor.planner.prompt.examples import Writing, example_text, research_examples, solved_examples
from conductor.planner.prompt.sentences import (
    CHANGE_HOW,
    CHANGE_INSTRUCTION,
    THRIFT,
    access_words,
    form_words,
    images_note,
    keep_answer,
    one_line,
    price_words,
    tools_note,
)
from conductor.runs.request import ChangeRequest
from conductor.values.messages import Message, Part
from conductor.workers.wording.wording import Wording, filled
from conductor.workflow.model import Workflow

_LABEL = re.compile(
    r"^(?=[ \t]*(?:(?:END OF )?USER QUESTION|AVAILABLE LANGUAGE MODELS|PRESENT WORKFLOW|REQUESTED CHANGE|"
    r"STEP \d+)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_KEEP_TO = "The answer has to keep to these instructions, which every model is shown:\n"
_RESULTS = (
    "Tools were called for it; every model is shown these calls and their results, too, oldest first:\n"
)
_EARLIER = "The conversation before the question, which every model is shown as well:\n"


def research_conversation(request: PlanRequest, writing: Writing, wording: Wording) -> tuple[Message, ...]:
    """The whole conversation. The last message begins the answer, where the request is for a first plan with
    reasoning.
    """
    parts = list(_request_parts(request, writing, wording))
    if request.change is not None:
        parts += _change(request.change, request)
    first = (
        Message("system", (Part("frame", wording.system),)),
        Message("user", tuple(parts)),
    )
    thinks = writing.room_to_think and writing.form == "lists"
    beginning = (Part("frame", wording.prefill),) if thinks else ()
    if request.previous is not None and request.change is None:
        plan = Part("response", _plan(request.previous, request, writing))
        later = Message("user", tuple(_later(request, writing, wording)))
        return (*first, Message("assistant", (*beginning, plan)), later)
    if request.change is not None or request.rejected or not beginning:
        return first
    return (*first, Message("assistant", beginning))


def _request_parts(request: PlanRequest, writing: Writing, wording: Wording) -> Iterator[Part]:
    names = [card.name for card in request.workers]
    texts = solved_examples(request.examples, names, max_steps=request.max_steps) or research_examples(
        len(names), max_steps=request.max_steps
    )
    yield from filled(
        wording.plan,
        max_number_or_routing_steps=str(request.max_steps),
        form=form_words(writing, noun="model", thinks_freely=True),
        # What a later round adds stands in its own message: this one stays as it was.
        access=access_words(request.model_copy(update={"round": 1}), writing, noun="model"),
        examples="\n\n".join(
            f"EXAMPLE {at}:\n\nQuestion: {one_line(each.question)}\n"
            f"Assistant Response: {example_text(each, writing)}"
            for at, each in enumerate(texts, start=1)
        ),
        user_question=list(_question(request)),
        available_models="\n".join(_model_lines(request, wording)),
    )
    if request.instruction:
        yield Part("frame", f"\n\n{_defused(one_line(request.instruction))}")
    if request.economical:
        yield Part("frame", f"\n\n{THRIFT}")
    if tools := tools_note(request, noun="model"):
        yield Part("frame", f"\n\n{_defused(tools)}")


def _question(request: PlanRequest) -> Iterator[Part]:
    conversation = request.conversation

    def written(text: str) -> str:
        return conversation.defused(_defused(text))

    if conversation.spoken:
        yield from conversation.opening("", _KEEP_TO, _EARLIER, task="question", mark="", written=written)
    yield Part("query", written(request.query))
    if conversation.results:
        yield from conversation.closing("\n</question>\n\n", _RESULTS, mark="", written=written)
    elif conversation.spoken:
        yield Part("frame", "\n</question>")
    yield from images_note(request, noun="model")


def _model_lines(request: PlanRequest, wording: Wording) -> Iterator[str]:
    """A line a model: its number, and its price where that counts. Neither names nor strengths are shown."""
    for number, card in enumerate(request.workers):
        price = price_words(card) if request.economical else ""
        yield "".join(part.text for part in filled(wording.model, i=str(number))) + price


def _later(request: PlanRequest, writing: Writing, wording: Wording) -> Iterator[Part]:
    """The answer so far, the response of the last step that has one, and how to go on."""
    last = max(request.responses, key=lambda seen: seen.step, default=None)
    response = (
        Part("frame", "(none)")
        if last is None
        else Part("response", _defused(last.response), last.step, last.worker, request.round - 1)
    )
    yield from filled(
        wording.later,
        worker_response=response,
        max_number_of_routing_steps=str(request.max_steps),
        access=access_words(request, writing, noun="model"),
        keep=keep_answer(writing, between="\n"),
    )


def _plan(workflow: Workflow, request: PlanRequest, writing: Writing) -> str:
    """The workflow as a plan, whose workers are numbers; one that is no longer offered is a name."""
    numbers = [_number(request, step.worker) for step in workflow.steps]
    steps: list[tuple[int | str, str, Entry]] = []
    for step, number in zip(workflow.steps, numbers, strict=True):
        entry: Entry = list(step.access)
        if writing.dialect == "worker":
            entry = sorted({numbers[read] for read in step.access}, key=str)
        elif step.sees_previous or (writing.dialect == "binary" and step.access):
            entry = ["all"]
        steps.append((number, step.instruction, entry))
    return write_steps(steps, form=writing.form)


def _number(request: PlanRequest, worker: str) -> int | str:
    numbers = {card.name: at for at, card in enumerate(request.workers)}
    return numbers.get(worker, one_line(worker))


def _change(change: ChangeRequest, request: PlanRequest) -> Iterator[Part]:
    """The plan as it is, and what is to be changed in it."""
    yield Part("frame", "\n\nPRESENT WORKFLOW:")
    for at, step in enumerate(change.workflow.steps):
        head = f"STEP {at}: model {_number(request, step.worker)}, access {list(step.access)}"
        yield Part("frame", f"\n\n{head}\n")
        yield Part("subtask", _defused(step.instruction), at, step.worker)
    yield Part("frame", f"\n\n{CHANGE_INSTRUCTION}\n\nREQUESTED CHANGE:\n")
    yield Part("instruction", _defused(change.wish))
    yield Part("frame", f"\n\n{CHANGE_HOW}")


def _defused(text: str) -> str:
    """`text` in which no line begins with one of the labels."""
    return _LABEL.sub("\u200b", text)
