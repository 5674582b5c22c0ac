"""The scorer of programs: a response's Python, and the tests of its item, in a limited process.

Off unless code is allowed. Knows how a program is found in a response; `limited` runs it.
"""

from __future__ import annotations

import re
from secrets import token_hex
from textwrap import dedent

from conductor.errors import DataError, FormatError
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.limited.isolated_program import LIMITS, run_program
from conductor.limited.supervisor import Limits
from conductor.text.json_text import parsed
from conductor.text.thoughts import answer_in_full

_FENCE = re.compile(
    r"(?<![^\s:>])(`{3,8}|~{3,8})[ \t]*(\w*)[^\n`]*\n(.*?)(?:^[ \t>]*\1|\Z)", re.DOTALL | re.MULTILINE
)
"""It may open behind words, as LiveCodeBench reads it."""
_IN_QUOTATION = re.compile(r"[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?>")
_QUOTED = re.compile(r"^[ \t]*> ?", re.MULTILINE)
_TAG = re.compile(r"\[(python|code)\]|<(python|code|program|answer|solution)>(?=[^<\n]*\n)", re.IGNORECASE)
"""What opens a program, as CodeLlama and DS-1000 write it; in HTML's tags one line is only a name."""
_FIELDS = ("code", "program", "python", "solution", "answer")
_NO_PYTHON = re.compile(r"\b(?:Syntax|Indentation)Error\b")
STARTED_LIMITS = Limits(seconds=3_600.0, memory=4 * 1024**3)
"""Of tests that start the program themselves, once for each of many inputs, each with seconds of its own; the
memory is LiveCodeBench's.
"""

PROGRAM = "PROGRAM"
"""Tests that read this name get the program's text under it, and the program does not run before them."""


async def code(response: str, item: Item) -> Score:
    """Whether the response's program passes the item's tests, which are its target: Python that raises where
    the program is wrong, with the program's names in view, or with its text as `PROGRAM`.

    Raises `DataError` where the target is no Python, and as `limited`.
    """
    answer, tests = answer_in_full(response), "\n".join(item.target)
    program = program_in(answer)
    try:
        reads_text = PROGRAM in compile(tests, "tests", "exec").co_names
    except (SyntaxError, ValueError) as error:
        raise DataError(f"The target of the item {item.id!r} is not Python: {error}.") from error
    if not program.strip():
        return Score.no_answer("", "the response holds no program")
    # A new one for each program: one that ends early, or prints what it likes, has not passed.
    mark = f"passed-{token_hex(8)}"
    start = f"{PROGRAM} = {program!r}" if reads_text else program
    limits = STARTED_LIMITS if reads_text else LIMITS
    script = f"{start}\n\n{tests}\n\nimport sys as _sys\n_sys.stdout.write({mark!r})\n_sys.stdout.flush()\n"
    ended = await run_program(script, limits)
    if ended.code == 0 and ended.output.endswith(mark):
        return Score.of(True, program)
    last = ended.output.strip().rpartition("\n")[2][:300]
    if program == _unfenced(answer) and _NO_PYTHON.search(last):
        return Score.no_answer(program, "the response holds no program")
    return Score.of(False, program, reason=ended.stopped or last or f"exit code {ended.code}")


def program_in(response: str) -> str:
    """The last fenced block of Python, else what stands behind the last tag for a program, else the field of
    a JSON object, else the last fenced block, else the last one in a quotation, else the whole response.

    A block may be indented, as in a list, and the last one, of an answer that was cut, may lack its end.
    """
    own, quoted = list[tuple[str, str]](), list[tuple[str, str]]()
    for fence in _FENCE.finditer(response):
        opening = response[response.rfind("\n", 0, fence.start()) + 1 : fence.start()]
        is_quoted = bool(_IN_QUOTATION.match(opening))
        text = dedent(_QUOTED.sub("", fence[3]) if is_quoted else fence[3])
        if text.strip():
            (quoted if is_quoted else own).append((fence[2].lower(), text))
    texts = [text for _, text in own]
    programs = _python(own) or _tagged(response) or _field(texts or [response]) or texts
    return (programs or _python(quoted) or [text for _, text in quoted] or [_unfenced(response)])[-1]


def _python(blocks: list[tuple[str, str]]) -> list[str]:
    return [text for language, text in blocks if language in ("python", "py", "python3")]


def _tagged(response: str) -> list[str]:
    tags = [*_TAG.finditer(response)][-1:]
    return [re.split(rf"[\[<]/{tag[1] or tag[2]}", response[tag.end() :])[0] for tag in tags]


def _field(texts: list[str]) -> list[str]:
    """The program in the last text, where that is a JSON object."""
    try:
        fields = parsed(texts[-1], where="the program") if texts[-1].lstrip().startswith("{") else {}
    except FormatError:
        return []
    return [value for name in reversed(_FIELDS) if isinstance(value := fields.get(name), str)]


def _unfenced(response: str) -> str:
    """The response without a fence that only ends, whose beginning stood in the prompt."""
    return response.rstrip().removesuffix("\n```")
