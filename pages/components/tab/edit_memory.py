"""A tab remembers its edits: the last one, which revisions it drew and made, which were not applied.

A part of `TabState`. Edits are in the store, except those that met another person's edit and wait for a
decision: `tab_storage` has the browser keep them over a reload and a restart of the process.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

import streamlit as st

from conductor.workflow.model import Workflow
from storage import Revision

_MOVES = 100
"""Of this tab's moves of a head so many are remembered: more than a browser can be behind."""

T = TypeVar("T")


class Remembered(Generic[T]):
    """An attribute of a tab, stored in its session state under `key`."""

    def __init__(self, key: str, default: T) -> None:
        self._key, self._default = key, default

    def __get__(self, tab: object, owner: object) -> T:
        return cast("T", st.session_state.get(self._key, self._default))

    def __set__(self, tab: object, value: T) -> None:
        st.session_state[self._key] = value


@dataclass(frozen=True, slots=True)
class Edit:
    """What moved the head from the revision `before` to `after`, which this tab made."""

    before: str
    after: str
    renumbered: bool


@dataclass(frozen=True, slots=True)
class EditAside:
    """An edit of `edited` that was not applied, because another revision was the head by then.

    `restores` is the id of the revision whose workflow it brings back, None for others.
    """

    session: str
    edited: Revision
    workflow: Workflow
    note: str
    restores: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))


class EditMemory:
    """The tab's edits, and whose the revision is that is shown."""

    last_edit = Remembered[Edit | None]("last_edit", None)
    _aside = Remembered[tuple[EditAside, ...]]("aside", ())

    def note_edit(self, *, before: str, after: str, renumbered: bool) -> None:
        """Remember an edit, for another widget of the same drawing that edits, too."""
        self.last_edit = Edit(before=before, after=after, renumbered=renumbered)
        self.note_own(after, left=before, renumbered=renumbered)

    def note_own(self, head: str, *, left: str | None = None, renumbered: bool = False) -> None:
        """Remember that this tab made that revision the head, in place of `left` where that is known."""
        st.session_state["own_head"] = head
        if left is not None:
            moves = st.session_state.setdefault("own_moves", [])
            moves.append(Edit(before=left, after=head, renumbered=renumbered))
            del moves[:-_MOVES]

    def own_since(self, revision: str) -> str:
        """The revision that only this tab's edits made of `revision`, which is drawn in the browser; that
        revision itself without such edits. Ends before an edit that renumbered steps.
        """
        moves = cast("list[Edit]", st.session_state.get("own_moves", []))
        last = next(
            (at for at in reversed(range(len(moves))) if revision in (moves[at].before, moves[at].after)),
            None,
        )
        for move in moves[last:] if last is not None else ():
            if move.before == revision and not move.renumbered:
                revision = move.after
            elif move.after != revision:
                break
        return revision

    def is_own_head(self, head: str) -> bool:
        """Whether that revision is the head that this tab made last."""
        return bool(st.session_state.get("own_head") == head)

    def note_drawing(self, session: str, head: str) -> str | None:
        """Remember which revision of a session is drawn; the one that was drawn before where another person
        has changed it since, else None.
        """
        before = self._drawn_head(session) or head
        st.session_state["drawn_head"] = (session, head)
        return before if before != head and not self.is_own_head(head) else None

    def knows(self, session: str, head: str) -> bool:
        """Whether this tab has drawn that revision of a session last, or made it itself since."""
        return self._drawn_head(session) in (None, head) or self.is_own_head(head)

    def _drawn_head(self, session: str) -> str | None:
        drawn_session, head = cast("tuple[str, str]", st.session_state.get("drawn_head", ("", "")))
        return head if drawn_session == session else None

    def edits_aside(self, session: str) -> tuple[EditAside, ...]:
        """This tab's edits of the session that wait for a decision, oldest first."""
        return tuple(edit for edit in self._aside if edit.session == session)

    def lay_aside(self, edit: EditAside) -> None:
        """Keep an edit that was not applied."""
        self._aside = (*self._aside, edit)

    def settle(self, edit: EditAside) -> None:
        """Forget an edit that was decided about."""
        self._aside = tuple(other for other in self._aside if other.id != edit.id)

    def note_text(self, key: str, text: str, *, is_kept: bool) -> None:
        """Remember a text that was refused, which its field `key` still shows."""
        st.session_state["refused"] = None if is_kept else (key, text)

    def was_refused(self, key: str, text: object) -> bool:
        """Whether the field `key` shows what was refused there."""
        return bool(st.session_state.get("refused") == (key, text))

    @property
    def text_refused(self) -> bool:
        """Whether a field on the page shows a text that is not in the workflow."""
        key, text = st.session_state.get("refused") or (None, None)
        return key is not None and st.session_state.get(key) == text
