"""The fields in which a person edits a step: what each shows of a workflow, what a change commits."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from conductor.errors import UnknownId
from conductor.values.output import KIND_LABELS
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from pages.components.tab.page_part import Mark, PagePart
from pages.components.tab.state import plain
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.labels import distinct_labels
from pages.components.workbench.editor import Editor
from studio.workbench.editing import EditEnd

_PREVIOUS = -1
"""Stands for the round before among the steps that a step may see."""


_PREVIOUS_LABEL = "The previous round"


_NUMBERED = re.compile(r"(\d+)\. ")
"""How every step's name begins, the only part of it that another person's edit leaves as it is."""


@dataclass(frozen=True, slots=True)
class StepField:
    """One field of a step. `shows`: its value for a workflow. `read`: the value in what the browser sent,
    or None. `commit`: takes the value that was changed, and what it was changed to. `whole`:
    what is left of the value after a restart is all of it.
    """

    key: str
    shows: Callable[[Workflow], Any]
    read: Callable[[Any], Any]
    commit: Callable[[Any, Any], None]
    whole: bool = True


def step_fields(
    editor: Editor, part: PagePart, step: int, *, cards: Mapping[str, WorkerCard], locked: bool
) -> tuple[StepField, ...]:
    """Draw instruction and access of a step, its tools where its worker has some, and who serves that."""
    place = f"{editor.session}-{step}"
    own = editor.workflow.steps[step]
    card = cards.get(own.worker)
    fields = [
        _instruction(editor, part, step, key=f"instruction-{place}", locked=locked),
        _access(editor, part, step, key=f"access-{place}", locked=locked),
    ]
    if own.tools or (card is not None and card.tools):
        has = () if card is None else card.tools
        fields.append(_tools(editor, part, step, has, key=f"tools-{place}", locked=locked))
    _served_by(card)
    return tuple(fields)


def take_over(editor: Editor, fields: Sequence[StepField], left: Mark) -> None:
    """Commit what a person changed in the drawing `left` of a process that ended before it committed that;
    then have the page drawn again, with the workflow as it is now.
    """
    now = editor.workflow
    try:
        revision = editor.bench.store.revisions.find(left.revision)
    except UnknownId:
        st.rerun()
    for field in fields if revision.session == editor.session else ():
        value = field.read(st.session_state[field.key])
        try:
            before = field.shows(revision.workflow)
        except IndexError:
            continue  # that revision had no such step, so the field is not of that drawing
        if field.whole and value not in (None, before, field.shows(now)):
            field.commit(before, value)
    st.rerun()


def worker_field(
    editor: Editor, part: PagePart, step: int, *, cards: Mapping[str, WorkerCard], locked: bool
) -> StepField:
    """Draw the list of workers, for the line of the step's name."""
    key = f"worker-{editor.session}-{step}"
    own = editor.workflow.steps[step].worker
    named = {name: name if card.kind == "model" else f"{name} · {card.kind}" for name, card in cards.items()}
    if own not in cards:
        named = {own: f"{own} (not in the pool)"} | named
    field = StepField(
        key,
        shows=lambda workflow: workflow.steps[step].worker,
        read=lambda sent: sent if sent in named else None,
        commit=lambda _, worker: editor.worker(step, worker),
    )

    st.selectbox(
        "Worker",
        list(named),
        index=0 if part.set_value(key, own, labels=[*named.values()]) else list(named).index(own),
        key=key,
        format_func=distinct_labels(named),
        disabled=locked,
        label_visibility="collapsed",
        width=190,
        on_change=part.committing(key, field.commit, read=field.read),
    )
    return field


def _served_by(card: WorkerCard | None) -> None:
    """What a worker is good at, which model answers for it, and where that is served."""
    if card is None:
        return
    if card.nested:
        served = "a Conductor: runs a workflow of its own for the step"
    elif card.kind in ("offline", "simulated"):
        served = KIND_LABELS[card.kind]
    else:
        served = card.model if card.endpoint is None else f"{card.model} at {card.endpoint}"
        served = ", ".join(filter(None, (served, KIND_LABELS.get(card.kind))))
    st.caption(plain(" · ".join(filter(None, [f"{card.name}: {served}", card.strengths]))))


def _instruction(editor: Editor, part: PagePart, step: int, *, key: str, locked: bool) -> StepField:
    own = editor.workflow.steps[step].instruction
    field = StepField(
        key,
        shows=lambda workflow: workflow.steps[step].instruction,
        read=lambda sent: sent,
        commit=lambda _, text: editor.tab.note_text(
            key, text, is_kept=editor.instruction(step, text) is not EditEnd.REFUSED
        ),
    )
    st.text_area(
        "Instruction",
        "" if part.set_value(key, own) else own,
        key=key,
        height=118,
        disabled=locked,
        on_change=part.committing(key, field.commit, read=field.read),
    )
    return field


def _access(editor: Editor, part: PagePart, step: int, *, key: str, locked: bool) -> StepField:
    """Which steps a step may see; in a later round also all of the round before, as one entry."""
    own = editor.workflow.steps[step]
    later = editor.head.looks_back is not None or own.sees_previous
    named = {_PREVIOUS: _PREVIOUS_LABEL} if later else {}
    named |= {read: step_name(editor.workflow, read) for read in range(step)}
    field = StepField(
        key,
        shows=lambda workflow: _seen(workflow, step),
        read=positions,
        commit=lambda before, seen: _see(editor, step, before, seen),
        # Streamlit drops an entry whose label is another one by now.
        whole=False,
    )

    sees = _seen(editor.workflow, step)
    st.multiselect(
        "Can see",
        list(named),
        None if part.set_value(key, sees, labels=[*named.values()]) else sees,
        key=key,
        format_func=distinct_labels(named),
        disabled=locked or not named,
        placeholder="Only the query" if named else "The first step sees only the query",
        on_change=part.committing(key, field.commit, read=field.read),
    )
    return field


def _tools(
    editor: Editor, part: PagePart, step: int, has: Sequence[str], *, key: str, locked: bool
) -> StepField:
    """Which tools a step may call of its worker's, which are `has`; all of these are as if it named none."""

    def tools_in(workflow: Workflow) -> list[str]:
        own = workflow.steps[step].tools
        return [*has] if own is None else [*own]

    def commit(_: object, tools: Collection[str]) -> None:
        editor.tools(step, None if {*tools} == {*has} else tools)

    field = StepField(key, shows=tools_in, read=lambda sent: [*sent], commit=commit)
    own = tools_in(editor.workflow)
    options = [*dict.fromkeys((*has, *own))]
    st.multiselect(
        "Tools",
        options,
        None if part.set_value(key, own, labels=options) else own,
        key=key,
        disabled=locked,
        accept_new_options=True,
        placeholder="No tools: the step only thinks",
        help="Those of its worker’s tools that the step may call: choose, or write SERVER:NAME",
        on_change=part.committing(key, field.commit, read=field.read),
    )
    return field


def _seen(workflow: Workflow, step: int) -> list[int]:
    own = workflow.steps[step]
    return [*([_PREVIOUS] if own.sees_previous else []), *own.access]


def positions(sent: Collection[object]) -> list[int] | None:
    """The steps (0-based, ascending) that a list of steps names, or None if an entry names none.

    Streamlit sends a choice by its label. Where a step was reworded since that label was drawn, the label
    comes as it is, and the number at its beginning counts.
    """
    steps = []
    for entry in sent:
        numbered = _NUMBERED.match(entry) if isinstance(entry, str) else None
        if isinstance(entry, int):
            steps.append(entry)
        elif entry == _PREVIOUS_LABEL:
            steps.append(_PREVIOUS)
        elif numbered is not None:
            steps.append(int(numbered[1]) - 1)
        else:
            return None
    return sorted(steps)


def _see(editor: Editor, step: int, before: Collection[int], seen: Collection[int]) -> None:
    """Let a step see what was added to the list, and no longer what was taken away, in one edit."""
    gained, lost = {*seen} - {*before}, {*before} - {*seen}
    turned = _PREVIOUS in gained | lost
    editor.access(
        step,
        gain=gained - {_PREVIOUS},
        lose=lost - {_PREVIOUS},
        previous=_PREVIOUS in gained if turned else None,
    )
