"""The fields in which a person edits a step: what each shows of a workflow, what a change commits."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from conductor.errors import UnknownId
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from pages.components.tab.fields import Mark, Shown
from pages.components.tab.state import plain
from pages.components.view_models.workflow.card_content import step_name
from pages.components.workbench.editor import Editor

_PREVIOUS = -1
"""Stands for the round before among the steps that a step may see."""


_PREVIOUS_LABEL = "The round before"


_NUMBERED = re.compile(r"(\d+)\. ")
"""How every step's name begins, the only part of it that another person's edit leaves as it is."""


@dataclass(frozen=True, slots=True)
class StepField:
    """One field of a step. `shows`: its value for a workflow. `read`: the value in what the browser sent,
    None where that is none. `commit`: takes the value that was changed, and what it was changed to. `whole`:
    what is left of the value after a restart is all of it.
    """

    key: str
    shows: Callable[[Workflow], Any]
    read: Callable[[Any], Any]
    commit: Callable[[Any, Any], None]
    whole: bool = True


def step_fields(
    editor: Editor, shown: Shown, step: int, *, cards: Mapping[str, WorkerCard], locked: bool
) -> tuple[StepField, ...]:
    """Draw instruction and access of a step, and who serves its worker."""
    place = f"{editor.session}-{step}"
    fields = (
        _instruction(editor, shown, step, key=f"instruction-{place}", locked=locked),
        _access(editor, shown, step, key=f"access-{place}", locked=locked),
    )
    _served_by(cards.get(editor.workflow.steps[step].worker))
    return fields


def take_over(editor: Editor, fields: Sequence[StepField], left: Mark) -> None:
    """Commit what a person changed in the drawing `left` of a process that ended before it committed that;
    then have the page drawn again, with the workflow as it is now.
    """
    now = editor.workflow
    try:
        drawn = editor.bench.store.revisions.find(left.revision)
    except UnknownId:
        st.rerun()
    for field in fields if drawn.session == editor.session else ():
        value = field.read(st.session_state[field.key])
        try:
            before = field.shows(drawn.workflow)
        except IndexError:
            continue  # that revision had no such step, so the field is not of that drawing
        if field.whole and value not in (None, before, field.shows(now)):
            field.commit(before, value)
    st.rerun()


def worker_field(
    editor: Editor, shown: Shown, step: int, *, cards: Mapping[str, WorkerCard], locked: bool
) -> StepField:
    """Draw the list of workers, for the line of the step's name."""
    key = f"worker-{editor.session}-{step}"
    own = editor.workflow.steps[step].worker
    names = list(cards) if own in cards else [own, *cards]
    field = StepField(
        key,
        shows=lambda workflow: workflow.steps[step].worker,
        read=lambda sent: sent if sent in names else None,
        commit=lambda _, worker: editor.worker(step, worker),
    )

    def named(name: str) -> str:
        card = cards.get(name)
        return f"{name} (not in the pool)" if card is None else f"{name} · {card.kind}"

    st.selectbox(
        "Worker",
        names,
        index=0 if shown.given(key, own, labels=[*map(named, names)]) else names.index(own),
        key=key,
        format_func=named,
        disabled=locked,
        label_visibility="collapsed",
        width=190,
        on_change=shown.committing(key, field.commit, read=field.read),
    )
    return field


def _served_by(card: WorkerCard | None) -> None:
    """What a worker is good at, which model answers for it, and where that is served."""
    if card is None:
        return
    if card.nested:
        served = "a Conductor: does the step by a workflow of its own"
    elif card.kind != "model":
        served = f"{card.kind}, no model is called"
    else:
        served = card.model if card.endpoint is None else f"{card.model} at {card.endpoint}"
    st.caption(plain(" · ".join(filter(None, [f"{card.name}: {served}", card.strengths]))))


def _instruction(editor: Editor, shown: Shown, step: int, *, key: str, locked: bool) -> StepField:
    own = editor.workflow.steps[step].instruction
    field = StepField(
        key,
        shows=lambda workflow: workflow.steps[step].instruction,
        read=lambda sent: sent,
        commit=lambda _, text: editor.tab.note_text(key, text, kept=editor.instruction(step, text)),
    )
    st.text_area(
        "Instruction",
        "" if shown.given(key, own) else own,
        key=key,
        height=118,
        disabled=locked,
        on_change=shown.committing(key, field.commit, read=field.read),
    )
    return field


def _access(editor: Editor, shown: Shown, step: int, *, key: str, locked: bool) -> StepField:
    """Which steps a step may see; in a later round also all of the round before, as one entry."""
    own = editor.workflow.steps[step]
    later = editor.head.looks_back is not None or own.sees_previous
    options = [*([_PREVIOUS] if later else []), *range(step)]
    field = StepField(
        key,
        shows=lambda workflow: _seen(workflow, step),
        read=positions,
        commit=lambda before, seen: _see(editor, step, before, seen),
        # Streamlit drops an entry whose label is another one by now.
        whole=False,
    )

    def named(read: int) -> str:
        return _PREVIOUS_LABEL if read == _PREVIOUS else step_name(editor.workflow, read)

    sees = _seen(editor.workflow, step)
    st.multiselect(
        "Can see",
        options,
        None if shown.given(key, sees, labels=[*map(named, options)]) else sees,
        key=key,
        format_func=named,
        disabled=locked or not options,
        placeholder="Only the query" if options else "The first step sees only the query",
        on_change=shown.committing(key, field.commit, read=field.read),
    )
    return field


def _seen(workflow: Workflow, step: int) -> list[int]:
    own = workflow.steps[step]
    return [*([_PREVIOUS] if own.sees_previous else []), *own.access]


def positions(sent: Collection[object]) -> list[int] | None:
    """The steps (0-based, ascending) that a list of steps names; None where an entry names none.

    Streamlit sends a choice by its label. Where a step was reworded since that label was drawn, the label
    comes as it is, and the number at its beginning counts.
    """
    found = []
    for entry in sent:
        numbered = _NUMBERED.match(entry) if isinstance(entry, str) else None
        if isinstance(entry, int):
            found.append(entry)
        elif entry == _PREVIOUS_LABEL:
            found.append(_PREVIOUS)
        elif numbered is not None:
            found.append(int(numbered[1]) - 1)
        else:
            return None
    return sorted(found)


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
