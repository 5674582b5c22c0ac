"""A grammar of plans in GBNF, the notation by which llama.cpp holds an answer to a form.

Knows the notation (llama.cpp's grammars/README.md) and what an entry may be; sends nothing. A grammar ties
the entries of each step to its place, which JSON Schema cannot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from conductor.workflow.plan_report import Dialect

_TEXT = r"""word ::= letter+
letter ::= [^"\\\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000] | "\\" ["\\n]
"""
"""Words of a text in quotes; no other escape is needed, and a blank alone is no word."""

_NOTHING = '""'
_TOOLS_KEY = ', \\"tools\\": " ("null" | "[" (tool (", " tool)*)? "]") "}'
"""What may be called: all, nothing or some tools."""


def plan_grammar(
    *,
    workers: int,
    max_steps: int,
    dialect: Dialect,
    later_round: bool,
    words: int,
    thinking_words: int,
    tools: Sequence[str] = (),
) -> str:
    """The grammar of a JSON object with an object for each step, as the schema of plans describes it.

    An entry of step k (from 0) names steps before k alone, each at most once, in order. `words` bounds an
    instruction, `thinking_words` the reasoning; 0: the object has none. In a `later_round` "all" may also be
    the first step's, and no step at all keeps the answer. Without `tools` a step has no such key.
    """
    steps = "".join(f'(", " step{at} ' for at in range(1, max_steps)).rstrip() + ")?" * (max_steps - 1)
    plan = f"step0 {steps}".strip()
    reasoning = f'"\\"reasoning\\": \\"" {_words(thinking_words)} "\\", " ' if thinking_words else ""
    rules = [
        f'root ::= "{{" {reasoning}"\\"steps\\": [" {f"({plan})?" if later_round else plan} "]}}"',
        f"instruction ::= {_words(words)}",
        "worker ::= " + " | ".join(f'"{number}"' for number in range(workers)),
    ]
    for at in range(max_steps):
        rules.append(
            f'step{at} ::= "{{\\"instruction\\": \\"" instruction "\\", \\"model_id\\": " worker '
            f'", \\"access\\": [" access{at} "]{_TOOLS_KEY if tools else "}"}"'
        )
        rules += _access(at, dialect, later_round=later_round)
    if tools:
        rules.append(
            "tool ::= " + " | ".join(json.dumps(json.dumps(tool, ensure_ascii=False)) for tool in tools)
        )
    return "\n".join((*rules, _TEXT))


def _words(most: int) -> str:
    return f'word (" " word){{0,{most - 1}}}'


def _access(at: int, dialect: Dialect, *, later_round: bool) -> Iterator[str]:
    """The rules of the entries of the step at position `at`, between their brackets."""
    entries = ['"\\"all\\""'] if dialect in ("any", "binary") and (at or later_round) else []
    if at and dialect == "worker":
        entries.append(f'worker (", " worker){{0,{at - 1}}}')
    elif at and dialect != "binary":
        # Each number opens the rest of those behind it.
        entries += [f'"{first}" after{at}-{first}' for first in range(at)]
        for first in range(at):
            rest = (f'", {later}" after{at}-{later}' for later in range(first + 1, at))
            yield f"after{at}-{first} ::= " + " | ".join((*rest, _NOTHING))
    yield f"access{at} ::= " + " | ".join((*entries, _NOTHING))
