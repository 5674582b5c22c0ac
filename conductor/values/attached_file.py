"""A file that was attached to a question: its name and its text. Values only.

The file itself is not kept. `conductor.text.file_text` reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from conductor.text.file_text import file_text
from conductor.text.formatting import counted

MAX_FILES = 20
"""Files of one request."""

_LONGEST_NAME = 120


class AttachedFile(BaseModel):
    """A file's `text`; `cut` is which part of the file that is, None for all of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=_LONGEST_NAME)
    text: str
    cut: str | None = Field(default=None, exclude_if=lambda cut: cut is None)

    @classmethod
    def of(cls, name: str, content: bytes) -> Self:
        """The file with that content. Raises `ValueError` with the fault."""
        found = file_text(content)
        return cls(name=_plain(name), text=found.text, cut=found.cut)

    @property
    def words(self) -> str:
        """Its name, and which part of it there is."""
        return self.name if self.cut is None else f"{self.name}, {self.cut}"

    @property
    def shown(self) -> str:
        """The text between two lines that name the file, for workers, Conductors and people."""
        return f"[File {self.words}]\n{self.text.rstrip()}\n[End of {self.name}]"


def check_files(files: Sequence[AttachedFile]) -> None:
    """Raise `ValueError` where there are too many together."""
    if len(files) > MAX_FILES:
        raise ValueError(f"There are {len(files)} files; the limit is {MAX_FILES}.")


def with_files(text: str, files: Sequence[AttachedFile]) -> str:
    """A message's text with its files behind it."""
    return "\n\n".join([*([text] if text.strip() else []), *(file.shown for file in files)])


def files_words(files: Sequence[AttachedFile]) -> str:
    """How many there are, and their names: "2 files (a.txt; b.pdf, only the first 200 of 500 pages)"."""
    return f"{counted(len(files), 'file')} ({'; '.join(file.words for file in files)})"


def _plain(name: str) -> str:
    """The last part of a path, in one line without brackets, as others may have chosen it."""
    own = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(letter for letter in own if letter.isprintable() and letter not in "[]<>")
    return " ".join(kept.split())[:_LONGEST_NAME] or "file"
