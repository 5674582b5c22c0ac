"""The documentation by its sections, as it lies beside the program. Knows Markdown's headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "docs"

_HEADING = re.compile(r"^(#{1,3}) +(.+)$", re.M)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
_PICTURE = re.compile(r"<picture>.*?</picture>\n*", re.S)
_INNER_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


@dataclass(frozen=True, slots=True)
class Section:
    """`text` is Markdown, from its heading to the next one of any level, without pictures and inner links."""

    id: str
    title: str
    page: str
    text: str

    def has(self, words: list[str]) -> int | None:
        """0 if a word of the titles of section and page, or of its file's name, begins with each of these
        (lower case), 1 if the text has them all, else None.
        """
        names = re.findall(r"\w+", f"{self.title} {self.page} {self.id}".lower())
        if all(any(name.startswith(word) for name in names) for word in words):
            return 0
        text = self.text.lower()
        return 1 if all(word in text for word in words) else None


@cache
def sections() -> tuple[Section, ...]:
    """All of them, page by page; nothing if the documentation is not installed."""
    return tuple(section for file in sorted(_FOLDER.glob("*.md")) for section in _sections_of(file))


def find_sections(query: str, *, limit: int) -> list[Section]:
    """Those that have the words of `query`, first those that are named by them."""
    words = [word for word in re.split(r"[\s-]+", query.lower()) if word]
    if not words:
        return []
    ranked = [(rank, section) for section in sections() if (rank := section.has(words)) is not None]
    return [section for _, section in sorted(ranked, key=lambda each: each[0])[:limit]]


def _sections_of(file: Path) -> list[Section]:
    text = _INNER_LINK.sub(r"\1", _PICTURE.sub("", file.read_text(encoding="utf-8")))
    # A comment of a program is no heading.
    fenced = [fence.span() for fence in _FENCE.finditer(text)]
    heads = [
        head
        for head in _HEADING.finditer(text)
        if not any(begin <= head.start() < end for begin, end in fenced)
    ]
    ends = [*(head.start() for head in heads[1:]), len(text)]
    page = heads[0][2] if heads else file.stem
    return [
        Section(f"{file.name}:{at}", _plain(head[2]), _plain(page), text[head.start() : end].strip())
        for at, (head, end) in enumerate(zip(heads, ends, strict=True))
        if text[head.end() : end].strip()
    ]


def _plain(heading: str) -> str:
    return re.sub(r"[`*]", "", heading)
