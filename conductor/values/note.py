"""A person's note on words of a session: values only. Who may write one is decided elsewhere."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from conductor.values.messages import Value

NotePart = Literal["question", "instruction", "request", "output", "reasoning"]
"""The text that a note is on: the session's question, or one of a step's."""

MAX_NOTE = 4_000
"""Characters of a note."""

MAX_QUOTE = 2_000
"""Characters of the words that it quotes."""

MAX_AUTHOR = 80


class Note(Value):
    """A person's `text` about the words `quote` of a text; "" where it is about all of it.

    `step` counts from 0 and is None on the question. `start` is where the words begin in the text, in
    characters from 0 and for all marks of Markdown; None if they did not stand there, as those of a drawn
    formula.
    `author` is None if unknown. All three texts are a person's or a model's: untrusted.
    """

    id: str
    part: NotePart
    step: Annotated[int | None, Field(ge=0)] = None
    quote: Annotated[str, Field(max_length=MAX_QUOTE)] = ""
    start: Annotated[int | None, Field(ge=0)] = None
    text: Annotated[str, Field(max_length=MAX_NOTE, pattern=r"\S")]
    author: Annotated[str | None, Field(max_length=MAX_AUTHOR)] = None
    created_at: Annotated[float, Field(allow_inf_nan=False, description="Unix seconds")]
