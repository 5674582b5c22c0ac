"""Edits of the open session's workflow: what the graph, the inspector and the buttons ask for.

Every edit is one new revision with a note. Draws nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conductor.errors import ConductorError, EditConflict, UnknownId, WorkflowError
from conductor.values.output import HandEdit, Output
from conductor.workflow.merge import rebase
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from pages.components.tab.account import author
from pages.components.tab.edit_memory import EditAside
from pages.components.tab.fields import Shown
from pages.components.tab.state import TabState
from storage import Revision
from studio.workbench import Workbench

NEW_INSTRUCTION = "Check the answer that you can see and improve it."


def same_text(typed: str, text: str) -> bool:
    """Whether a text field was left as it was: a browser makes every end of a line a newline."""
    return typed == text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(slots=True)
class Editor:
    """Edits the revision `head` that a page was drawn with.

    The browser may show an older drawing than the server made last. `shown` names the one in which a person
    acted; that drawing's revision is edited then. Two widgets may act in one run of the page: the second edit
    then stands on the first. An edit by another person in between is never overwritten: this one is laid
    aside, and the person decides.
    """

    bench: Workbench
    tab: TabState
    session: str
    head: Revision
    shown: Shown | None = None

    @classmethod
    def of(cls, bench: Workbench, tab: TabState, head: Revision, *, place: str) -> Editor:
        """Edits the revision that the part `place` of the page shows, which ends with its mark."""
        return cls(bench, tab, head.session, head, Shown(tab, head, place=place))

    @property
    def workflow(self) -> Workflow:
        """What is edited."""
        return self.head.workflow

    def commit(
        self,
        edit: Callable[[], Workflow],
        note: str,
        *,
        select: int | None = None,
        restores: str | None = None,
    ) -> bool:
        """Keep the edited workflow, or lay it aside for a decision where another person was quicker. An edit
        that breaks a rule changes nothing and shows why; False only then.

        `select` names the step to select afterwards, for edits that renumber steps; `restores` the revision
        whose workflow this is again.
        """
        try:
            if self.bench.activities.busy(self.session):
                # What is planned or run just now stands on the workflow as it is.
                raise WorkflowError("The session is planning or running; wait for it or stop it, then edit.")
            seen = None if self.shown is None else self.shown.seen
            if seen is not None:
                self.stand_on(self.tab.own_since(seen.revision))
            self._stand_on_own_edits()
            edited = edit()
            if edited != self.workflow and not self._kept(edited, note, select=select, restores=restores):
                return True
        except ConductorError as error:
            self.tab.notify("error", str(error), place="edit")
            return False
        if select is not None:
            self.tab.select(select)
        return True

    def _kept(self, edited: Workflow, note: str, *, select: int | None, restores: str | None) -> bool:
        """Whether the edit is the head now; else it is laid aside."""
        drawn = self.head
        try:
            self._keep(edited, note, restores=restores)
        except EditConflict:
            if not self._kept_on_own(edited, note, restores=restores):
                self.tab.lay_aside(EditAside(self.session, drawn, edited, note, restores))
                return False
        self.tab.note_edit(drawn=drawn.id, made=self.head.id, renumbered=select is not None)
        return True

    def _kept_on_own(self, edited: Workflow, note: str, *, restores: str | None) -> bool:
        """Whether the edit could go on top of what this tab itself changed since the page was drawn."""
        there = self.bench.store.revisions.head(self.session)
        if there is None or not self.tab.made(there.id):
            return False
        merged = edited if restores else rebase(self.workflow, edited, there.workflow).workflow
        if merged is None:
            return False
        self.head = there
        if merged != there.workflow:
            self._keep(merged, note, restores=restores)
        return True

    def _keep(self, edited: Workflow, note: str, *, restores: str | None = None) -> None:
        self.head = self.bench.editing.edit(
            self.session, edited, note=note, head=self.head, author=author(), restores=restores
        )
        self.tab.note_own(self.head.id)

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
        if last is None or self.head.id not in (last.drawn, last.made):
            return
        if last.renumbered:
            raise WorkflowError("The steps were renumbered a moment ago; look at them and edit again.")
        self.head = self.bench.store.revisions.find(last.made)

    def worker(self, step: int, worker: str) -> None:
        """Give a step to another worker."""
        before = self.workflow.steps[step].worker
        self.commit(lambda: self.workflow.with_worker(step, worker), f"Step {step + 1}: {before} to {worker}")

    def keep_worker(self, step: int, worker: str) -> None:
        """Give a step to the worker that won a swap; a pin would keep it from answering, so it goes."""
        self.commit(
            lambda: self.workflow.with_pin(step, None).with_worker(step, worker),
            f"Step {step + 1}: {worker} kept after a swap",
        )

    def instruction(self, step: int, text: str) -> bool:
        """Give a step another instruction; False where it was refused."""
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
            if not self._known(step):
                raise WorkflowError(f"There is no step {step + 1}; this workflow has {len(self.workflow)}.")
            reads = ({*self.workflow.steps[step].access} | {*gain}) - {*lose}
            workflow = self.workflow.with_access(step, reads)
            return workflow if previous is None else workflow.with_sight_of_previous(step, previous)

        self.commit(edited, f"Step {step + 1}: access")

    def pin(self, step: int, output: Output | None) -> bool:
        """Let an output of a step stand whatever changes above it, or let it go; False where refused."""
        note = "unpinned" if output is None else "pinned"
        return self.commit(lambda: self.workflow.with_pin(step, output), f"Step {step + 1}: output {note}")

    def write(self, step: int, text: str, *, over: Output | None) -> bool:
        """Pin a text that a person wrote in place of the output `over`; False where it was refused. The same
        text changes nothing.
        """
        if over is not None and same_text(text, over.text):
            self.tab.notify("info", "The output is as it was; nothing was changed.", place="edit")
            return True

        def written() -> Workflow:
            if not text.strip():
                raise WorkflowError(
                    "An output by hand needs at least one character; cancel to keep the old one."
                )
            output = over or self.bench.running.unwritten(self.session, step)
            edit = HandEdit(at=time.time(), by=author() or "a person")
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
        """Remove a step."""
        last = len(self.workflow) - 2
        self.commit(
            lambda: self.workflow.remove_step(step),
            f"Step {step + 1} removed",
            select=max(0, min(step, last)),
        )

    def move(self, step: int, to: int) -> None:
        """Move a step to another place."""
        self.commit(
            lambda: self.workflow.move_step(step, to), f"Step {step + 1} moved to {to + 1}", select=to
        )

    def restore(self, revision: Revision) -> bool:
        """Make an earlier revision's workflow the current one again, in a new revision."""
        return self.commit(
            lambda: revision.workflow, f"Revision {revision.number} restored", restores=revision.id
        )

    def from_graph(self, asked: Mapping[str, Any]) -> None:
        """Carry out what the graph asks; it comes from the browser, so everything is checked again."""
        self.stand_on(asked.get("revision"))
        match asked:
            case {"op": "add_access", "from": int(read), "to": int(step)} if self._known(step):
                self.access(step, gain=[read])
            case {"op": "remove_access", "from": int(read), "to": int(step)} if self._known(step):
                self.access(step, lose=[read])
            case {"op": "gate", "step": int(step), "gate": bool(gate)}:
                self.gate(step, gate)
            case {"op": "remove_step", "step": int(step)}:
                self.remove(step)
            case {"op": "add_step", "step": int(step)} if self._known(step):
                self.add(step)
            case {"op": "add_step", "step": None}:
                self.add(None)

    def _known(self, step: int) -> bool:
        return 0 <= step < len(self.workflow)


def undo(bench: Workbench, tab: TabState, session: str, shown: Shown | None = None) -> None:
    """Go back one edit from the revision that the browser has `shown` (None: from any); what another person
    made since is not undone.
    """
    _move_head(bench, tab, session, shown, move=bench.store.revisions.undo)


def redo(bench: Workbench, tab: TabState, session: str, shown: Shown | None = None) -> None:
    """Go forward one edit; `shown` as in `undo`."""
    _move_head(bench, tab, session, shown, move=bench.store.revisions.redo)


def _move_head(
    bench: Workbench,
    tab: TabState,
    session: str,
    shown: Shown | None,
    *,
    move: Callable[..., Revision | None],
) -> None:
    leaves = None
    if shown is not None:
        leaves = shown.revision if shown.seen is None else shown.seen.revision
    try:
        head = None if leaves is None else bench.store.revisions.head(session)
        if head is not None and tab.made(head.id):
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
