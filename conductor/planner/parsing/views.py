"""The ways in which a completion's text can be read: as it is, then with what models put for its marks.

Knows characters and escapes, no plan. Sources: josdejong/jsonrepair (blanks), mangiucugna/json_repair (marks,
tuples), vllm-project/vllm#54964 and livekit/agents#5409 (JSON in a JSON text).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from conductor.planner.parsing.literals import repair
from conductor.planner.parsing.quotes import decoded
from conductor.workflow.plan_report import Candidate, Span

_BLANKS = (0xA0, 0x180E, *range(0x2000, 0x2010), 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF)
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_ASCII = _FULL_WIDTH | dict.fromkeys(_BLANKS, " ") | str.maketrans("()（）【】、−‐‑", "[][][],---")
_ESCAPED = re.compile(r"\\[\[\]_]")
_TWICE = re.compile(r"\\[\\\"/nrt]")
_LINES = re.compile(r"\}[ \t]*\r?\n\s*\{")
_BLOCK = re.compile(
    r"^(?P<label>[ \t]*(?:model[ _-]?ids?|sub[ _-]?tasks?|access(?:[ _-]?lists?)?)[ \t]*:)[ \t]*\r?\n"
    r"(?P<entries>(?:[ \t]*-[ \t]+\S.*(?:\n|\Z))+)",
    re.IGNORECASE | re.MULTILINE,
)
_JSON = re.compile(r"[\"'\[{]|-?\d+\Z")
_LIST_IN_QUOTES = re.compile(r":\s*\"\s*[\[{]|[\]}]\s*\"(?=\s*[,}])")


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text: `marks` is `text` with ASCII punctuation, as long as it.

    `loose`: shapes that are no published plan are read, too. `decoded` is what was decoded of the completion,
    `how` in words.
    """

    text: str
    marks: str
    loose: bool = False
    decoded: Span | None = None
    how: str = ""

    def placed(self, candidate: Candidate) -> Candidate:
        """A candidate of this text in the completion's offsets: what was decoded is one stretch of it."""
        if self.decoded is None:
            return candidate
        moved = [loose.model_copy(update={"span": self.decoded}) for loose in candidate.repairs]
        once = repair("json-text", self.how, self.decoded)
        return candidate.model_copy(update={"span": self.decoded, "repairs": (once, *moved)})


def views(body: str) -> Iterator[View]:
    """The exact view, then the loose ones in the order in which they are tried."""
    yield View(body, body)
    yield _loose(body, None)
    start = min((at for at in (body.find("{"), body.find("[")) if at >= 0), default=0)
    end = max(body.rfind("}"), body.rfind("]")) + 1
    inner = _TWICE.sub(lambda escape: decoded(escape[0]), body[start:end])
    inside = _LIST_IN_QUOTES.sub(lambda mark: mark[0].replace('"', " "), inner)
    whole = f"{body[:start]}{inner}{body[end:]}"
    if '\\"' in body[start:end]:
        yield _loose(whole, (start, end))
    if inside != inner:
        yield _loose(f"{body[:start]}{inside}{body[end:]}", (start, end))
    if _LINES.search(body, start, end):
        joined = _LINES.sub("}, {", body[start:end])
        how = "objects, one a line, were read as a list"
        yield _loose(f"{body[:start]}[{joined}]{body[end:]}", (start, end), how)
    if blocks := [*_BLOCK.finditer(body)]:
        start, end = blocks[0].start(), blocks[-1].end()
        listed = _BLOCK.sub(_listed, body[start:end])
        how = "lists with one entry a line were read as lists in brackets"
        yield _loose(f"{body[:start]}{listed}{body[end:]}", (start, end), how)


def _listed(block: re.Match[str]) -> str:
    """The entries of a block in brackets; what has no quotes and is none of JSON's values is a text."""
    entries = (line.strip()[1:].strip() for line in block["entries"].splitlines())
    texts = (entry if _JSON.match(entry) else json.dumps(entry, ensure_ascii=False) for entry in entries)
    return f"{block['label']} [{', '.join(texts)}]\n"


def _loose(text: str, stretch: Span | None, how: str = "JSON inside a quoted text was read as JSON") -> View:
    marks = _ESCAPED.sub(lambda mark: "__" if mark[0][1] == "_" else f" {mark[0][1]}", text)
    return View(text, marks.translate(_ASCII), True, stretch, how)
