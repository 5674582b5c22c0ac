"""Keeps in the browser's tab what a person made there and the store does not hold: undecided edits, drafts.

It survives a reload and a restart of the server. What comes back is untrusted: every part is checked, and
what is wrong is left out. Knows the tab's memory and the store.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import streamlit as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conductor.errors import UnknownId, WorkflowError
from conductor.workflow.model import Workflow
from pages.components.tab.edit_memory import EditAside
from pages.components.tab.output_drafts import OutputDraft, OutputDrafts
from pages.components.tab.state import TabState
from storage import Revision
from studio.workbench import Workbench

KEY = "tab-storage"

_component = st.components.v2.component(
    "conductor_tab_storage",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Edit(_Kept):
    id: str = Field(max_length=64)
    edited: str
    workflow: Workflow
    note: str = Field(max_length=500)
    restores: str | None = None


class _Draft(_Kept):
    revision: str
    step: int = Field(ge=0)
    text: str | None = None


class _Contents(_Kept):
    edits: tuple[_Edit, ...] = ()
    drafts: tuple[_Draft, ...] = ()


def tab_storage(bench: Workbench, tab: TabState, head: Revision) -> None:
    """Write what the tab remembers of the session to the browser; read it where this process has nothing."""
    session = head.session
    known = f"{KEY}-known-{session}"
    drafts = OutputDrafts(bench, head)

    def found() -> None:
        if not st.session_state.get(known):
            st.session_state[known] = True
            restore(bench, tab, head, st.session_state[KEY].found)
        tab.ask_redraw()

    _component(
        key=KEY,
        data={
            "session": session,
            "written": written(tab.edits_aside(session), drafts.unsaved_drafts),
            "reads": not st.session_state.get(known, False),
        },
        height=1,
        on_found_change=found,
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
        drafts=tuple(_Draft(revision=d.revision, step=d.step, text=d.text) for d in drafts),
    )
    return contents.model_dump_json()


def restore(bench: Workbench, tab: TabState, head: Revision, found: object) -> None:
    """Take over what `written` made of an earlier process's edits and drafts of the session."""
    try:
        contents = _Contents.model_validate_json(found if isinstance(found, str) else "")
    except (ValidationError, WorkflowError):
        return
    there = {edit.id for edit in tab.edits_aside(head.session)}
    for edit in _edits(bench, contents, head.session):
        if edit.id not in there:
            tab.lay_aside(edit)
    drafts = OutputDrafts(bench, head)
    drafts.restore(OutputDraft(d.revision, d.step, d.text) for d in contents.drafts)


def _edits(bench: Workbench, contents: _Contents, session: str) -> Iterator[EditAside]:
    """The edits that are of this session."""
    for edit in contents.edits:
        try:
            edited = bench.store.revisions.find(edit.edited)
        except UnknownId:
            continue
        if edited.session == session:
            yield EditAside(session, edited, edit.workflow, edit.note, edit.restores, edit.id)
