"""The ways in which a completion's text can be read: as it is, then with what models put for its marks.

Knows characters and escapes, no plan. Sources: josdejong/jsonrepair (blanks), mangiucugna/json_repair (marks,
tuples), vllm-project/vllm#54964 and livekit/agents#5409 (JSON in a JSON text).
"""

from __future__ import annotations

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
_LIST_IN_QUOTES = re.compile(r":\s*\"\s*[\[{]|[\]}]\s*\"(?=\s*[,}])")


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text: `marks` is `text` with ASCII punctuation, as long as it.

    `loose`: shapes that are no published plan are read, too. `decoded` is what was decoded of the completion.
    """

    text: str
    marks: str
    loose: bool = False
    decoded: Span | None = None

    def placed(self, candidate: Candidate) -> Candidate:
        """A candidate of this text in the completion's offsets: what was decoded is one stretch of it."""
        if self.decoded is None:
            return candidate
        moved = [loose.model_copy(update={"span": self.decoded}) for loose in candidate.repairs]
        once = repair("json-text", "JSON inside a quoted text was read as JSON", self.decoded)
        return candidate.model_copy(update={"span": self.decoded, "repairs": (once, *moved)})


def views(body: str) -> Iterator[View]:
    """The exact view, then the loose ones in the order in which they are tried."""
    yield View(body, body)
    yield _loose(body, None)
    start = min((at for at in (body.find("{"), body.find("[")) if at >= 0), default=0)
    end = max(body.rfind("}"), body.rfind("]")) + 1
    inner = _TWICE.sub(lambda escape: decoded(escape[0]), body[start:end])
    whole, inside = f"{body[:start]}{inner}{body[end:]}", _LIST_IN_QUOTES.sub(_unquoted, inner)
    if '\\"' in body[start:end]:
        yield _loose(whole, (start, end))
    if inside != inner:
        yield _loose(f"{body[:start]}{inside}{body[end:]}", (start, end))


def _unquoted(mark: re.Match[str]) -> str:
    return mark[0].replace('"', " ")


def _loose(text: str, stretch: Span | None) -> View:
    marks = _ESCAPED.sub(lambda mark: "__" if mark[0][1] == "_" else f" {mark[0][1]}", text)
    return View(text, marks.translate(_ASCII), True, stretch)
