"""Whatever reads the text of a model or of a client takes time in proportion to its length, about."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from conductor.errors import ConductorError
from conductor.evaluation.items import Item
from conductor.evaluation.scorers.judge import verdict_in
from conductor.evaluation.scorers.program import program_in
from conductor.evaluation.scorers.text import choice, contains, exact, flexible, number
from conductor.markdown.rendered import rendered, with_mathml
from conductor.planner.parsing.parse import parse
from conductor.planner.planner import check_query
from conductor.planner.rule_planner import rule_for
from conductor.text.bounded_value import json_value
from conductor.text.equality.amount import number_in
from conductor.text.equality.same_answer import comparable
from conductor.text.excerpt import excerpt, last_line
from conductor.text.final_answer import final_answer
from conductor.text.json_text import portable
from conductor.text.quotation import located
from conductor.text.thoughts import ThoughtReader, read_thoughts
from conductor.text.word_diff import compare_texts
from conductor.values.output import Output
from conductor.workers.keys.mask import Mask, MaskedStream
from conductor.workflow.lint.linter import check
from conductor.workflow.lint.mentions import mentions
from conductor.workflow.model import Step, Workflow

ITEM = Item(id="q", input="Why?", target=("1",))
CHOICE = Item(id="q", input="Why?", target=("A",), choices=("a", "b"))
KEY = "sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"


def masked(text: str) -> str:
    stream = MaskedStream(Mask([KEY]))
    return "".join(map(stream.feed, (text[at : at + 50] for at in range(0, len(text), 50)))) + stream.end()


def thought(text: str) -> None:
    reader = ThoughtReader()
    for at in range(0, len(text), 50):
        reader.feed(text[at : at + 50])
    reader.end()
    assert len("".join(piece.text for piece in read_thoughts(text))) <= len(text)


def linted(text: str) -> object:
    steps = [Step(instruction=text, worker="a"), Step(instruction=text, worker="b", access=(0,))]
    return check(
        Workflow.of(steps),
        max_steps=5,
        outputs={
            0: Output(
                text=text, worker="a", worker_kind="model", fingerprint="f", seconds=1.0, run="r", step=0
            )
        },
        query=text,
    )


READERS: dict[str, Callable[[str], object]] = {
    "final_answer": final_answer,
    "comparable": comparable,
    "number_in": number_in,
    "excerpt": excerpt,
    "last_line": last_line,
    "portable": portable,
    "json_value": json_value,
    "located": lambda text: located(text, f"{text[:500]}?"),
    "compare_texts": lambda text: compare_texts(text, text[1:] + "x"),
    "rendered": rendered,
    "with_mathml": with_mathml,
    "program_in": program_in,
    "verdict_in": verdict_in,
    "exact": lambda text: exact(text, ITEM),
    "contains": lambda text: contains(text, ITEM),
    "number": lambda text: number(text, ITEM),
    "flexible": lambda text: flexible(text, ITEM),
    "choice": lambda text: choice(text, CHOICE),
    "parse": lambda text: parse(text, workers=("a", "b")),
    "check_query": lambda text: check_query(text, most=10**7),
    "rule_for": lambda text: rule_for(text, max_steps=5),
    "masked": masked,
    "thought": thought,
    "mentions": mentions,
    "linted": linted,
}

PIECES = [
    *"`[(${}\"'\n \t\\&<-^_a0é|\u202e",
    "\\boxed{", "```", "```python\n", '[{"', "$$", "$a$", "<think>", "</think>", "<thi", "**", "> ", "- ",
    "|a|\n", "Answer: ", "Answer: 1\n", "![](", "[a](", "[a]: ", "1,", "1/", "0.", "- [ ] ", "<a href=",
    "https://", "a. ", "model_id = [", "subtasks = [", '"""', "# ", "1. ", "* _", "~~", "VERDICT: ", "\\(",
    "\\[", "\\frac{", "x^{", "(A) ", "A or ", "\\u0066", "a\n", "a b. ", "step 1 and ", KEY[:-1],
    "final answer is ", "Which is larger, 1 or ",
]  # fmt: skip

SHORT, LONGER = 6_000, 10
ALLOWED = 5.0
"""How many times what is proportional may be taken: of n log n it is 1.3, of the square 10."""
NOTHING = 0.01
"""Seconds of the processor that a short text may take in any case: less cannot be measured."""


def seconds(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    with suppress(ConductorError, ValueError):
        read(text)
    return time.process_time() - start


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length_of_a_hostile_text(reader: str) -> None:
    read = READERS[reader]
    for piece in PIECES:
        short, long = (f"{piece * size}"[:size] + "1}" for size in (SHORT, SHORT * LONGER))
        most = ALLOWED * LONGER * max(NOTHING, seconds(read, short))
        assert seconds(read, long) < most, piece
