"""Words of a text that a person selects to write a note on, and words that are marked in it.

The browser shows the form and stores nothing of what is typed there but the writer's name; what it sends is
untrusted. Knows no session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conductor.errors import ConductorError
from pages.components.streamlit_patches.component import trigger_value


class Written(BaseModel):
    """A note as the browser sends it: `near` is the part of the text (0 to 1) before the words `quote`,
    `at` the moment that names it.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    quote: str
    near: float = Field(ge=0, le=1)
    text: str
    author: str
    at: int


@dataclass(frozen=True, slots=True)
class Marked:
    """Words, and the part of the text (0 to 1) that stands before them."""

    words: str
    near: float


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """Words that are scrolled to and marked, whatever their case; again where `moment` differs."""

    words: str
    near: float
    moment: float


@dataclass(frozen=True, slots=True)
class Notable:
    """What there is to write and to mark in a text. `write` is None if nothing can be written; it raises
    `ConductorError` where it refuses. `asks_name`: the writer's name is unknown.
    """

    quotes: Sequence[Marked] = ()
    match: SearchMatch | None = None
    write: Callable[[Written], None] | None = None
    asks_name: bool = False


def notable_data(notable: Notable | None, *, key: str) -> dict[str, Any] | None:
    """What the script is sent, None for a text on which there is nothing to write and to mark."""
    if notable is None:
        return None
    match = notable.match
    return {
        "quotes": [[mark.words, mark.near] for mark in notable.quotes],
        "found": None if match is None else [match.words, match.near, match.moment],
        "writes": notable.write is not None,
        "asksName": notable.asks_name,
        "answered": st.session_state.get(f"noted-{key}"),
    }


def on_noted(notable: Notable | None, *, key: str) -> Callable[[], None]:
    """What takes the note that the text with this key sent, and leaves the answer for the browser."""

    def noted() -> None:
        sent = trigger_value(key, "noted")
        if not sent or notable is None or notable.write is None:
            return
        try:
            written = Written.model_validate(sent)
        except ValidationError:
            return
        try:
            notable.write(written)
            problem = None
        except ConductorError as error:
            problem = str(error)
        st.session_state[f"noted-{key}"] = {"at": written.at, "problem": problem}

    return noted
