"""Edits of the open session's workflow: what the graph, the inspector and the buttons ask for.

Every edit is one new revision with a note. Knows the workbench and the tab, draws nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conductor.errors import ConductorError, WorkflowError
from conductor.output import HandEdit, Output
from conductor.workflow import Step, Workflow
from pages.components.state import TabState
from storage import Revision
from storage.workbench import Workbench

AUTHOR = "CONDUCTOR_AUTHOR"
"""Names the environment variable with who edits; without it outputs are edited by "a person"."""

NEW_INSTRUCTION = "Check the answer that you can see and improve it."


@dataclass(slots=True)
class Editor:
    """Edits the revision `head` that a page was drawn with.

    Two widgets may act in one run of the page: the second edit then stands on the first. An edit by
    somebody else in between is never overwritten; the store refuses, and the notice says so.
    """

    bench: Workbench
    tab: TabState
    session: str
    head: Revision

    @property
    def workflow(self) -> Workflow:
        """What is edited."""
        return self.head.workflow

    def commit(self, edit: Callable[[], Workflow], note: str, *, select: int | None = None) -> bool:
        """Keep the edited workflow; an edit that breaks a rule changes nothing and says why.

        `select` names the step to select afterwards, for edits that renumber steps.
        """
        try:
            self._refuse_while_busy()
            self._stand_on_own_edits()
            edited = edit()
            if edited != self.workflow:
                drawn, self.head = self.head, self.bench.edit(self.session, edited, note=note, head=self.head)
                self.tab.note_edit(drawn=drawn.id, made=self.head.id, renumbered=select is not None)
        except ConductorError as error:
            self.tab.notify("error", str(error), place="edit")
            return False
        if select is not None:
            self.tab.select(select)
        return True

    def _refuse_while_busy(self) -> None:
        """What is planned or run just now stands on the workflow as it is."""
        if self.bench.conducting.busy(self.session):
            raise WorkflowError("The session is planning or running; wait for it or stop it, then edit.")

    def _stand_on_own_edits(self) -> None:
        """Take over what this tab's other widgets changed since the page was drawn."""
        last = self.tab.last_edit
        if last is None or self.head.id not in (last.drawn, last.made):
            return
        if last.renumbered:
            raise WorkflowError("The steps were renumbered a moment ago; look at them and edit again.")
        self.head = self.bench.store.revision(last.made)

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

    def access(self, step: int, reads: Iterable[int]) -> None:
        """Let a step read exactly these."""
        self.commit(lambda: self.workflow.with_access(step, reads), f"Step {step + 1}: access")

    def pin(self, step: int, output: Output | None) -> bool:
        """Let an output of a step stand whatever changes above it, or let it go; False where refused."""
        note = "unpinned" if output is None else "pinned"
        return self.commit(lambda: self.workflow.with_pin(step, output), f"Step {step + 1}: output {note}")

    def write(self, step: int, text: str, *, over: Output | None) -> bool:
        """Pin a text that a person wrote in place of the output `over`; False where it was refused."""

        def written() -> Workflow:
            if not text.strip():
                raise WorkflowError(
                    "An output by hand needs at least one character; cancel to keep the old one."
                )
            output = over or self.bench.unwritten(self.session, step)
            edit = HandEdit(at=time.time(), by=os.environ.get(AUTHOR) or "a person")
            return self.workflow.with_pin(step, output.by_hand(text, edit=edit))

        return self.commit(written, f"Step {step + 1}: output by hand")

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

    def from_graph(self, asked: Mapping[str, Any]) -> None:
        """Carry out what the graph asks; it comes from the browser, so everything is checked again."""
        match asked:
            case {"op": "add_access", "from": int(read), "to": int(step)} if self._known(step):
                self.access(step, {*self.workflow.steps[step].access, read})
            case {"op": "remove_access", "from": int(read), "to": int(step)} if self._known(step):
                self.access(step, {*self.workflow.steps[step].access} - {read})
            case {"op": "remove_step", "step": int(step)}:
                self.remove(step)
            case {"op": "add_step", "step": int(step)} if self._known(step):
                self.add(step)
            case {"op": "add_step", "step": None}:
                self.add(None)

    def _known(self, step: int) -> bool:
        return 0 <= step < len(self.workflow)


def undo(bench: Workbench, tab: TabState, session: str) -> None:
    """Go back one edit."""
    _step_through(tab, lambda: bench.store.undo(session))


def redo(bench: Workbench, tab: TabState, session: str) -> None:
    """Go forward one edit."""
    _step_through(tab, lambda: bench.store.redo(session))


def _step_through(tab: TabState, move: Callable[[], Revision | None]) -> None:
    try:
        there = move()
    except ConductorError as error:
        tab.notify("error", str(error), place="run")
        return
    if there is not None and tab.selected is not None and tab.selected >= len(there.workflow):
        tab.select(None)
