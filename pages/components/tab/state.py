"""The state of one browser tab besides the store: a typed view of `st.session_state` and the URL.

Nothing here is the only copy of anything a person made; workflows live in the store.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import streamlit as st
from streamlit.errors import StreamlitAPIException

from conductor.drawing.layout import Direction
from conductor.runs.replay import Replay
from conductor.values.note import NotePart
from conductor.values.presets import Settings
from pages.components.streamlit_patches.script_message import history_moved
from pages.components.tab.account import viewable
from pages.components.tab.download import Download
from pages.components.tab.edit_memory import EditMemory, Remembered
from pages.components.view_models.workflow.drawing import Drawing
from pages.components.view_models.workflow.heat import HeatMap
from studio.access.view_links import PARAMETER

NoticeKind = Literal["error", "info"]

Export = Literal["run", "workflow", "session"]
"""What is given out of a session as a file."""

_SAME_PRESS_SECONDS = 0.6


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence to show where it happened (`place`) on the next run of the page."""

    kind: NoticeKind
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class FoundWords:
    """Words that a person looked for, in the `part` of the step `step` (from 0).

    `near` is how much of the text is before them (0 to 1), `moment` when it was (Unix seconds).
    """

    step: int
    part: NotePart
    words: str
    near: float
    moment: float


class TabState(EditMemory):
    remembered = Remembered[str | None]("session", None)
    """The session opened last, for pages whose address is not that session's."""
    rewrites = Remembered[bool]("rewrites", False)
    """Whether the open session's question is being changed, to be asked in its place."""
    changes_plan = Remembered[bool]("changes-plan", False)
    """Whether what is typed is a change of the open session's plan, not a question."""
    runs_plans = Remembered[bool | None]("runs-plans", None)
    """Whether what is asked is planned and run, or None before that was chosen."""
    settings = Remembered[Settings]("next-settings", Settings())
    """What is chosen for the next session."""
    selected = Remembered[int | None]("selected", None)
    """The position of the step that the graph selects; `select` has the graph follow."""
    selection_revision = Remembered[int]("selection_revision", 0)
    """Grows whenever Python moves the selection."""
    search_match = Remembered[FoundWords | None]("found", None)
    """The words that were looked for last, which their text marks."""
    part = Remembered[str | None]("step-part", None)
    """The part of a step that a person chose to see, by its name; None before."""
    panel_selects = Remembered[bool]("panel_selects", False)
    """Whether the view below the graph shows which step is selected."""
    panel_moves = Remembered[bool]("panel_moves", False)
    """Whether it changes while the session moves."""
    direction = Remembered[Direction]("direction", "down")
    """In which the graph is drawn."""
    drawing = Remembered[Drawing | None]("drawing", None)
    """What the graph shows, so that what stays in it is not moved."""
    trial_heat = Remembered[dict[str, HeatMap]]("trial_heat", {})
    """What trials that have ended showed, by the experiment, as the graph draws it."""
    replay = Remembered[Replay | None]("replay", None)
    """The moment of a run that the page shows, or None if it shows things as they are."""
    replay_mark = Remembered[str | None]("replay_mark", None)
    """The mark of the player's last request."""

    @property
    def presents(self) -> bool:
        """Whether the page shows its session to an audience: in large letters, with nothing around it."""
        return st.query_params.get("present") == "1" and self.session is not None

    @property
    def watched(self) -> bool:
        """Whether the page only shows its session, and changes nothing of it."""
        return self.presents or self.view_only is not None

    @property
    def view_only(self) -> str | None:
        """The session that this tab may look at, whatever its address becomes; "" without a session,
        None for a tab that may do anything.
        """
        if "view-only" not in st.session_state:
            allowed, named = viewable(), st.query_params.get("session", "")
            if allowed is None and PARAMETER not in st.query_params:
                return None
            st.session_state["view-only"] = named if allowed is None or named in allowed else ""
        return cast("str", st.session_state["view-only"])

    def present(self) -> None:
        """Show the session so, from its answer or from what goes on."""
        st.query_params["present"] = "1"
        self.select(None)

    def end_presenting(self) -> None:
        """Show the workbench again."""
        st.query_params.pop("present", None)

    @property
    def session(self) -> str | None:
        """The open session's id; the URL counts, a page switch loses it, so it is remembered too.

        On the workbench alone: Back to an address without a session shows the page without one.
        """
        if self.view_only is not None:
            return self.view_only or None
        named = st.query_params.get("session")
        if named:
            if named != self.remembered:
                # The browser's own way to another session: Back, Forward, an edited address.
                self._enter(named)
            return named
        if self.remembered:
            if history_moved():
                self._enter(None)
            else:
                st.query_params["session"] = self.remembered
        return self.remembered

    def open(self, session: str | None) -> None:
        """Show another session, or none."""
        if session is None:
            st.query_params.pop("session", None)
        else:
            st.query_params["session"] = session
        self._enter(session)

    def _enter(self, session: str | None) -> None:
        if session is not None and self.remembered is None:
            st.session_state["selection_unknown"] = True
        self.remembered = session
        self.select(None)
        self.leave_replay()
        self.rewrites = self.changes_plan = False
        self.search_match = None
        for name in ("download", "export_request"):
            st.session_state.pop(name, None)

    def pressed_again(self, press: str) -> bool:
        """Whether this is the same press as one a moment ago.

        While a fragment polls, the browser may send one press of a button twice: the poll's message carries
        it along. To be asked where a second press would do more than the first did.
        """
        key, now = f"pressed-{press}", time.monotonic()
        last = cast("float", st.session_state.get(key, float("-inf")))
        st.session_state[key] = now
        return now - last < _SAME_PRESS_SECONDS

    # -- the graph, and the file given out ----------------------------------------------------------

    @property
    def knows_selection(self) -> bool:
        """Whether this process knows what the graph selects: not where the page is older than the process."""
        return not st.session_state.get("selection_unknown", False)

    def adopt_selection(self, step: int | None) -> None:
        """Take over what the graph of a page selects that is older than this process."""
        st.session_state.pop("selection_unknown", None)
        if isinstance(step, int):
            self.selected = step

    def select(self, step: int | None) -> None:
        """Select from Python; the graph follows."""
        self.selected = step
        self.selection_revision += 1

    @property
    def shows_selection(self) -> list[str]:
        """The keys of the fragments beside the graph that show which step is selected."""
        if self.session is None:
            return ["inspector"]
        panels = ["panels"] if self.panel_selects and not self.presents else []
        return ["inspector", *([] if self.watched else ["run"]), *panels]

    @property
    def download(self) -> Download | None:
        """The file last given out in this session."""
        return cast("Download | None", st.session_state.get("download"))

    @download.setter
    def download(self, file: Download) -> None:
        last = self.download
        like = last is not None and (last.name, last.text) == (file.name, file.text)
        if not (self.pressed_again("download") and like):
            st.session_state["download"] = file

    def leave_replay(self) -> None:
        st.session_state.pop("replay", None)

    # -- what the next run of the page does ------------------------------------------------------------

    def redraw(self, fragments: Sequence[str]) -> None:
        """Leave a callback and have these fragments drawn, or the whole page where one is not there (yet)."""
        try:
            st.rerun(fragments)
        except StreamlitAPIException:
            self.ask_redraw()

    def ask_redraw(self) -> None:
        """Have the whole page drawn after this fragment; a rerun in a callback would drop other callbacks."""
        st.session_state["redraw"] = True

    def ask_export(self, what: Export) -> None:
        """Have a file given out when the page is drawn, which is after all callbacks.

        Text that the same click took the focus from may have come along in one message, and then only the
        text's fragment is run.
        """
        st.session_state["export_request"] = what
        self.ask_redraw()

    def export_request(self) -> Export | None:
        """What is to be given out, once; None for nothing."""
        return cast("Export | None", st.session_state.pop("export_request", None))

    def redraw_on_request(self) -> None:
        """Called at the beginning of a fragment."""
        if st.session_state.pop("redraw", False):
            st.rerun()

    def begin_page(self) -> None:
        """Called at the beginning of a whole page, which shows all edits so far."""
        st.session_state.pop("redraw", None)
        st.session_state.pop("last_edit", None)

    def notify(self, kind: NoticeKind, text: str, *, place: str) -> None:
        """Leave a notice for the next run of the page."""
        st.session_state["notice"] = Notice(kind=kind, text=text, place=place)

    def show_notice(self, place: str) -> None:
        """Show the notice left for `place`, once."""
        notice = cast("Notice | None", st.session_state.get("notice"))
        if notice is None or notice.place != place:
            return
        del st.session_state["notice"]
        show = st.error if notice.kind == "error" else st.info
        show(plain(notice.text), icon=":material/error:" if notice.kind == "error" else ":material/info:")


_MARKED = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]()<>#+-.!|~$:&"})

_LINK_STARTS = re.compile(r"https?(?=:)|www(?=\.)|@", re.I)
"""Where Markdown would make a link of bare text; an invisible word joiner behind it keeps it text."""


def plain(text: str, limit: int = 500) -> str:
    """Text as Markdown that shows it letter for letter, on one line, cut to `limit` characters."""
    line = " ".join(text[: limit + 1].split())
    if len(line) > limit:
        line = line[:limit] + "…"
    return _LINK_STARTS.sub("\\g<0>\u2060", line).translate(_MARKED)
