"""The sentences of every planning prompt: on the pool, the access lists and the form.

Knows the dialects in words; what an entry means is access's, what is enforced constraint's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from textwrap import shorten

from conductor.planner.conductor import PlanRequest
from conductor.planner.prompt.examples import NO_PLAN, Writing, example_text
from conductor.planner.prompt.structured_output import MAX_INSTRUCTION_WORDS, MAX_THINKING_LINES
from conductor.values.message_parts.images import images_words
from conductor.values.message_parts.tools import Tool
from conductor.values.messages import Part, Sampling
from conductor.workers.protocol import WorkerCard
from conductor.workflow.plan_report import Dialect

MAX_DESCRIPTION = 200
"""Characters of a tool's description: the Conductor needs to know what it is for, not how it is called."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    """`text` without line breaks and other control characters, so that it cannot begin a line of ours."""
    return " ".join(_CONTROL.sub(" ", text).split())


def price_words(card: WorkerCard) -> str:
    """What stands behind a worker where its price counts, "" where that is unknown."""
    if card.price is None:
        return ""
    price = card.price
    return f" (US dollars a million tokens: {price.prompt:g} to read, {price.completion:g} to write)"


THRIFT = "Be economical: give each step to the cheapest worker that can do it well."
"""What is added where a plan shall be cheap."""


def access_words(request: PlanRequest, writing: Writing, *, noun: str) -> str:
    """Exactly which access entries are legal, and what each means."""
    entry = "An entry of access_list" if writing.form == "lists" else "An access list"
    with_all = writing.dialect in ("any", "binary")
    later = request.round > 1
    if request.max_steps == 1:
        or_all = ' or ["all"], which shows every step of the round before' if later and with_all else ""
        return f"There is one step at most: its access list is []{or_all}."
    legal = f"{entry} is {_LEGAL[writing.dialect].format(noun=noun)}"
    if not later:
        return f"{legal} {_FIRST}"
    return f"{legal} {_ALL_BEFORE if with_all else f'{_FIRST} {_NONE_BEFORE.format(noun=noun)}'}"


_NUMBERED = (
    "Steps are numbered from 0 in the order of the plan; an entry names earlier steps only, never its own "
    "step or a later one."
)
_LEGAL: Mapping[Dialect, str] = {
    "any": (
        '[], which shows no earlier step, ["all"], which shows every earlier step, or a list of earlier '
        f"steps' numbers such as [0] or [0, 2], which shows those. {_NUMBERED}"
    ),
    "binary": (
        'either [], which shows no earlier step, or ["all"], which shows every earlier step. Nothing else is '
        "legal: no numbers, no names."
    ),
    "position": (
        "[], which shows no earlier step, or a list of earlier steps' numbers such as [0] or [0, 2], which "
        f"shows those. No words are legal in it. {_NUMBERED}"
    ),
    "worker": (
        "[], which shows no earlier step, or a list of {noun}s' numbers: [0] shows every earlier step that "
        "runs on {noun} 0. Name only those on which an earlier step of this plan runs. No words are legal in "
        "it."
    ),
}
_FIRST = "The first step has nothing before it and takes []."
_ALL_BEFORE = (
    'In this round ["all"] also shows every step of the round before; even the first step may take it.'
)
_NONE_BEFORE = "No entry reaches the round before: put what a {noun} needs of it into its instruction."


_BRIEFLY = " in a few plain sentences"
_SHORT = f" Use at most {MAX_THINKING_LINES} lines for that, and no brackets or backticks."


def form_words(writing: Writing, *, noun: str, thinks_freely: bool) -> str:
    """How the answer is to be written down; one that `thinks_freely` may reason at any length before it."""
    if writing.form == "json":
        first = (
            ' Its first key is "reasoning": in a few sentences, why this plan.'
            if writing.room_to_think
            else ""
        )
        last = _JSON_ACCESS_AND_TOOLS if writing.tools else _JSON_ACCESS
        return (
            f'Answer with one JSON object and nothing else.{first} The key "steps" holds an object for each '
            'step, in order, with the keys "instruction" (a text), "model_id" (the number of its '
            f"{noun}){last}."
        )
    before = (
        f"First think{'' if thinks_freely else _BRIEFLY}: what the question needs, who is good at it, and "
        f"who has to see what.{'' if thinks_freely else _SHORT} Then end with {_count(writing)} lists"
        if writing.room_to_think
        else f"Answer with {_count(writing)} lists and nothing else"
    )
    more, count = (_LISTED_TOOLS, "four") if writing.tools else ("", "three")
    return (
        f"{before}, each on a line of its own and with one entry a step: model_id has the {noun}s' numbers, "
        f"subtasks the instructions in double quotes, access_list the access lists{more}. All {count} have "
        f"the same length. An instruction has at most {MAX_INSTRUCTION_WORDS} words; inside it write "
        '\\" for a quotation mark and \\n for a line break. Put no Markdown around the lists.'
    )


_JSON_ACCESS = ' and "access" (its access list)'
_JSON_ACCESS_AND_TOOLS = ', "access" (its access list) and "tools" (what it may call)'
_LISTED_TOOLS = ", tools what each step may call"


def _count(writing: Writing) -> str:
    return "four" if writing.tools else "three Python"


TOOLS = (
    "Some {noun}s have tools, which stand behind them in the pool. An entry of tools is null, which lets the "
    "step call all tools of its {noun}, [], which lets it call none, or a list of some of them, written as "
    "they stand there. Give [] to a step that should only think, and let the instruction of one that needs a "
    "tool state what to look up or to do."
)
"""What a step's tools are."""


def keep_answer(writing: Writing, *, between: str) -> str:
    """How a later round returns the answer: a sentence and, behind `between`, the example."""
    lists = "four empty lists" if writing.tools else "three empty lists"
    how = lists if writing.form == "lists" else "an empty list of steps"
    sentence = f"Where it serves the user well, return it as it is, by {how}:"
    return f"{sentence}{between}{example_text(NO_PLAN, writing)}"


CHANGE_INSTRUCTION = (
    "The user asks for a change of this workflow. Follow it as far as it concerns the steps, their workers, "
    "their instructions and who sees whom; it changes neither the rules above nor the form of your answer."
)
CHANGE_HOW = (
    "Write the whole workflow with this change. Copy word for word the instructions of all steps that the "
    "change does not concern, and leave their workers and access lists as they are."
)


def images_note(request: PlanRequest, *, noun: str) -> Iterator[Part]:
    """Which images belong to the question, and who sees them; nothing where it has none."""
    pictures = request.conversation.pictures
    if not pictures:
        return
    seeing = [str(at) for at, card in enumerate(request.workers) if card.vision]
    who = f"only {noun} {seeing[0]} sees" if len(seeing) == 1 else f"only {noun}s {', '.join(seeing)} see"
    sees = f"{who} images, without an access list" if seeing else f"no {noun} sees images"
    yield Part("frame", f"\n\n[The user sent {images_words(pictures)} with this; {sees}.]")


def tools_note(request: PlanRequest, *, noun: str) -> str:
    """Which tools the last step may call, and whose worker can; empty if it may call no tool."""
    offer = request.tools
    if offer is None or (offer.choice is not None and offer.choice.kind == "none"):
        return ""
    calling = Sampling(tools=offer)
    able = [str(at) for at, card in enumerate(request.workers) if card.refusal(calling) is None]
    all_can = len(able) == len(request.workers)
    who = "" if all_can else f" Of the {noun}s only {', '.join(able) or 'none'} can do that."
    lines = [f"- {tool.name}{_described(tool)}" for tool in offer.tools]
    return "\n".join((f"The last step, and no other, can call tools of the user's program:{who}", *lines))


def _described(tool: Tool) -> str:
    line = one_line(tool.description or "")
    return f": {shorten(line, MAX_DESCRIPTION, placeholder='...')}" if line else ""
