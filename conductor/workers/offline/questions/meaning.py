"""What a question that was read means: an answer with its working. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field


class NotUnderstood(Exception):
    """A reading of a question has no meaning: units that do not fit, a day that no calendar has."""


@dataclass(frozen=True)
class Answer:
    """An answer as text, and the lines that lead to it. Two answers with one text are the same."""

    text: str
    working: tuple[str, ...] = field(default=(), compare=False)
