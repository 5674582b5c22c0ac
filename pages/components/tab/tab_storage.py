"""Outputs that a person writes by hand and has not saved; and what the browser's tab stores: these drafts and
undecided edits.

It survives a reload and a restart of the server. What comes back is untrusted: every part is checked, and
what is wrong is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import streamlit as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conductor.errors import UnknownId, WorkflowError
from conductor.workflow.diff import plan_diff
from conductor.workflow.model import Workflow
from pages.components.streamlit_patches.component import component, trigger_value
from pages.components.tab.edit_memory import EditAside
from pages.components.tab.state import TabState
from storage import Revision
from studio.workbench import Workbench

KEY = "tab-storage"

_component = component("conductor_tab_storage", __file__, js="tab_storage.js", isolated=False)


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OutputDraft(_Stored):
    """What is to become the output of `step` (0-based) of `revision`; `text` is None until it is changed."""

    revision: str
    step: int = Field(ge=0)
    text: str | None = None


class OutputDrafts:
    """The drafts of a session, seen from the revision `head`."""

    def __init__(self, bench: Workbench, head: Revision) -> None:
        self._bench, self._head = bench, head
        self._key = f"output-drafts-{head.session}"

    def of(self, step: int) -> OutputDraft | None:
        """The draft of a step, or None if its output is not being written."""
        return next((draft for draft in self._all if self._place(draft) == step), None)

    @property
    def unsaved(self) -> tuple[int, ...]:
        """The steps, ascending, whose drafts hold a text that is not saved."""
        places = {self._place(draft) for draft in self.unsaved_drafts}
        return tuple(sorted(place for place in places if place is not None))

    @property
    def unsaved_drafts(self) -> tuple[OutputDraft, ...]:
        """The drafts that hold a text that is not saved."""
        return tuple(draft for draft in self._all if draft.text is not None)

    def restore(self, drafts: Iterable[OutputDraft]) -> None:
        """Take over drafts of an earlier process; those of another session's revisions are left out."""
        places = {(draft.revision, draft.step) for draft in self._all}
        self._keep((*self._all, *(d for d in drafts if (d.revision, d.step) not in places and self._own(d))))

    def begin(self, step: int) -> None:
        """Begin to write the output of a step."""
        if self.of(step) is None:
            self._keep((*self._all, OutputDraft(revision=self._head.id, step=step)))

    def write(self, step: int, text: str | None) -> None:
        """Have the draft of a step hold this text (None: the output as it is). Nothing without a draft."""
        old = self.of(step)
        self._keep(
            tuple(draft.model_copy(update={"text": text}) if draft == old else draft for draft in self._all)
        )

    def end(self, step: int) -> None:
        """Forget the draft of a step."""
        old = self.of(step)
        self._keep(tuple(draft for draft in self._all if draft != old))

    def _own(self, draft: OutputDraft) -> bool:
        try:
            origin = self._bench.store.revisions.find(draft.revision)
        except UnknownId:
            return False
        return origin.session == self._head.session and draft.step < len(origin.workflow)

    def _place(self, draft: OutputDraft) -> int | None:
        """Where the draft's step stands now, or None if it was removed."""
        if draft.revision == self._head.id:
            return draft.step
        try:
            origin = self._bench.store.revisions.find(draft.revision).workflow
        except UnknownId:
            return None
        return {pair.old: pair.new for pair in plan_diff(origin, self._head.workflow).pairs}.get(draft.step)

    @property
    def _all(self) -> tuple[OutputDraft, ...]:
        return cast("tuple[OutputDraft, ...]", st.session_state.get(self._key, ()))

    def _keep(self, drafts: tuple[OutputDraft, ...]) -> None:
        st.session_state[self._key] = drafts


class _Edit(_Stored):
    id: str = Field(max_length=64)
    edited: str
    workflow: Workflow
    note: str = Field(max_length=500)
    restores: str | None = None


class _Contents(_Stored):
    edits: tuple[_Edit, ...] = ()
    drafts: tuple[OutputDraft, ...] = ()


def tab_storage(bench: Workbench, tab: TabState, head: Revision) -> None:
    """Write what the tab remembers of the session to the browser; read it where this process has nothing."""
    session = head.session
    read_key = f"{KEY}-known-{session}"
    drafts = OutputDrafts(bench, head)

    def load() -> None:
        if not st.session_state.get(read_key):
            st.session_state[read_key] = True
            restore(bench, tab, head, trigger_value(KEY, "found"))
        tab.ask_redraw()

    _component(
        key=KEY,
        data={
            "session": session,
            "written": written(tab.edits_aside(session), drafts.unsaved_drafts),
            "reads": not st.session_state.get(read_key, False),
        },
        height=1,
        on_found_change=load,
    )


def written(edits: tuple[EditAside, ...], drafts: tuple[OutputDraft, ...]) -> str:
    """Both as text; "" where there is nothing."""
    if not edits and not drafts:
        return ""
    contents = _Contents(
        edits=tuple(
            _Edit(id=e.id, edited=e.edited.id, workflow=e.workflow, note=e.note, restores=e.restores)
            for e in edits
        ),
        drafts=drafts,
    )
    return contents.model_dump_json()


def restore(bench: Workbench, tab: TabState, head: Revision, text: object) -> None:
    """Take over what `written` made of an earlier process's edits and drafts of the session."""
    try:
        contents = _Contents.model_validate_json(text if isinstance(text, str) else "")
    except (ValidationError, WorkflowError):
        return
    there = {edit.id for edit in tab.edits_aside(head.session)}
    for edit in _edits(bench, contents, head.session):
        if edit.id not in there:
            tab.lay_aside(edit)
    OutputDrafts(bench, head).restore(contents.drafts)


def _edits(bench: Workbench, contents: _Contents, session: str) -> Iterator[EditAside]:
    """The edits that are of this session."""
    for edit in contents.edits:
        try:
            edited = bench.store.revisions.find(edit.edited)
        except UnknownId:
            continue
        if edited.session == session:
            yield EditAside(session, edited, edit.workflow, edit.note, edit.restores, edit.id)
