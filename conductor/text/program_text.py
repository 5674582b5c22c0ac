"""The program in a response of a model: the text that is fenced, tagged or a field, else all of it. Pure."""

from __future__ import annotations

import re
from textwrap import dedent

from conductor.errors import FormatError
from conductor.text.json_text import parsed

_FENCE = re.compile(
    r"(?<![^\s:>])(`{3,8}|~{3,8})[ \t]*(\w*)[^\n`]*\n(.*?)(?:^[ \t>]*\1|\Z)", re.DOTALL | re.MULTILINE
)
"""It may open behind words, as LiveCodeBench reads it."""
_IN_QUOTATION = re.compile(r"[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?>")
_QUOTED = re.compile(r"^[ \t]*> ?", re.MULTILINE)
_TAG = re.compile(r"\[(python|code)\]|<(python|code|program|answer|solution)>(?=[^<\n]*\n)", re.IGNORECASE)
"""What opens a program, as CodeLlama and DS-1000 write it; in HTML's tags one line is only a name."""
_FIELDS = ("code", "program", "python", "solution", "answer")


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
    return (programs or _python(quoted) or [text for _, text in quoted] or [unfenced(response)])[-1]


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


def unfenced(response: str) -> str:
    """The response without a fence that only ends, whose beginning stood in the prompt."""
    return response.rstrip().removesuffix("\n```")
