"""A tab remembers its edits: the last one, which revisions it drew and made, which were not applied.

A part of `TabState`. Edits are in the store, except those that met another person's edit and wait for a
decision: they outlive a reload of their tab, whose address holds the key, and `tab_storage` keeps them over a
restart of the process.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar, cast

import streamlit as st

from conductor.workflow.model import Workflow
from storage import Revision

_ASIDE = "aside"

_MOVES = 100
"""Of this tab's moves of a head so many are remembered: more than a browser can be behind."""

TABS = 1_000
"""The most tabs whose edits are stored; those of the tab that was longest without one are dropped first."""

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


class EditsAside:
    """Any thread may use it. A tab is named by a key that cannot be guessed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: OrderedDict[str, tuple[EditAside, ...]] = OrderedDict()

    def of(self, tab: str | None, session: str) -> tuple[EditAside, ...]:
        """A tab's edits of a session, oldest first."""
        with self._lock:
            return tuple(edit for edit in self._of.get(tab or "", ()) if edit.session == session)

    def lay(self, tab: str | None, edit: EditAside) -> str:
        """Keep an edit for a tab; the tab's key, a new one where it has none."""
        key = tab or secrets.token_hex(16)
        with self._lock:
            self._of[key] = (*self._of.pop(key, ()), edit)
            while len(self._of) > TABS:
                self._of.popitem(last=False)
        return key

    def settle(self, tab: str | None, edit: EditAside) -> None:
        """Forget an edit that was decided about."""
        with self._lock:
            left = tuple(other for other in self._of.pop(tab or "", ()) if other.id != edit.id)
            if left and tab:
                self._of[tab] = left


ASIDE = EditsAside()
"""The process's."""


class EditMemory:
    """The tab's edits, and whose the revision is that is shown."""

    last_edit = Remembered[Edit | None]("last_edit", None)

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
        """This tab's edits of the session that wait for a decision, oldest first.

        Their key is in the URL, for a reload; a page switch loses it there, so it is remembered too.
        """
        key = st.query_params.get(_ASIDE) or st.session_state.get(_ASIDE)
        edits = ASIDE.of(key, session)
        if edits:
            st.session_state[_ASIDE] = key
            if key is not None and st.query_params.get(_ASIDE) != key:
                st.query_params[_ASIDE] = key
        else:
            st.query_params.pop(_ASIDE, None)
        return edits

    def lay_aside(self, edit: EditAside) -> None:
        """Keep an edit that was not applied."""
        st.session_state[_ASIDE] = ASIDE.lay(st.session_state.get(_ASIDE), edit)

    def settle(self, edit: EditAside) -> None:
        """Forget an edit that was decided about."""
        ASIDE.settle(st.session_state.get(_ASIDE), edit)

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
