"""A proposed change as a ghost in the graph: both workflows as one drawing, and the parts that can be taken.
Pure.

Knows a diff and the cards of both sides; knows neither who proposed the change nor the browser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from conductor.drawing.network import CardChange, CardContent, title_of
from conductor.planner.parsing.partial_plan import PartialPlan
from conductor.text.word_diff import compare_texts
from conductor.workflow.diff import EdgeChange, PlanDiff, plan_diff
from conductor.workflow.model import Step, Workflow
from conductor.workflow.selection import needed_rows, with_own_settings
from pages.components.view_models.workflow.plan_text import card_change, row_name, row_text, sentences

_WORDS = 1_200
"""Characters of an instruction's difference that the graph shows."""


@dataclass(frozen=True, slots=True)
class Part:
    """A row of the diff that can be taken or left: how its step changes (as `CardContent.change`), the step's
    name, the kinds of change in words, a sentence for each, and the words of an instruction that are the
    "same", "removed" or "added". `needs` are the rows that cannot be left where this one is taken.
    """

    row: int
    change: str
    name: str
    label: str
    lines: tuple[str, ...]
    words: tuple[tuple[str, str], ...]
    needs: tuple[int, ...]


@dataclass(frozen=True)
class Ghost:
    """The drawing of `diff`: a card for each of its rows, in their order.

    One that `grows` is still being written: what is not in it as yet stays, and is not removed. `open` are
    the steps of the new workflow whose access is not written.
    """

    diff: PlanDiff
    grows: bool = False
    open: frozenset[int] = frozenset()

    @cached_property
    def _edges(self) -> dict[tuple[int, int], EdgeChange | None]:
        """The accesses of both workflows as rows, and how each changes, as far as it is known; one that
        cannot be drawn is stated in words by its part.
        """
        rows = self.diff.rows
        unknown = {
            row for row, (_, new) in enumerate(rows) if self.grows and (new is None or new in self.open)
        }
        return {
            edge: None if edge[1] in unknown else change
            for edge, change in self.diff.edges.items()
            if edge[1] not in unknown or change != "added"
        }

    @property
    def edge_changes(self) -> dict[tuple[int, int], EdgeChange]:
        """The accesses that come or go, by (read, reader) in rows."""
        return {edge: change for edge, change in self._edges.items() if change is not None}

    @cached_property
    def workflow(self) -> Workflow:
        """One workflow with the steps of all rows and the accesses of both sides, to be drawn only."""
        steps = []
        for row, (old, new) in enumerate(self.diff.rows):
            step = self.diff.new.steps[new] if new is not None else self.diff.old.steps[old or 0]
            access = tuple(read for read, reader in self._edges if reader == row)
            lineage = step.lineage if old is None else self.diff.old.lineage[old]
            steps.append(step.model_copy(update={"access": access, "lineage": lineage}))
        return Workflow.of(steps)

    def contents(self, old: Sequence[CardContent], new: Sequence[CardContent]) -> tuple[CardContent, ...]:
        """The cards, from those of both workflows: what stays is as it was, what changes as it would be.

        A step is the one that people know; one to come is none yet.
        """
        return tuple(replace(content, inside="", gives="") for content in self._contents(old, new))

    def _contents(self, old: Sequence[CardContent], new: Sequence[CardContent]) -> Iterator[CardContent]:
        for before, after in self.diff.rows:
            if after is None:
                assert before is not None, "a row has a step"
                yield replace(old[before], change="" if self.grows else "removed", steps=(before,))
            elif before is None:
                yield replace(new[after], change="added", steps=())
            elif change := self._change(after):
                badges = (*row_text(self.diff, (before, after)), *new[after].badges)
                yield replace(new[after], change=change, steps=(before,), badges=badges)
            else:
                yield replace(old[before], steps=(before,))

    def _change(self, new: int) -> CardChange:
        pair = self.diff.of_new[new]
        return (
            "" if new in self.open and pair.changes == ("access",) else card_change(self.diff, new, "right")
        )

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What can be taken, in the order of the rows."""
        return tuple(
            self._part(row, old, new)
            for row, (old, new) in enumerate(self.diff.rows)
            if old is None or new is None or not self.diff.of_new[new].same
        )

    def _part(self, row: int, old: int | None, new: int | None) -> Part:
        diff, words = self.diff, tuple[tuple[str, str], ...]()
        needs = tuple(sorted(needed_rows(diff)[row]))
        if old is not None and new is not None:
            pair = diff.of_new[new]
            lines = tuple(sentences(diff, pair))
            if "instruction" in pair.changes:
                before, after = diff.old.steps[old].instruction, diff.new.steps[new].instruction
                pieces = compare_texts(before[:_WORDS], after[:_WORDS]).pieces
                words = tuple((piece.kind, piece.text) for piece in pieces)
            change = card_change(diff, new, "right")
            name = f"{old + 1}. {title_of(diff.new.steps[new].instruction)[0]}"
        else:
            workflow, step = (diff.new, new) if new is not None else (diff.old, old)
            assert step is not None, "a row has a step"
            change = "removed" if new is None else "added"
            name = (
                title_of(workflow.steps[step].instruction)[0] if old is None else row_name(diff, (old, new))
            )
            lines = (f"{workflow.steps[step].worker}: {workflow.steps[step].instruction[:_WORDS]}",)
        return Part(row, change, name, ", ".join(row_text(diff, (old, new))), lines, words, needs)


def growing_ghost(old: Workflow, plan: PartialPlan) -> Ghost | None:
    """What is to become of `old` by the steps of a plan that are written; the last of them may go on, unless
    its access is there. None before the first one.
    """
    steps, waits = [], set[int]()
    for at, step in enumerate(plan.steps):
        ends = at + 1 < len(plan.steps) or step.access is not None
        if step.worker is None or not step.instruction.strip() or not ends:
            break
        if step.access is None:
            waits.add(at)
        steps.append(Step(instruction=step.instruction, worker=step.worker, access=step.access or ()))
    if not steps:
        return None
    new = with_own_settings(old, Workflow.of(steps))
    return Ghost(plan_diff(old, new), grows=True, open=frozenset(waits))
