"""The values of a page's fields in the browser, which lags behind the server and sends old values along.

A message of the browser carries the values of all fields, also of fields that were given another value which
the browser has not drawn yet; after a restart of the server it carries what an earlier process drew. So every
part of the page that edits ends with a mark in a hidden field. The browser sends the mark along: it names the
drawing in which a person acted. Knows fields and marks; knows no workflow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import streamlit as st

from pages.components.streamlit_patches.initial_values import (
    awaits_browser,
    established,
    is_empty,
    note_drawing,
    value_changed,
    was_drawn,
)
from pages.components.tab.state import TabState
from storage import Revision

T = TypeVar("T")

ECHO_SECONDS = 0.4
"""For so long after a field was given another value, its old one is taken for an echo."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One drawing of a part of the page: the id of its revision, and a number that only grows."""

    revision: str
    drawing: int

    def __str__(self) -> str:
        return f"{self.revision} {self.drawing}"

    @classmethod
    def read(cls, text: object) -> Mark | None:
        """The mark in what the browser sent, or None if it sent none or something else."""
        revision, _, drawing = text.partition(" ") if isinstance(text, str) else ("", "", "")
        return cls(revision, int(drawing)) if revision and drawing.isdecimal() else None


@dataclass(frozen=True, slots=True)
class _Field:
    """What a field shows: `value`, or `before` in a browser that has not drawn `drawing` yet."""

    value: Any
    labels: tuple[str, ...] | None
    before: Any = None
    drawing: int = 0


class PagePart:
    """The part `place` of a session's page, drawn with the revision `head`."""

    def __init__(self, tab: TabState, head: Revision, *, place: str) -> None:
        self.tab, self.revision = tab, head.id
        self._key = f"shown-{place}-{head.session}"

    @property
    def seen(self) -> Mark | None:
        """The drawing that the browser showed when it sent its last message; None before the first one."""
        return Mark.read(st.session_state.get(self._key))

    def set_value(self, key: str, value: object, *, labels: Sequence[str] = ()) -> bool:
        """Have the field `key` show `value`; a text that the workflow refused stays, to be corrected.

        Whether the field had to be given it, and so must be drawn without a default. `labels` are the texts
        of a list's options: the browser names a choice by its text, so a change of them is a change of value.
        """
        current = st.session_state.get(key, value)
        field = self._fields.get(key)
        renamed = field is not None and key in st.session_state and field.labels != tuple(labels)
        if (current == value and not renamed) or self.tab.was_refused(key, current):
            base = field or _Field(current, tuple(labels))
            self._fields[key] = replace(base, value=current, labels=tuple(labels))
            return False
        st.session_state[key] = value
        self._newest = Mark(self.revision, self._next())
        self._fields[key] = _Field(value, tuple(labels), before=current, drawing=self._newest.drawing)
        return True

    def committing(
        self, key: str, commit: Callable[[T, T], None], *, read: Callable[[Any], T | None]
    ) -> Callable[[], None]:
        """A callback that hands what the field showed and what a person made of it to `commit`.

        `read` gives the field's value in what the browser sent, or None if that is no value. What the
        field showed already is no change, in whatever message it comes.
        """

        def changed() -> None:
            value = read(st.session_state[key])
            if value is not None:
                # `set_value` wrote down what the field shows before the field was drawn.
                before = cast("T", self._replaced(key, value))
                if value != before:
                    commit(before, value)
            self.tab.ask_redraw()

        return changed

    def mark(self) -> Mark | None:
        """Draw the mark, after all fields. Where the browser still shows what a process drew that has ended,
        that drawing's mark; else None.
        """
        if self._newest.revision != self.revision:
            self._newest = Mark(self.revision, self._next())
        mine = str(self._newest)
        new = self._key not in st.session_state
        outdated = not new and st.session_state[self._key] != mine
        if outdated:
            st.session_state[self._key] = mine
        sent = st.text_area(
            "Revision shown", "" if outdated else mine, key=self._key, label_visibility="collapsed"
        )
        left = Mark.read(sent) if new and sent != mine else None
        if left is not None:
            # Nothing is known of what the browser shows, so every field is given its value once more.
            self._fields.update({key: replace(field, labels=None) for key, field in self._fields.items()})
        return left

    def _replaced(self, key: str, value: T) -> T | None:
        """What the field showed in the browser; `value` from now on."""
        field = self._fields.get(key)
        if field is None:
            return None
        seen = self.seen
        if seen is not None and seen.drawing < field.drawing:
            self._fields[key] = replace(field, before=value)
            return cast("T", field.before)
        self._fields[key] = replace(field, value=value)
        return cast("T", field.value)

    @property
    def _fields(self) -> dict[str, _Field]:
        return cast("dict[str, _Field]", st.session_state.setdefault(f"{self._key}-fields", {}))

    @property
    def _newest(self) -> Mark:
        """The newest drawing of this part by this process."""
        return cast("Mark", st.session_state.get(f"{self._key}-newest", Mark("", 0)))

    @_newest.setter
    def _newest(self, mark: Mark) -> None:
        st.session_state[f"{self._key}-newest"] = mark

    def _next(self) -> int:
        # By the clock, so that it also grows over a restart of the server.
        return max(self._newest.drawing + 1, time.time_ns() // 1_000_000)


def shows(tab: TabState, key: str, value: object, commit: Callable[..., None]) -> Callable[[], None]:
    """Have the field `key`, which is drawn without a default, show `value` from its first moment on.

    Returns a callback that hands the field's new value to `commit`. A click elsewhere that leaves the browser
    before it has drawn a field's new value sends the old value along. That is no choice of a person; taken
    for one, it would undo the edit behind the new value.
    """
    sent = f"sent-{key}"
    sure, current = established(key), st.session_state.get(key, value)
    if current != value:
        st.session_state[sent] = (current, time.monotonic())
        value_changed(key)
    if current != value or (not sure and not is_empty(value)):
        # An empty value need not be sent.
        st.session_state[key] = value
    note_drawing(key, value)

    def changed() -> None:
        chosen = st.session_state[key]
        old, at = st.session_state.get(sent, (chosen, None))
        is_recent = at is not None and (time.monotonic() - at <= ECHO_SECONDS or awaits_browser(key))
        if not (is_recent and chosen == old) and not was_drawn(key, chosen):
            note_drawing(key, chosen)
            commit(chosen)
        tab.ask_redraw()

    return changed
