"""What a question that was read means: an answer with its working. The words whose meaning is fixed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORDS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


class NotUnderstood(Exception):
    """A reading of a question has no meaning: units that do not fit, a day that no calendar has."""


@dataclass(frozen=True)
class Answer:
    """An answer as text, and the lines that lead to it. Two answers with one text are the same."""

    text: str
    working: tuple[str, ...] = field(default=(), compare=False)
