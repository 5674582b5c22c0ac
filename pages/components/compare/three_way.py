"""A session's workflow as planned, as edited and as run, in three columns with the steps side by side.

The rows are pure values; drawing them is one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from conductor.drawing.network import title_of
from conductor.text.formatting import quantity
from conductor.text.word_diff import compare_texts
from conductor.workflow.diff import PlanDiff, StepPair, ThreeWay, three_way
from conductor.workflow.file import Origin
from conductor.workflow.model import Step, Workflow
from pages.components.compare.steps import step_status
from pages.components.tab.state import plain
from pages.components.view_models.comparable import ThreeSides
from pages.components.view_models.run_text import run_label
from pages.components.view_models.workflow.card_content import step_name
from pages.components.view_models.workflow.plan_text import CHANGE_NAMES, headline, sentences
from pages.components.widgets.step_result import step_facts
from pages.components.widgets.text_block import Stretch
from pages.components.widgets.text_diff import diff_notes, stretches
from pages.components.widgets.text_table import Cell, Mark, Row, text_table

_LONGEST = 2_000
"""Characters of an instruction that a cell shows; the rest is on the workbench."""

_CONTEXT = 120

_HEADS: Mapping[Origin, str] = {"conductor": "Planned", "import": "Imported", "human": "Written"}
_SINCE: Mapping[Origin, str] = {"conductor": "plan", "import": "import", "human": "first version"}


def three_way_view(sides: ThreeSides) -> None:
    comparison = three_way(
        sides.first.workflow,
        sides.edited.workflow,
        None if sides.run is None else sides.run.workflow,
    )
    st.markdown(plain(" ".join(summary(sides, comparison))))
    text_table(
        table(sides, comparison),
        key="compare-three",
        label="Steps as planned, as edited and as run",
        columns=heads(sides),
    )


def summary(sides: ThreeSides, comparison: ThreeWay) -> list[str]:
    """What was edited since the plan, and what since the run, in a sentence each."""
    planned = headline(comparison.planned)
    edit = f"From {_SINCE[sides.origin]} to edit: {planned[:1].lower()}{planned[1:]}"
    if comparison.run is None:
        return [edit, "Not run yet."]
    if comparison.run.empty:
        return [edit, "Run as it is now."]
    run = headline(comparison.run)
    return [edit, f"From edit to run: {run[:1].lower()}{run[1:]}"]


def heads(sides: ThreeSides) -> list[str]:
    """The columns, each with its meaning."""
    run = "Run: not yet"
    if sides.run is not None and sides.run.state is not None:
        run = f"Run: {sides.run.name}, {run_label(sides.run.state)}"
    return [f"{_HEADS[sides.origin]}: {sides.first.name}", f"Edited: {sides.edited.name}", run]


def table(sides: ThreeSides, comparison: ThreeWay) -> list[Row]:
    """A row a step, named by its number as edited; a step that is not there as edited has none."""
    return [
        Row(
            "" if edited is None else str(edited + 1),
            (
                _planned(comparison, planned, edited),
                _edited(comparison, planned, edited, same=f"as {_HEADS[sides.origin].lower()}"),
                _run(sides, comparison, edited, run),
            ),
        )
        for planned, edited, run in comparison.rows
    ]


def _name(workflow: Workflow, step: int, edited: int | None) -> str:
    """A step's title, with its number where the row has another one."""
    return title_of(workflow.steps[step].instruction)[0] if step == edited else step_name(workflow, step)


def _planned(comparison: ThreeWay, step: int | None, edited: int | None) -> Cell:
    if step is None:
        return Cell(foot="-", mark="missing")
    planned = comparison.planned.old
    return _whole(planned.steps[step], _name(planned, step, edited))


def _edited(comparison: ThreeWay, planned: int | None, edited: int | None, *, same: str) -> Cell:
    if edited is None:
        if planned is not None:
            return Cell(notes=("removed",), mark="removed")
        return Cell(foot="-", mark="missing")
    step, name = comparison.edited.steps[edited], _name(comparison.edited, edited, edited)
    if planned is None:
        return _whole(step, name, notes=("added",), mark="added")
    pair = comparison.planned.of_new[edited]
    return _changed(comparison.planned, pair, name, same=same)


def _run(sides: ThreeSides, comparison: ThreeWay, edited: int | None, run: int | None) -> Cell:
    if comparison.run is None or sides.run is None or sides.run.state is None:
        return Cell(foot="-", mark="missing")
    if run is None:
        return Cell(notes=("not in this run",), mark="removed" if edited is not None else "missing")
    state = sides.run.state.steps[run] if run < len(sides.run.state.steps) else None
    name = _name(comparison.run.new, run, edited)
    if edited is None:
        cell = _whole(comparison.run.new.steps[run], name, notes=("only in this run",), mark="added")
    else:
        cell = _changed(comparison.run, comparison.run.of_new[run], name, same="as edited")
    if state is None:
        return cell
    facts = " · ".join([step_status(state), *step_facts(state)])
    return replace(cell, foot="\n".join(filter(None, [cell.foot, facts])))


def _whole(step: Step, name: str, *, notes: tuple[str, ...] = (), mark: Mark = "") -> Cell:
    return Cell(
        title=name,
        text=tuple(_cut((Stretch(step.instruction),))),
        notes=notes,
        foot=step.worker,
        mark=mark,
    )


def _changed(diff: PlanDiff, pair: StepPair, name: str, *, same: str) -> Cell:
    """A step against the column before: only what differs, and the difference of the instructions."""
    if pair.same:
        return Cell(title=name, foot=same)
    old, new = diff.old.steps[pair.old], diff.new.steps[pair.new]
    text: tuple[Stretch, ...] = ()
    notes = tuple(CHANGE_NAMES[change] for change in pair.changes)
    if "instruction" in pair.changes:
        wording = compare_texts(old.instruction, new.instruction)
        text = tuple(_cut(stretches(wording.pieces, context=_CONTEXT)))
        notes = (*notes, *(diff_notes(wording) if wording.grain != "words" else ()))
    return Cell(name, text, notes, "\n".join(sentences(diff, pair)), "changed")


def _cut(texts: tuple[Stretch, ...] | list[Stretch]) -> list[Stretch]:
    """As much of the stretches as a cell shows, and how much that leaves out."""
    visible: list[Stretch] = []
    room = _LONGEST
    for stretch in texts:
        if room > 0:
            visible.append(stretch._replace(text=stretch.text[:room]))
        room -= len(stretch.text)
    if room < 0:
        visible.append(Stretch(f" [… {quantity(-room, 'character')} more]", "quiet"))
    return visible
