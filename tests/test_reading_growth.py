"""What reads a text of a model or a client takes time in proportion to its length, whatever stands in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from unittest.mock import Mock

import pytest

from conductor.errors import ConductorError
from conductor.evaluation.items import Item
from conductor.evaluation.scorers import latex_formula
from conductor.evaluation.scorers.judge import verdict_in
from conductor.evaluation.scorers.text import choice, contains, exact, flexible, number
from conductor.markdown.half_written import half_written
from conductor.markdown.rendered import rendered, with_mathml
from conductor.planner.parsing.parse import parse
from conductor.planner.parsing.partial_plan import read_partial_plan
from conductor.planner.planner import check_query
from conductor.planner.rule_planner import rule_for
from conductor.text.bounded_value import json_value
from conductor.text.equality import choice as choices
from conductor.text.equality.amount import amount_in, amounts_in, number_in
from conductor.text.equality.choice import choices_in, letters_in, same_choice
from conductor.text.equality.same_answer import ballots, comparable, same, stands_in
from conductor.text.excerpt import excerpt, last_line
from conductor.text.final_answer import final_answer
from conductor.text.json_text import portable
from conductor.text.program_text import program_in
from conductor.text.quotation import located
from conductor.text.thoughts import ThoughtReader, answer_in_full, read_thoughts
from conductor.text.word_diff import compare_texts
from conductor.values.output import Output
from conductor.workers.calculator.calculator_worker import is_calculation
from conductor.workers.endpoint.reply.call_texts import CallTexts
from conductor.workers.endpoint.reply.error_forms import report_in
from conductor.workers.endpoint.transport.exchange import EventLines
from conductor.workers.endpoint.wire import read_chunk
from conductor.workers.keys.mask import Mask, MaskedStream
from conductor.workers.orchard.reading import reading
from conductor.workers.task import answer_in
from conductor.workflow.lint.linter import check
from conductor.workflow.lint.mentions import mentions
from conductor.workflow.model import Step, Workflow
from storage.search.terms import snippet, terms_of
from studio.api.requests.chat_request import ChatRequest
from studio.sessions.words import SessionText, find_words
from tests.support.cases.reading_work import patience

CHOICES = ("red", "blue", "green things", "None of the above")
ITEM = Item(id="1", input="What?", target=("42",))
KEY = "sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"
OF_CHOICE = Item(id="1", input="Which?", target=("A",), choices=CHOICES)


def fed(reader: ThoughtReader | CallTexts, text: str) -> None:
    for at in range(0, len(text), 7):
        reader.feed(text[at : at + 7])
    reader.end()


def events(text: str) -> None:
    lines, sent = EventLines(), text.encode(errors="replace")
    for at in range(0, len(sent), 7):
        list(lines.feed(sent[at : at + 7]))
    list(lines.end())


def masked(text: str) -> str:
    stream = MaskedStream(Mask([KEY]))
    return "".join(map(stream.feed, (text[at : at + 50] for at in range(0, len(text), 50)))) + stream.end()


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
    "amount_in": amount_in,
    "amounts_in": lambda text: list(amounts_in(text)),
    "answer_in": answer_in,
    "answer_in_full": answer_in_full,
    "ballots": lambda text: ballots([text[at : at + 50] for at in range(0, len(text), 50)]),
    "CallTexts": lambda text: fed(CallTexts(frozenset({"look"})), text),
    "CallTexts behind a mark": lambda text: fed(CallTexts(frozenset({"look"})), f"<tool_call>{text}"),
    "ChatRequest": lambda text: ChatRequest.read(text.encode(errors="replace")),
    "choice": lambda text: choice(text, OF_CHOICE),
    "choices_in": choices_in,
    "comparable": comparable,
    "compare_texts": lambda text: compare_texts(text, text[len(text) // 2 :] + text[: len(text) // 2]),
    "contains": lambda text: contains(text, ITEM),
    "events": events,
    "exact": lambda text: exact(text, ITEM),
    "excerpt": excerpt,
    "final_answer": final_answer,
    "find_words": lambda text: find_words([SessionText(text, "output", 0, "r")], text[:200]),
    "flexible": lambda text: flexible(text, ITEM),
    "half_written": half_written,
    "is_calculation": is_calculation,
    "last_line": last_line,
    "latex_formula": lambda text: latex_formula.process_line(text, ITEM),
    "letters_in": lambda text: letters_in(text, ()),
    "located": lambda text: located(text, text[:2_000]),
    "number": lambda text: number(text, ITEM),
    "number_in": number_in,
    "parse": lambda text: parse(text, workers=("a", "b")),
    "portable": portable,
    "program_in": program_in,
    "read_chunk": lambda text: read_chunk(text.encode(errors="replace").decode()),
    "read_partial_plan": lambda text: read_partial_plan(text, workers=("a", "b")),
    "reading": reading,
    "rendered": rendered,
    "report_in": lambda text: report_in(text.encode(errors="replace")),
    "same": lambda text: same(text, f"{text}x"),
    "same_choice": lambda text: same_choice(text, "A", CHOICES),
    "snippet": lambda text: snippet([("answer", text)], terms_of(text[:200])),
    "stands_in": lambda text: stands_in(text[:40], text),
    "terms_of": terms_of,
    "ThoughtReader": lambda text: fed(ThoughtReader(), text),
    "verdict_in": verdict_in,
    "with_mathml": with_mathml,
    "check_query": lambda text: check_query(text, most=10**7),
    "json_value": json_value,
    "linted": linted,
    "masked": masked,
    "mentions": mentions,
    "read_thoughts": lambda text: list(read_thoughts(text)),
    "rule_for": lambda text: rule_for(text, max_steps=5),
}  # fmt: skip

PIECES = [
    "a", "A ", "(A) ", "A and B ", "choice B ", "not ", "of ", "a-", "1 ", "1,", "1.", "1/", "1 1/",
    "42 ", "½", "x²", "5 km/h ", "$5 ", "10^", "1 000 ", "(", "[", "{", "}", '{"a":', '"', "'", "“",
    "\\n", "\\ud800", "<", "<a ", "<!--", "```\n", "```", "`", "*", "* a\n", "**a ", "_a_ ", "~~", "$",
    "$a ", "\\(", "\\boxed{", "\\frac{", "\\text{", "\\begin{align}", "| a ", "a|b\n", "\n", " \n", " ",
    "\t", "\r", "\u2028", "> ", "- ", "[a](", "![", "[a]: b\n", "http://a", "www.a.b ", "&#1;",
    "Answer: ", "answer is ", "<answer>", "答案是", "<think>", "</think>", "<|channel|>", "<details>",
    "model_id = [", '{"steps": [{', "<tool_call>", "[look(", "<function=look>",
    '{"name":"look","arguments":{}}', "data: ", "data: {}\n\n", ":\n", "é", "\ud800", "\x00", "plus ",
    "what is ", "x" * 399 + "\n", "\n" * 19 + "a",
    "\\", "&", "-", "^", "_", "0", "|", "\u202e", "```python\n", "[{\"", "$$", "$a$", "<thi", "**",
    "|a|\n", "Answer: 1\n", "![](", "[a]: ", "0.", "- [ ] ", "<a href=", "https://", "a. ",
    "subtasks = [", "\"\"\"", "# ", "1. ", "* _", "VERDICT: ", "\\[", "x^{", "A or ", "\\u0066", "a\n",
    "a b. ", "step 1 and ", KEY[:-1], "final answer is ", "Which is larger, 1 or ",
]  # fmt: skip

SHORT, LONGER = 6_000, 10
ALLOWED = 5.0
"""How many times what is proportional may be taken: of n log n it is 1.3, of the square 10."""
NOTHING = 0.01
"""Seconds of the processor that a short text may take in any case: less cannot be measured."""


def seconds(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    with suppress(ConductorError, ValueError, RecursionError):
        read(text)
    return time.process_time() - start


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length_of_a_hostile_text(reader: str) -> None:
    read = READERS[reader]
    for piece in PIECES:
        short, long = (f"{piece * size}"[:size] + "1}" for size in (SHORT, SHORT * LONGER))
        with patience(60, f"{piece!r} by {reader}"):
            most = ALLOWED * LONGER * max(NOTHING, seconds(read, short))
            assert seconds(read, long) < most, piece


@pytest.mark.parametrize("piece", ["choice B ", "answer C choice B ", "so D ", "(A) ", "not (B) "])
def test_of_many_letters_in_an_answer_the_last_ones_are_compared_with_all_choices(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = Mock(wraps=choices._may_follow)
    monkeypatch.setattr(choices, "_may_follow", compared)
    letters_in(f"{piece * 1_000}ch", CHOICES)
    assert compared.call_count < 200
