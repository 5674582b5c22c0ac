"""What a tab remembers of its edits: the last one, which revisions it drew and made, what was not applied.

A part of `TabState`. The edits themselves are in the store, but for those that wait for a decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import streamlit as st

from pages.components.edits_aside import ASIDE, EditAside

_ASIDE = "aside"


@dataclass(frozen=True, slots=True)
class Edit:
    """The tab's last edit: from the revision it was drawn with to the one it made."""

    drawn: str
    made: str
    renumbered: bool


class EditMemory:
    """The tab's edits, and whose the revision is that is shown."""

    @property
    def last_edit(self) -> Edit | None:
        return cast("Edit | None", st.session_state.get("last_edit"))

    def note_edit(self, *, drawn: str, made: str, renumbered: bool) -> None:
        """Remember an edit, for another widget of the same drawing that edits, too."""
        st.session_state["last_edit"] = Edit(drawn=drawn, made=made, renumbered=renumbered)

    def note_own(self, head: str) -> None:
        """Remember that this tab made that revision the head."""
        st.session_state["own_head"] = head

    def made(self, head: str) -> bool:
        """Whether that revision is the head that this tab made last."""
        return bool(st.session_state.get("own_head") == head)

    def note_drawn(self, session: str, head: str) -> str | None:
        """Remember which revision of a session is drawn; the one that was drawn before where somebody else
        has changed it since, None where nobody did.
        """
        before = self._drawn(session) or head
        st.session_state["drawn_head"] = (session, head)
        return before if before != head and not self.made(head) else None

    def knows(self, session: str, head: str) -> bool:
        """Whether this tab has drawn that revision of a session last, or made it itself since."""
        return self._drawn(session) in (None, head) or self.made(head)

    def _drawn(self, session: str) -> str | None:
        shown, head = cast("tuple[str, str]", st.session_state.get("drawn_head", ("", "")))
        return head if shown == session else None

    # -- edits that met somebody else's ----------------------------------------------------------------

    def edits_aside(self, session: str) -> tuple[EditAside, ...]:
        """This tab's edits of the session that wait for a decision, oldest first.

        Their key is in the URL, for a reload; a page switch loses it there, so it is remembered too.
        """
        key = st.query_params.get(_ASIDE) or st.session_state.get(_ASIDE)
        found = ASIDE.of(key, session)
        if found:
            st.session_state[_ASIDE] = key
            if st.query_params.get(_ASIDE) != key:
                st.query_params[_ASIDE] = key
        else:
            st.query_params.pop(_ASIDE, None)
        return found

    def lay_aside(self, edit: EditAside) -> None:
        """Keep an edit that was not applied."""
        st.session_state[_ASIDE] = ASIDE.lay(st.session_state.get(_ASIDE), edit)

    def settle(self, edit: EditAside) -> None:
        """Forget an edit that was decided about."""
        ASIDE.settle(st.session_state.get(_ASIDE), edit)

    def note_text(self, key: str, text: str, *, kept: bool) -> None:
        """Remember a text that was refused, which its field `key` goes on showing."""
        st.session_state["refused"] = None if kept else (key, text)

    def was_refused(self, key: str, text: object) -> bool:
        """Whether the field `key` shows what was refused there."""
        return bool(st.session_state.get("refused") == (key, text))

    @property
    def text_refused(self) -> bool:
        """Whether a field on the page shows a text that is not in the workflow."""
        key, text = st.session_state.get("refused") or (None, None)
        return key is not None and st.session_state.get(key) == text
