"""A file that was attached to a question: its name and its text. Values only.

The file itself is not kept. `FileReader` reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field

from conductor.files.file_text import FileReader
from conductor.values.portable_model import PortableModel

MAX_FILES = 20
"""Files of one request."""

_LONGEST_NAME = 120


class AttachedFile(PortableModel):
    """A file's `text`; `cut` is which part of the file that is, None for all of it.

    In a row of the store the text is empty, and `digest` names it.
    """

    name: str = Field(min_length=1, max_length=_LONGEST_NAME)
    text: str
    cut: str | None = Field(default=None, exclude_if=lambda cut: cut is None)
    digest: str | None = Field(default=None, exclude_if=lambda digest: digest is None)

    @classmethod
    def of(cls, name: str, content: bytes, reader: FileReader) -> Self:
        """The file with that content. Raises as `FileReader.read`."""
        extract = reader.read(content)
        return cls(name=_plain(name), text=extract.text.rstrip(), cut=extract.cut)

    @property
    def first_line(self) -> str:
        """What stands before its text: the name, and which part of the file it is."""
        return f"[File {self.name if self.cut is None else f'{self.name}, {self.cut}'}]"

    @property
    def last_line(self) -> str:
        """What stands behind it."""
        return f"[End of {self.name}]"

    @property
    def display_text(self) -> str:
        """The text between its two lines, for people."""
        return f"{self.first_line}\n{self.text}\n{self.last_line}"


def check_files(files: Sequence[AttachedFile]) -> None:
    """Raise `ValueError` where there are too many together."""
    if len(files) > MAX_FILES:
        raise ValueError(f"There are {len(files)} files; the limit is {MAX_FILES}.")


def _plain(name: str) -> str:
    """The last part of a path, in one line without brackets, as others may have chosen it."""
    own = name.replace("\\", "/").rpartition("/")[2]
    letters = "".join(letter for letter in own if letter.isprintable() and letter not in "[]<>")
    return " ".join(letters.split())[:_LONGEST_NAME] or "file"
