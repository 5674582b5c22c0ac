"""Outputs that a person writes by hand and has not saved: one for each step, kept in the tab.

A draft names its step in the revision in which it was begun, so that it follows the step when steps are
moved, added and removed. Knows workflows and the tab's memory; draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

import streamlit as st

from conductor.errors import UnknownId
from conductor.workflow.diff import plan_diff
from storage import Revision
from studio.workbench import Workbench


@dataclass(frozen=True, slots=True)
class OutputDraft:
    """What is to become the output of `step` (0-based) of `revision`; `text` is None until it is changed."""

    revision: str
    step: int
    text: str | None = None


class OutputDrafts:
    """The drafts of a session, seen from the revision `head`."""

    def __init__(self, bench: Workbench, head: Revision) -> None:
        self._bench, self._head = bench, head
        self._key = f"output-drafts-{head.session}"

    def of(self, step: int) -> OutputDraft | None:
        """The draft of a step, None where its output is not being written."""
        return next((draft for draft in self._all if self._place(draft) == step), None)

    @property
    def unsaved(self) -> tuple[int, ...]:
        """The steps, ascending, whose drafts hold a text that is not saved."""
        places = {self._place(draft) for draft in self._all if draft.text is not None}
        return tuple(sorted(place for place in places if place is not None))

    @property
    def unsaved_drafts(self) -> tuple[OutputDraft, ...]:
        """The drafts that hold a text that is not saved."""
        return tuple(draft for draft in self._all if draft.text is not None)

    def restore(self, drafts: Iterable[OutputDraft]) -> None:
        """Take over drafts of an earlier process; those of another session's revisions are left out."""
        known = {(draft.revision, draft.step) for draft in self._all}
        self._keep((*self._all, *(d for d in drafts if (d.revision, d.step) not in known and self._own(d))))

    def begin(self, step: int) -> None:
        """Begin to write the output of a step."""
        if self.of(step) is None:
            self._keep((*self._all, OutputDraft(self._head.id, step)))

    def write(self, step: int, text: str | None) -> None:
        """Have the draft of a step hold this text (None: the output as it is). Nothing without a draft."""
        known = self.of(step)
        self._keep(tuple(replace(draft, text=text) if draft == known else draft for draft in self._all))

    def end(self, step: int) -> None:
        """Forget the draft of a step."""
        known = self.of(step)
        self._keep(tuple(draft for draft in self._all if draft != known))

    def _own(self, draft: OutputDraft) -> bool:
        try:
            begun = self._bench.store.revisions.find(draft.revision)
        except UnknownId:
            return False
        return begun.session == self._head.session and draft.step < len(begun.workflow)

    def _place(self, draft: OutputDraft) -> int | None:
        """Where the draft's step stands now, None where it was removed."""
        if draft.revision == self._head.id:
            return draft.step
        try:
            begun = self._bench.store.revisions.find(draft.revision).workflow
        except UnknownId:
            return None
        return {pair.old: pair.new for pair in plan_diff(begun, self._head.workflow).pairs}.get(draft.step)

    @property
    def _all(self) -> tuple[OutputDraft, ...]:
        return cast("tuple[OutputDraft, ...]", st.session_state.get(self._key, ()))

    def _keep(self, drafts: tuple[OutputDraft, ...]) -> None:
        st.session_state[self._key] = drafts
