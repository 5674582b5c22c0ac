"""The grammar of plans: what it lets through are valid plans, whose access goes backwards."""

from __future__ import annotations

import json
import random
import re
from typing import get_args

import pytest

from conductor.planner.parsing.parse import parse
from conductor.planner.prompt.structured_output import PlanBounds
from conductor.workflow.plan_report import Dialect

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\[\^.*?[^\\]\]|\["\\\\n\]|\{\d+,\d+\}|[()|?+]|[\w-]+')


class Grammar:
    """Writes texts by a grammar, at random."""

    def __init__(self, text: str, seed: int) -> None:
        self.rules = dict(line.split(" ::= ", 1) for line in text.splitlines())
        self.random = random.Random(seed)

    def write(self, rule: str = "root") -> str:
        if rule == "letter":
            return self.random.choice("abcdef")
        self.tokens = _TOKEN.findall(self.rules[rule])
        tokens = self.tokens
        text, end = self._choice(tokens, 0)
        assert end == len(tokens), "the rule is read to its end"
        return text

    def _choice(self, tokens: list[str], at: int) -> tuple[str, int]:
        """One of the alternatives from `at`, and the place of the bracket or end behind them."""
        texts, text = [], ""
        while at < len(tokens) and tokens[at] != ")":
            if tokens[at] == "|":
                texts.append(text)
                text, at = "", at + 1
                continue
            piece, at = self._piece(tokens, at)
            text += piece
        return self.random.choice([*texts, text]), at

    def _piece(self, tokens: list[str], at: int) -> tuple[str, int]:
        begin = at
        if tokens[at] == "(":
            piece, at = self._choice(tokens, at + 1)
            at += 1
        elif tokens[at].startswith('"'):
            piece, at = json.loads(tokens[at]), at + 1
        else:
            piece, at = self.write(tokens[at]), at + 1
        sign = tokens[at] if at < len(tokens) else ""
        if sign == "?":
            return self.random.choice([piece, ""]), at + 1
        if sign == "+":
            return piece, at + 1
        if sign.startswith("{"):
            most = int(sign[1:-1].split(",")[1])
            times = self.random.randint(0, min(most, 3))
            more = [self._piece([*tokens[begin:at]], 0)[0] for _ in range(times)]
            return "".join(more), at + 1
        return piece, at


@pytest.mark.parametrize("dialect", get_args(Dialect))
@pytest.mark.parametrize("max_steps", [1, 2, 5, 9])
@pytest.mark.parametrize("round", [1, 2])
@pytest.mark.parametrize("room_to_think", [True, False])
def test_what_the_grammar_writes_is_a_valid_plan(
    dialect: Dialect, max_steps: int, round: int, room_to_think: bool
) -> None:
    bounds = PlanBounds(
        workers=3, max_steps=max_steps, dialect=dialect, round=round, room_to_think=room_to_think
    )
    grammar = bounds.grammar()
    for seed in range(20):
        text = Grammar(grammar, seed).write()
        report = parse(
            text, workers=("a", "b", "c"), dialect=dialect, max_steps=max_steps, round=round, form="json"
        )
        wrong = [problem.message for problem in report.problems]
        if dialect == "worker":
            # That a step of this worker ran before is more than a grammar can hold.
            wrong = [message for message in wrong if "no earlier step" not in message]
        assert wrong == [], text


def test_a_number_of_many_digits_is_a_worker() -> None:
    grammar = PlanBounds(workers=12, max_steps=2, dialect="any").grammar()
    assert '| "10" | "11"' in grammar


def test_an_instruction_can_be_bounded() -> None:
    grammar = PlanBounds(workers=2, max_steps=2, dialect="any", max_instruction=7).grammar()
    assert 'instruction ::= word (" " word){0,6}' in grammar
