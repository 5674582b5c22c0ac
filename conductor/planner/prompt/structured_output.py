"""Constrains an endpoint while it writes a plan: by a regular expression, a grammar or a JSON Schema.

Knows what makes a plan valid, as parse does, and what endpoints can enforce; sends nothing. Expressions keep
to what all of vLLM's backends take: no look-around, no back-references, no anchors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from conductor.workflow.plan_report import Dialect

Constraint = Literal["regex", "grammar", "json", "none"]
"""vLLM's `structured_outputs`, llama.cpp's `grammar`, a JSON Schema in `response_format`, or free text."""

MAX_REGEX_STEPS = 8
"""The most steps for which an expression compiles within the 5 seconds that vLLM allows."""

MAX_INSTRUCTION_WORDS = 120
MAX_THINKING_LINES = 12
MAX_THINKING_WORDS = 60
"""Words in one line of reasoning."""

_UNWRITTEN = r"\x00-\x1f\x7f"
_BLANKS = r"\x20\x80-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPECIAL = r'"\\`<'
_VISIBLE = rf"[^{_SPECIAL}{_UNWRITTEN}{_BLANKS}]"
_LETTER = rf"[^{_SPECIAL}{_UNWRITTEN} ]"
_UNIT = "|".join(
    (
        _LETTER,
        r'\\["\\n]',
        # Three backticks would be a fence, and <think> the end of the visible text.
        f"`{_LETTER}",
        rf"<[^{_SPECIAL}{_UNWRITTEN} tT/]",
        rf"</[^{_SPECIAL}{_UNWRITTEN} tT]",
    )
)
_WORD = f"(?:{_UNIT})*[`<]?"
# No list, object, fence or tag can begin without one of these.
_THOUGHT = rf"[^\[{{`<{_UNWRITTEN} ]"

_EMPTY = r"model_id = \[\]\nsubtasks = \[\]\naccess_list = \[\]"


@dataclass(frozen=True, slots=True)
class PlanBounds:
    """The plans that an endpoint may write for a pool of so many workers in this round.

    `room_to_think` lets reasoning go first. `max_instruction` bounds an instruction, in words for an
    expression and in characters for a schema, for models that would never end one; None is a wide bound, or
    none. `tools` are the tools that a step may name; without any, a plan has no such list.
    """

    workers: int
    max_steps: int
    dialect: Dialect
    round: int = 1
    room_to_think: bool = False
    max_instruction: int | None = None
    tools: tuple[str, ...] = ()

    def parameters(self, constraint: Constraint) -> Mapping[str, Any]:
        """The parameters of a request's body that hold its answer to a plan; none for free text."""
        if constraint == "regex":
            return {"structured_outputs": {"regex": self.regex()}}
        if constraint == "grammar":
            return {"grammar": self.grammar()}
        if constraint == "json":
            schema = {"name": "plan", "strict": True, "schema": self.schema()}
            return {"response_format": {"type": "json_schema", "json_schema": schema}}
        return {}

    # -- a regular expression ----------------------------------------------------------------------

    def regex(self) -> str:
        """An expression that plans match from end to end, and little else does.

        A union over the number of steps: lists of one length, workers of the pool, access to earlier steps
        only (from round 2 on also to the round before), instructions that are never empty. In the dialect
        `worker` an access entry may name any worker of the pool; no such expression of a size that compiles
        can check that one ran before. Words have no limit of length, because a bound on characters takes ten
        times as long to compile.
        """
        most = self.max_instruction or MAX_INSTRUCTION_WORDS
        instruction = f'"{_VISIBLE}{_WORD}(?: {_WORD}){{0,{most - 1}}}"'
        plans = [
            rf"model_id = \[{', '.join([_number(range(self.workers))] * steps)}\]\n"
            rf"subtasks = \[{', '.join([instruction] * steps)}\]\n"
            rf"access_list = \[{', '.join(map(self._access, range(steps)))}\]{self._tools_list(steps)}"
            for steps in range(1, self.max_steps + 1)
        ]
        if self.round > 1:
            plans.append(_EMPTY + self._tools_list(0))
        line = rf"{_THOUGHT}*(?: {_THOUGHT}*){{0,{MAX_THINKING_WORDS - 1}}}\n"
        thinking = f"(?:{line}){{0,{MAX_THINKING_LINES}}}" if self.room_to_think else ""
        return f"{thinking}(?:{'|'.join(plans)})"

    def _access(self, step: int) -> str:
        """The entries that the step at position `step` may have."""
        everything = '"all"' if step or self.round > 1 else ""
        if self.dialect == "binary":
            return rf"(?:\[(?:{everything})?\]|{everything})" if everything else r"\[\]"
        if self.dialect == "worker":
            return _listed(_repeated(_number(range(self.workers)), at_most=step))
        return _listed(*_ascending(step), everything if self.dialect == "any" else "")

    def _tools_list(self, steps: int) -> str:
        """The line of the steps' tools, which a plan has where a step may name some."""
        if not self.tools:
            return ""
        name = f"(?:{'|'.join(map(_literally, self.tools))})"
        entry = rf"(?:null|\[(?:{name}(?:, {name})*)?\])"
        return rf"\ntools = \[{', '.join([entry] * steps)}\]"

    # -- a grammar ---------------------------------------------------------------------------------

    def grammar(self) -> str:
        """A grammar in GBNF of the plans that `schema` describes, whose access goes backwards only."""
        return plan_grammar(
            workers=self.workers,
            max_steps=self.max_steps,
            dialect=self.dialect,
            later_round=self.round > 1,
            words=self.max_instruction or MAX_INSTRUCTION_WORDS,
            thinking_words=MAX_THINKING_WORDS if self.room_to_think else 0,
            tools=self.tools,
        )

    # -- a JSON Schema -----------------------------------------------------------------------------

    def schema(self) -> dict[str, Any]:
        """A JSON Schema of plans with one object a step, fit for strict modes.

        It promises lists of one length, workers of the pool and the number of steps (none from round 2 on
        means to keep the answer). It cannot promise that access goes backwards, nor that an instruction has a
        meaning; the parser checks those. A bounded instruction has no quotes and line breaks either.
        """
        instruction: dict[str, Any] = {"type": "string"}
        if self.max_instruction is not None:
            # Some backends know no maxLength, and hold a pattern against the text as it is escaped.
            most = self.max_instruction - 1
            instruction["pattern"] = f"^{_VISIBLE}[^{_SPECIAL}{_UNWRITTEN}]{{0,{most}}}$"
        step = _object(
            instruction=instruction,
            model_id={"type": "integer", "enum": list(range(self.workers))},
            access=self._access_schema(),
            **self._tools_schema(),
        )
        least = 0 if self.round > 1 else 1
        steps = {"type": "array", "items": step, "minItems": least, "maxItems": self.max_steps}
        reasoning = {"reasoning": {"type": "string"}} if self.room_to_think else {}
        return _object(**reasoning, steps=steps)

    def _tools_schema(self) -> dict[str, Any]:
        if not self.tools:
            return {}
        listed = {"type": "array", "items": {"type": "string", "enum": [*self.tools]}}
        return {"tools": {"anyOf": [{"type": "null"}, listed]}}

    def _access_schema(self) -> dict[str, Any]:
        """The entries that any step may have."""
        earlier = self.max_steps - 1
        numbers = list(range(self.workers if self.dialect == "worker" else earlier)) if earlier else []
        kinds: list[dict[str, Any]] = []
        if numbers and self.dialect != "binary":
            kinds.append({"type": "integer", "enum": numbers})
        if self.dialect in ("any", "binary") and (earlier or self.round > 1):
            kinds.append({"type": "string", "enum": ["all"]})
        if not kinds:
            return {"type": "array", "items": {"type": "integer"}, "maxItems": 0}
        most = 1 if self.dialect == "binary" else max(earlier, 1)
        return {"type": "array", "items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}, "maxItems": most}


def _literally(text: str) -> str:
    """An expression of just this text in quotes."""
    return re.sub(r"([\\.*+?()\[\]{}|^$])", r"\\\1", json.dumps(text, ensure_ascii=False))


def _number(numbers: range) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    return f"[{numbers[0]}-{numbers[-1]}]" if numbers[-1] < 10 else f"(?:{'|'.join(map(str, numbers))})"


def _listed(*insides: str) -> str:
    """A list with one of these insides, or with nothing in it."""
    written = "|".join(filter(None, insides))
    return rf"\[(?:{written})?\]" if written else r"\[\]"


def _repeated(number: str, *, at_most: int) -> str:
    if at_most < 2:
        return number * at_most
    return f"{number}(?:, {number}){{0,{at_most - 1}}}"


def _ascending(count: int) -> Iterable[str]:
    """Numbers below `count`, each at most once, in order; an expression for each first number."""
    for first in range(count):
        yield str(first) + "".join(f"(?:, {later})?" for later in range(first + 1, count))


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# -- GBNF ------------------------------------------------------------------------------------------
#
# The notation by which llama.cpp holds an answer to a form: its grammars/README.md. A grammar ties the
# entries of each step to its place, which JSON Schema cannot.

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
