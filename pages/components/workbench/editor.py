"""Edits of the open session's workflow: what the graph, the inspector and the buttons ask for.

Every edit is one new revision with a note. Draws nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conductor.errors import ConductorError, UnknownId, WorkflowError
from conductor.values.output import HandEdit, Output
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from conductor.workflow.step_tools import tools_words
from pages.components.tab.edit_memory import EditAside
from pages.components.tab.page_part import PagePart
from pages.components.tab.state import TabState
from storage import Revision
from studio.workbench import Workbench
from studio.workbench.editing import EditEnd

NEW_INSTRUCTION = "Check the answer that you can see and improve it."


def same_text(typed: str, text: str) -> bool:
    """Whether a text field was left as it was: a browser makes every end of a line a newline."""
    return typed == text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(slots=True)
class Editor:
    """Edits the revision `head` that a page was drawn with.

    The browser may show an older drawing than the server made last. `part` names the one in which a person
    acted; that drawing's revision is edited then. Two widgets may act in one run of the page: the second edit
    then stands on the first. An edit by another person in between is never overwritten: this one is laid
    aside, and the person decides.
    """

    bench: Workbench
    tab: TabState
    session: str
    head: Revision
    part: PagePart | None = None

    @classmethod
    def of(cls, bench: Workbench, tab: TabState, head: Revision, *, place: str) -> Editor:
        """Edits the revision that the part `place` of the page shows, which ends with its mark."""
        return cls(bench, tab, head.session, head, PagePart(tab, head, place=place))

    @property
    def workflow(self) -> Workflow:
        return self.head.workflow

    def commit(
        self,
        edit: Callable[[], Workflow],
        note: str,
        *,
        select: int | None = None,
        restores: str | None = None,
    ) -> EditEnd:
        """Store the edited workflow, or lay it aside for a decision where another person was quicker. An edit
        that breaks a rule changes nothing and shows why.

        `select` names the step to select afterwards, for edits that renumber steps; `restores` the revision
        whose workflow this is again.
        """
        try:
            if self.bench.activities.busy(self.session):
                # What is planned or run just now stands on the workflow as it is.
                raise WorkflowError("To edit, wait for the session to finish, or stop it.")
            seen = None if self.part is None else self.part.seen
            if seen is not None:
                self.stand_on(self.tab.own_since(seen.revision))
            self._stand_on_own_edits()
            edited, base = edit(), self.head
            if edited != self.workflow:
                if restores is None:
                    edited = self.bench.editing.release(self.session, edited, before=self.workflow)
                end, self.head = self.bench.editing.edit_over_own(
                    self.session,
                    edited,
                    note=note,
                    head=base,
                    is_own=self.tab.is_own_head,
                    restores=restores,
                )
                if end is EditEnd.CONFLICT:
                    self.tab.lay_aside(EditAside(self.session, base, edited, note, restores))
                    return end
                self.tab.note_edit(before=base.id, after=self.head.id, renumbered=select is not None)
        except ConductorError as error:
            self.tab.notify("error", str(error), place="edit")
            return EditEnd.REFUSED
        if select is not None:
            self.tab.select(select)
        return EditEnd.APPLIED

    def stand_on(self, revision: object) -> None:
        """Edit the revision with this id, which the browser named as the one it shows; one that is not of
        this session is ignored.
        """
        if not isinstance(revision, str) or revision == self.head.id:
            return
        try:
            named = self.bench.store.revisions.find(revision)
        except UnknownId:
            return
        if named.session == self.session:
            self.head = named

    def _stand_on_own_edits(self) -> None:
        """Take over what this tab's other widgets changed since the page was drawn."""
        last = self.tab.last_edit
        if last is None or self.head.id not in (last.before, last.after):
            return
        if last.renumbered:
            raise WorkflowError("The steps were just renumbered. Look at them and edit again.")
        self.head = self.bench.store.revisions.find(last.after)

    def worker(self, step: int, worker: str) -> None:
        before = self.workflow.steps[step].worker
        self.commit(lambda: self.workflow.with_worker(step, worker), f"Step {step + 1}: {before} to {worker}")

    def keep_worker(self, step: int, worker: str) -> None:
        """Give a step to the worker that won a swap; a pin would keep it from answering, so it goes."""
        self.commit(
            lambda: self.workflow.with_pin(step, None).with_worker(step, worker),
            f"Step {step + 1}: {worker} kept after a swap",
        )

    def instruction(self, step: int, text: str) -> EditEnd:
        return self.commit(
            lambda: self.workflow.with_instruction(step, text), f"Step {step + 1}: instruction"
        )

    def access(
        self, step: int, *, gain: Iterable[int] = (), lose: Iterable[int] = (), previous: bool | None = None
    ) -> None:
        """Let a step read these as well, and those no longer; `previous`: whether it is to see the round
        before. What else it reads stays.
        """

        def edited() -> Workflow:
            if not self._has_step(step):
                raise WorkflowError(f"There is no step {step + 1}; this workflow has {len(self.workflow)}.")
            reads = ({*self.workflow.steps[step].access} | {*gain}) - {*lose}
            workflow = self.workflow.with_access(step, reads)
            return workflow if previous is None else workflow.with_sight_of_previous(step, previous)

        self.commit(edited, f"Step {step + 1}: access")

    def tools(self, step: int, tools: Collection[str] | None) -> EditEnd:
        """Let a step call just these tools of its worker; None: all of them."""
        return self.commit(
            lambda: self.workflow.with_tools(step, tools),
            f"Step {step + 1}: {tools_words(None if tools is None else sorted(tools))}",
        )

    def pin(self, step: int, output: Output | None) -> EditEnd:
        """Let an output of a step stand whatever changes above it, or let it go."""
        note = "unpinned" if output is None else "pinned"
        return self.commit(lambda: self.workflow.with_pin(step, output), f"Step {step + 1}: output {note}")

    def write(self, step: int, text: str, *, over: Output | None) -> EditEnd:
        """Pin a text that a person wrote in place of the output `over`. The same text changes nothing."""
        if over is not None and same_text(text, over.text):
            self.tab.notify("info", "The output is the same; nothing was changed.", place="edit")
            return EditEnd.APPLIED

        def written() -> Workflow:
            if not text.strip():
                raise WorkflowError("An output needs at least one character. Cancel to keep the old one.")
            output = over or self.bench.running.unwritten(self.session, step)
            edit = HandEdit(at=time.time(), by=self.bench.asker.person or "a person")
            return self.workflow.with_pin(step, output.by_hand(text, edit=edit))

        return self.commit(written, f"Step {step + 1}: output by hand")

    def gate(self, step: int, gate: bool) -> None:
        """Let a run wait before a step, or not."""
        note = f"Step {step + 1}: gate" if gate else f"Step {step + 1}: no gate"
        self.commit(lambda: self.workflow.with_gate(step, gate), note)

    def on_failure(self, step: int, rule: OnFailure) -> None:
        """Give a step a rule for failures; one that does nothing takes it away."""
        self.commit(
            lambda: self.workflow.with_on_failure(step, rule), f"Step {step + 1}: if it fails, {rule.words}"
        )

    def add(self, after: int | None) -> None:
        """Insert a step after `after` that reads it (at the end, reading the final step, when None)."""
        at = len(self.workflow) if after is None else after + 1
        neighbour = self.workflow.steps[at - 1]
        step = Step(instruction=NEW_INSTRUCTION, worker=neighbour.worker, access=(at - 1,))
        self.commit(lambda: self.workflow.add_step(step, at), f"Step {at + 1} added", select=at)

    def remove(self, step: int) -> None:
        last = len(self.workflow) - 2
        self.commit(
            lambda: self.workflow.remove_step(step),
            f"Step {step + 1} removed",
            select=max(0, min(step, last)),
        )

    def move(self, step: int, to: int) -> None:
        self.commit(
            lambda: self.workflow.move_step(step, to), f"Step {step + 1} moved to {to + 1}", select=to
        )

    def restore(self, revision: Revision) -> EditEnd:
        """Make an earlier revision's workflow the current one again, in a new revision."""
        return self.commit(
            lambda: revision.workflow, f"Revision {revision.number} restored", restores=revision.id
        )

    def from_graph(self, request: Mapping[str, Any]) -> None:
        """Carry out what the graph asks; it comes from the browser, so everything is checked again."""
        self.stand_on(request.get("revision"))
        match request:
            case {"op": "add_access", "from": int(read), "to": int(step)} if self._has_step(step):
                self.access(step, gain=[read])
            case {"op": "remove_access", "from": int(read), "to": int(step)} if self._has_step(step):
                self.access(step, lose=[read])
            case {"op": "gate", "step": int(step), "gate": bool(gate)}:
                self.gate(step, gate)
            case {"op": "remove_step", "step": int(step)}:
                self.remove(step)
            case {"op": "add_step", "step": int(step)} if self._has_step(step):
                self.add(step)
            case {"op": "add_step", "step": None}:
                self.add(None)

    def _has_step(self, step: int) -> bool:
        return 0 <= step < len(self.workflow)


def undo(bench: Workbench, tab: TabState, session: str, part: PagePart | None = None) -> None:
    """Go back one edit from the revision whose `part` the browser shows (None: any); what another
    person made since is not undone.
    """
    _move_head(bench, tab, session, part, move=bench.store.revisions.undo)


def redo(bench: Workbench, tab: TabState, session: str, part: PagePart | None = None) -> None:
    """Go forward one edit; `part` as in `undo`."""
    _move_head(bench, tab, session, part, move=bench.store.revisions.redo)


def _move_head(
    bench: Workbench,
    tab: TabState,
    session: str,
    part: PagePart | None,
    *,
    move: Callable[..., Revision | None],
) -> None:
    leaves = None
    if part is not None:
        leaves = part.revision if part.seen is None else part.seen.revision
    try:
        head = None if leaves is None else bench.store.revisions.head(session)
        if head is not None and tab.is_own_head(head.id):
            # What this tab made of the revision shown is left with it.
            leaves = head.id
        there = move(session, expected=leaves)
    except ConductorError as error:
        tab.notify("error", str(error), place="run")
        return
    if there is None:
        return
    tab.note_own(there.id, left=leaves, renumbered=True)
    if tab.selected is not None and tab.selected >= len(there.workflow):
        tab.select(None)
