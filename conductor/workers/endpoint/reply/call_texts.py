"""Calls of tools that a model writes into its text, where its server has no parser for them.

Only calls of offered tools count, behind a mark or as the whole answer; anything else stays text. By the chat
templates of open models, as vLLM, SGLang, llama.cpp and Ollama parse them. Time is linear in the text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

_MINIMAX = "]<]minimax[>["
"""Before each tag of MiniMax-M3."""

_MARKS = (
    _MINIMAX,
    *("<tool_call>", "<|tool_call_start|>", "<|tool_calls_section_begin|>", "<｜tool▁calls▁begin｜>"),
    *("[TOOL_CALLS]", "<|python_tag|>", "<function=", "<|START_ACTION|>", "<minimax:tool_call>"),
    *("<seed:tool_call>", "<|tool_call>", "<|tool_call|>", "<start_function_call>", "<function_calls>"),
    *("<｜DSML｜function_calls>", "<invoke name=", "<tool_calls>", "<TOOLCALL>", "<|action_start|>"),
    *("to=functions.", "commentary to=functions.", "<longcat_tool_call>", "<function_call>"),
    *("<|tools_prefix|>", "<｜tool_calls_begin｜>", "<|function_call|>", "function call<|role_sep|>"),
    *("<|python_start|>", "<|recipient|>", "<|open|>tools<|sep|>", "<|tool_call:start|>", "<mm:tool_call>"),
    *("<|tool_call_begin|>", "<｜DSML｜tool_calls>", "<|plamo:begin_tool_requests:plamo|>", "✿FUNCTION✿:"),
    *("-> tool/function_call", "Action: ```json", "```tool_code", "```tool_call"),
)
_MARK = re.compile("|".join(map(re.escape, _MARKS)))
_MARK_PARTS = {mark[:end] for mark in _MARKS for end in range(1, len(mark))}
_BETWEEN = re.compile(
    r"(?:[\s,;]|</?(?:\w{1,20}[:_])?(?:tool|function)_calls?>|</?TOOLCALL>|<[|｜][^|｜<>]{1,40}[|｜]>"
    r"|\[TOOL_CALLS\]|```\w{0,10}|functools(?=\[)|function call(?=<\|)|-> tool/function_call"
    r"|Action:(?=\s?```))*"
)
"""What may stand around the JSON of calls."""

_SEPARATORS = (
    r"(?:<\|tool_call_argument_begin\|>|<｜tool▁sep｜>|(?:\[CALL_ID\]\w{0,64})?\[ARGS\]|<\|content\|>|✿ARGS✿:"
    r"|<\|plamo:end_tool_name:plamo\|>\s{0,9}<\|plamo:begin_tool_arguments:plamo\|>)"
)
_BEFORE_BRACE = (
    r"(?:to=functions\.|\[TOOL_CALLS\]|<｜tool▁sep｜>|(?:<\|tool_call>|<start_function_call>)\s{0,9}call:)"
)
_WORDS = re.compile(
    r'<\|"\|>(.*?)(?:<\|"\|>|\Z)|<escape>(.*?)(?:<escape>|\Z)|(?<=[{,])\s*([\w.$-]+)\s*(?=:)|"(?:[^"\\]|\\.)*"?',
    re.DOTALL,
)
"""In the braces of a call: Gemma's two forms of a text, its keys, and JSON's texts."""
_NAMESPACE = r"(?:｜DSML｜|\w{1,9}:)?"
_PARAMETER = re.compile(
    rf'(?:<{_NAMESPACE}parameter(?:=| name=)"?|<arg_key>|<\|open\|>argument key="|<\|tool_arg:start\|>)'
    r'([^"<>|\n]{1,64})'
    r'(?:"?(?: \w{4,6}="\w{4,7}")?(?:>|<\|sep\|>)|</arg_key>\s{0,9}<arg_value>|<\|tool_arg:value\|>)'
)
_PARAMETER_END = re.compile(
    rf"</{_NAMESPACE}parameter>|</arg_value>|<\|close\|>argument<\|sep\|>|<\|tool_arg:end\|>"
)
_TAG = re.compile(r"<([\w-]{1,64})>")
_CALL_END = re.compile(rf"</{_NAMESPACE}(?:invoke|tool_call|function)")
_BARE_KEYS = frozenset(
    ("name", "tool_name", "arguments", "parameters", "type", "id", "tool_call_id", "function")
)
_MOST_BLANKS = 64
_MOST_PYTHON = 20_000
_STARTS = ("{", "[", "```json", "functools[")
"""How an answer begins that may be calls alone; it is held back to its end."""


class CallTexts:
    """Parts calls of the tools of these `names` from the text, which may come in any pieces."""

    def __init__(self, names: frozenset[str]) -> None:
        listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        self._names = names
        self._head = re.compile(
            rf"<function=({listed})>|<{_NAMESPACE}invoke name=\"({listed})\">"
            rf"|<tool_call>\s{{0,9}}({listed})\s{{0,9}}(?=<arg_key>|<tool_sep>|</tool)"
            rf"|<\|open\|>call tool=\"({listed})\"[^<>|]{{0,40}}<\|sep\|>|<\|tool_call:start\|>({listed})\s"
            rf"|\b({listed})(?::\d{{1,4}})?\s{{0,9}}{_SEPARATORS}(?=\s*\{{)"
            rf"|{_BEFORE_BRACE}({listed})(?![\w.])[^{{}}]{{0,60}}(?=\{{)"
        )
        self._at_start = True
        self._marked = False
        self._holding = False
        self._waiting: list[str] = []

    def feed(self, text: str) -> str:
        """What is certain to be text."""
        if not self._names:
            return text
        self._waiting.append(text)
        if self._holding:
            return ""
        text = "".join(self._waiting)
        mark, start = _MARK.search(text), text.lstrip()
        bare = self._at_start and len(text) - len(start) < _MOST_BLANKS
        bare = bare and any(start[: len(each)] == each[: len(start)] for each in _STARTS)
        at = mark.start() if mark is not None else 0 if bare else _mark_part(text)
        self._holding = mark is not None or (bare and len(start) >= max(map(len, _STARTS)))
        self._at_start = self._at_start and at == 0
        self._waiting = [text[at:]]
        return text[:at]

    def end(self, *, called: bool = False) -> tuple[str, list[dict[str, Any]]]:
        """The rest of the text, and the calls as `tool_calls` has them; `called`: others came by that."""
        written, self._waiting = "".join(self._waiting), []
        text = written.replace(_MINIMAX, "")
        self._marked = _MARK.match(text.lstrip()) is not None
        if called or not (self._at_start or self._marked):
            return written, []
        try:
            calls, rest = [*(self._headed(text) if self._marked else ())], ""
            if not calls:
                calls, rest = self._listed(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return written, []
        if not calls or (rest and not self._marked):
            return written, []
        return rest, [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]

    def _headed(self, text: str) -> Iterator[tuple[str, Any]]:
        """The calls whose name stands before their arguments."""
        heads = [*self._head.finditer(text)]
        for head, following in zip(heads, [*heads[1:], None], strict=False):
            name = next(filter(None, head.groups()))
            body = text[head.end() : len(text) if following is None else following.start()]
            if body.lstrip().startswith("{"):
                yield name, json.JSONDecoder().raw_decode(_WORDS.sub(_quoted, body.lstrip()))[0]
                continue
            _, *parts = _PARAMETER.split(body)
            values = {
                key.strip(): _value(_PARAMETER_END.split(rest, maxsplit=1)[0])
                for key, rest in zip(parts[::2], parts[1::2], strict=True)
            }
            yield name, values or dict(_tagged(_CALL_END.split(body, maxsplit=1)[0]))

    def _listed(self, text: str) -> tuple[list[tuple[str, Any]], str]:
        """The calls as JSON or as Python, and what follows them. Raises `ValueError` where one is no call."""
        calls: list[tuple[str, Any]] = []
        at = _skipped(text, 0)
        while python := re.match(r"(\[\s*)?\w+(?:\.call)?\(|[\[{]", text[at : at + 80]):
            if python[0].endswith("(") and (python[1] or self._marked):
                end = text.rindex("]" if python[1] else ")") + 1
                calls += self._python(text[at:end])
            else:
                value, end = json.JSONDecoder().raw_decode(text, at)
                value = value.get("tool_calls", value) if isinstance(value, dict) else value
                calls += [self._call(one) for one in (value if isinstance(value, list) else [value])]
            at = _skipped(text, end)
        return calls, text[at:]

    def _call(self, value: Any) -> tuple[str, Any]:
        if not isinstance(value, dict) or (not self._marked and not _BARE_KEYS.issuperset(value)):
            raise ValueError
        function = value.get("function", value)
        function = function if isinstance(function, dict) else {**value, "name": function}
        if self._marked and len(function) == 1 and self._names.issuperset(function):
            return next(iter(function.items()))  # Apertus
        name = _first(function, "name", "tool_name", "tool")
        arguments = _first(function, "arguments", "parameters", "args", "input")
        if name not in self._names or (arguments is None and not self._marked):
            raise ValueError
        return name, arguments or {}

    def _python(self, text: str) -> Iterator[tuple[str, Any]]:
        for line in ast.parse(text[:_MOST_PYTHON]).body:
            value = line.value if isinstance(line, ast.Expr) else None
            for call in value.elts if isinstance(value, ast.List) else [value]:
                if not isinstance(call, ast.Call) or call.args:
                    raise ValueError
                function = call.func
                if isinstance(function, ast.Attribute) and function.attr == "call":  # Llama 3.1
                    function = function.value
                if not isinstance(function, ast.Name) or function.id not in self._names:
                    raise ValueError
                words = ((word.arg, word.value) for word in call.keywords if word.arg)
                yield function.id, {name: ast.literal_eval(value) for name, value in words}


def _first(function: dict[str, Any], *keys: str) -> Any:
    return next((function[key] for key in keys if key in function), None)


def _mark_part(text: str) -> int:
    """Where a mark may have begun at the end of the text, else its end."""
    at = max(0, len(text) - max(map(len, _MARKS)))
    while at < len(text) and (text[at:] not in _MARK_PARTS or text[at - 1 : at].isalnum()):
        at += 1
    return at


def _tagged(body: str) -> Iterator[tuple[str, Any]]:
    """The parameters that are tags, as MiniMax-M3 writes them."""
    at = 0
    while (tag := _TAG.search(body, at)) is not None:
        end = body.find(f"</{tag[1]}>", tag.end())
        if end < 0:
            return
        yield tag[1], _value(body[tag.end() : end])
        at = end


def _quoted(word: re.Match[str]) -> str:
    written = next((text for text in word.groups() if text is not None), None)
    return word[0] if written is None else json.dumps(written)


def _skipped(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return at if between is None else between.end()


def _value(text: str) -> Any:
    """A parameter's value: JSON where it is, else the text."""
    text = text.strip("\n")
    try:
        return json.loads(text)
    except ValueError:
        return text
