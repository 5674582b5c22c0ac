"""People's notes on the texts of a step: marked in the text, listed below it, written on selected words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from conductor.text.formatting import quantity
from conductor.text.quotation import located
from conductor.values.note import NotePart
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import clock
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, expander
from pages.components.widgets.notable import Marked, Notable, SearchMatch, Written
from pages.components.workbench.question.draft import put_wish
from pages.components.workbench.step.request import Sent
from storage.records import NoteRecord
from studio.sessions.notes import NotePlace
from studio.workbench import Workbench

_DELETED = "note-deleted"


@dataclass(frozen=True, slots=True)
class StepNotes:
    """The notes on one text of the step `step` (as the page counts), as it is shown: `source` at `place`."""

    bench: Workbench
    tab: TabState
    session: str
    place: NotePlace
    source: str
    step: int
    notes: tuple[NoteRecord, ...]

    def notable(self, *, shows_match: bool = True) -> Notable | None:
        """What the text component marks and offers, and where `shows_match` the words that were looked for;
        nothing before an audience.
        """
        if self.tab.presents:
            return None
        length = max(1, len(self.source))
        match = self.tab.search_match
        here = shows_match and match is not None and (match.step, match.part) == (self.step, self.place.part)
        return Notable(
            match=SearchMatch(match.words, match.near, match.moment) if match is not None and here else None,
            quotes=[Marked(note.quote, (note.start or 0) / length) for note in self.notes if note.quote],
            write=None if self.tab.watched else self._write,
            asks_name=self.bench.asker.person is None,
        )

    def draw(self, where: str = "step") -> None:
        """The notes below the text; `where` names the place that shows them."""
        if self.tab.presents:
            return
        if not self.tab.watched:
            self._restorable(where)
        for note in self.notes:
            note_view(
                self.bench, self.tab, note, where=where, on=_lost_place(note, self.source), step=self.step
            )

    def _restorable(self, where: str) -> None:
        """A way back for the note on this text that was deleted last."""
        self.tab.show_notice("notes")
        gone: NoteRecord | None = st.session_state.get(_DELETED)
        text = (self.session, self.place.part, self.place.step)
        if gone is None or (gone.session, gone.part, gone.step) != text:
            return

        def restore() -> None:
            self.bench.store.notes.restore(gone.id)
            del st.session_state[_DELETED]

        action(
            "Restore the deleted note",
            "undo",
            restore,
            key=f"note-restore-{where}-{gone.id}",
            type="tertiary",
            place="notes",
        )

    def _write(self, written: Written) -> None:
        self.bench.notes.write(
            self.session,
            written.text,
            place=self.place,
            source=self.source,
            quote=written.quote,
            near=round(written.near * len(self.source)),
            author=self.bench.asker.person or written.author,
        )
        self.tab.ask_redraw()


def step_notes(
    bench: Workbench,
    tab: TabState,
    view: SessionView,
    part: NotePart,
    source: str,
    *,
    step: int,
    sent: Sent | None = None,
) -> StepNotes | None:
    """The notes on the text `part` of a step of the workflow shown, which is `source`; for a request the one
    that was `sent`. None if there is no such text, or it is still being written.
    """
    head = view.head
    if head is None or not source or view.live:
        return None
    if sent is not None:
        at, revision, run = sent.step, sent.run.revision, sent.run.id
    elif view.as_run and view.run is not None and part != "instruction":
        at, revision, run = step, view.run.revision, view.run.id
    else:
        at, revision, run = step, head.id, None
    notes = bench.notes.by_step(view.session.id, head.workflow).get(step, ())
    return StepNotes(
        bench,
        tab,
        view.session.id,
        NotePlace(part=part, step=at, revision=revision, run=run),
        source,
        step,
        tuple(note for note in notes if note.part == part),
    )


def loose_notes(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the notes on the question, and those on steps that the workflow no longer has."""
    if view.head is None or tab.presents:
        return
    notes = bench.notes.by_step(view.session.id, view.head.workflow).get(None, ())
    if notes and (box := expander(quantity(len(notes), "other note"), "sticky_note_2", key="loose-notes")):
        with box:
            for note in notes:
                gone = f"on the {note.part} of a step that is no longer there"
                on = "on the question" if note.step is None else gone
                note_view(bench, tab, note, where="loose", on=on)


def note_view(
    bench: Workbench, tab: TabState, note: NoteRecord, *, where: str, on: str = "", step: int | None = None
) -> None:
    """One note: the words that it is about, itself, who wrote it when, and what can be done with it. It is on
    the `step` now.
    """

    def delete() -> None:
        bench.store.notes.delete(note.id)
        st.session_state[_DELETED] = note

    with st.container(key=f"note-{where}-{note.id}", gap=None):
        if note.quote:
            st.caption(f"“{plain(note.quote, limit=300)}”")
        for line in _lines(note.text):
            st.markdown(plain(line, limit=len(line)))
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            facts = [note.author or "unknown writer", clock(note.created_at), *([on] if on else [])]
            st.caption(plain(" · ".join(facts), limit=300), width="content")
            if not tab.watched:
                action(
                    "Ask for it",
                    None,
                    lambda: put_wish(tab, note.session, _wish(note, step)),
                    key=f"note-ask-{where}-{note.id}",
                    help="Put it into the box as a change of the plan",
                    type="tertiary",
                )
                action(
                    "Delete",
                    None,
                    delete,
                    key=f"note-delete-{where}-{note.id}",
                    help="Delete this note",
                    type="tertiary",
                    place="notes",
                )


def _wish(note: NoteRecord, step: int | None) -> str:
    """The note as a change that a Conductor is asked for."""
    about = [] if step is None else [f"step {step + 1}"]
    about += [f"“{note.quote}”"] if note.quote else []
    text = " ".join(_lines(note.text))
    return f"About {', '.join(about)}: {text}" if about else text


def _lines(text: str) -> Sequence[str]:
    return [line for line in text.splitlines() if line.strip()]


def _lost_place(note: NoteRecord, source: str) -> str:
    """Where the words are, when they are not in the text shown."""
    if not note.quote or note.start is None or located(source, note.quote) is not None:
        return ""
    return f"its words are no longer in this {note.part}"
