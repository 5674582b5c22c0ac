"""The view *Saw* of a step: the stored request by source, and what the step could not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

import streamlit as st

from conductor.errors import PoolError
from conductor.runs.step_state import StepState
from conductor.text.formatting import steps_of_numbers
from conductor.text.word_diff import compare_texts
from conductor.values.message_parts.tool_use import ToolUse
from conductor.values.messages import Request
from conductor.values.output import WorkerKind
from conductor.values.provenance import Shares, estimated_shares, without_nonces
from conductor.workers.endpoint.tokens import request_shares
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import action, expander
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.request_legend import (
    UNREPORTED,
    Place,
    count_method,
    legend,
    stretches,
)
from pages.components.widgets.text_block import text_block
from pages.components.widgets.text_diff import diff_notes
from pages.components.widgets.text_diff import stretches as diff_stretches
from pages.components.workbench.editor import Editor
from pages.components.workbench.step.notes import StepNotes, step_notes
from pages.components.workbench.step.request import (
    Sent,
    differences,
    earlier_request,
    origins,
    request_sent,
    sent_with,
    unchanged,
)
from studio.sessions.notes import step_text

focus_fallback("unseen", "step-parts")

_compared = lru_cache(maxsize=16)(compare_texts)
"""A redraw of a run under way asks again four times a second."""

_CONTEXT = 160
"""Characters shown of what did not change, on either side of what did."""

_MANY, _MOST_BUTTONS = 6, 12
"""More hidden steps than this scroll in a separate box, and more than this are searched in a field."""


def sight(editor: Editor, view: SessionView, step: int, state: StepState | None) -> None:
    """Draw what `step` saw, if it was sent anything. `state` is the step's, as the page shows it. A watcher
    cannot let it see more.
    """
    bench = editor.bench
    sent = request_sent(bench, view, editor.workflow, step, state)
    if sent is None:
        st.caption("Nothing was sent yet. What this step sees appears here when it is sent.")
        return

    own_step = sent.workflow.steps[sent.step]
    request_view(
        sent.request,
        key=f"{editor.session}-{step}",
        reader=reader(bench.pool.cards, own_step.worker, sent.own),
        hidden=unseen(editor, step),
        origins=origins(bench, view, sent),
        let_see=None if editor.tab.watched else partial(_grant, editor, step),
        locked=view.locked,
        notes=sent.notes,
        before=lambda: earlier_request(bench, sent.run, sent.step),
        boxed=False,
        uses=sent.own.tool_uses,
        noted=step_notes(
            bench, editor.tab, view, "request", step_text("request", own_step, sent.own), step=step, sent=sent
        ),
    )


def unseen(editor: Editor, step: int) -> list[Hidden]:
    """What `step` may not see as the workflow is now."""
    blind = editor.head.looks_back is not None and not editor.workflow.steps[step].sees_previous
    return [*([Hidden(None, "the previous round")] if blind else []), *hidden_from(editor.workflow, step)]


def _grant(editor: Editor, step: int, *unseen: Hidden) -> None:
    """Let `step` see these: one edit."""
    gain = [each.step for each in unseen if each.step is not None]
    if not gain:
        editor.commit(
            lambda: editor.workflow.with_sight_of_previous(step, True),
            f"Step {step + 1}: sees the previous round",
        )
    else:
        editor.access(step, gain=gain, previous=True if len(gain) < len(unseen) else None)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a step could not see: an earlier step by position (from 0), None: the round before."""

    step: int | None
    name: str


@dataclass(frozen=True, slots=True)
class Reader:
    """Who was sent a request: the worker that answered, its card where the pool has it, and how many tokens
    its endpoint reported as read, or why it did not (`unreported`).
    """

    worker: str
    kind: WorkerKind
    card: WorkerCard | None = None
    reported: int | None = None
    unreported: str = UNREPORTED


def request_view(
    request: Request,
    *,
    key: str,
    reader: Reader,
    hidden: Sequence[Hidden] = (),
    origins: Mapping[Place, tuple[str, ...]] | None = None,
    let_see: Callable[..., None] | None = None,
    locked: bool = False,
    notes: Sequence[str] = (),
    before: Callable[[], Sent | None] | None = None,
    boxed: bool = True,
    uses: Sequence[ToolUse] = (),
    noted: StepNotes | None = None,
) -> None:
    """Draw it with `notes` on it, `boxed` in a box that is closed at first; `noted` are those of people.

    `hidden` is what the step could not see, each with a button where `let_see` grants it, or in a field where
    they are many; `let_see` is called with what was chosen. `origins` is what
    is noted on the outputs that were sent; `before` finds what the step was sent in an earlier run. For
    `uses` see `request_pieces`.
    """
    box = expander("What this step saw", "visibility", key=f"saw-{key}") if boxed else st.container()
    if box is None:
        return
    with box, st.container(gap="small"):
        if notes:
            st.caption(plain(" ".join(notes)))
        if beside := sent_with(request.sampling):
            st.caption(plain(beside))
        _as_sent(request, reader, origins or {}, noted, uses, key=key)
        if noted is not None:
            noted.draw()
        _unseen(hidden, let_see, locked=locked, key=key)
        if before is not None:
            _against(before(), request, reader, key=key)


def reader(cards: Mapping[str, WorkerCard], worker: str, state: StepState) -> Reader:
    """Who read the request of a step of `worker`; `cards` are the pool's."""
    who = state.answered_by(worker)
    card = cards.get(who)
    kind = state.worker_kind or (card.kind if card is not None else "model")
    if state.inner or (card is not None and card.nested):
        # What its step used are the tokens of the calls inside.
        return Reader(
            worker=who, kind=kind, card=card, unreported="the Conductor's own calls are counted inside"
        )
    unreported = UNREPORTED if state.done else "the endpoint has not reported a number yet"
    return Reader(worker=who, kind=kind, card=card, reported=state.reported_prompt, unreported=unreported)


def hidden_from(workflow: Workflow, step: int) -> list[Hidden]:
    """The earlier steps whose work a step may not see."""
    access = frozenset(workflow.steps[step].access)
    return [Hidden(read, step_name(workflow, read)) for read in range(step) if read not in access]


def _as_sent(
    request: Request,
    reader: Reader,
    origins: Mapping[Place, tuple[str, ...]],
    noted: StepNotes | None,
    uses: Sequence[ToolUse],
    *,
    key: str,
) -> None:
    shares = _shares(request, reader)
    st.caption(plain(count_method(shares, reader.kind, unreported=reader.unreported)))
    text_block(
        stretches(request, shares, uses),
        key=f"request-{key}",
        label="Request",
        legend=legend(shares, origins),
        height=320,
        notable=None if noted is None else noted.notable(),
    )


def _shares(request: Request, reader: Reader) -> Shares:
    try:
        return request_shares(request, kind=reader.kind, card=reader.card, reported=reader.reported)
    except PoolError as error:
        st.caption(f":material/warning: {plain(f'Its tokenizer is not used: {error}')}")
        return estimated_shares(request, reported=reader.reported)


def _unseen(hidden: Sequence[Hidden], let_see: Callable[..., None] | None, *, locked: bool, key: str) -> None:
    if not hidden:
        return
    if let_see is None:
        st.caption(plain(f"It could not see: {_named(hidden)}", limit=2000))
        return
    st.markdown("**It could not see**")
    if len(hidden) > _MOST_BUTTONS:
        _choice_of(hidden, let_see, locked=locked, key=f"let-see-{key}-{len(hidden)}")
        return
    height: Literal["content"] | int = 240 if len(hidden) > _MANY else "content"
    with st.container(height=height, border=False, gap="xsmall", key="unseen"):
        for unseen in hidden:
            place = "before" if unseen.step is None else unseen.step
            name = f"Let it see {plain(unseen.name, limit=80)}"
            button_key = f"let-see-{key}-{place}"
            action(name, "visibility", let_see, unseen, key=button_key, disabled=locked, type="tertiary")


def _named(hidden: Sequence[Hidden]) -> str:
    """Their names; many steps by their numbers."""
    if len(hidden) <= _MOST_BUTTONS:
        return ", ".join(unseen.name for unseen in hidden)
    others = [unseen.name for unseen in hidden if unseen.step is None]
    steps = steps_of_numbers(unseen.step + 1 for unseen in hidden if unseen.step is not None)
    return ", ".join([*others, steps])


def _choice_of(hidden: Sequence[Hidden], let_see: Callable[..., None], *, locked: bool, key: str) -> None:
    """One field for all, in which a step is searched by its number and by words."""
    named = _named(hidden)
    st.caption(f"{plain(named[0].upper() + named[1:], limit=400)}.")

    def chosen() -> None:
        if steps := st.session_state[key]:
            let_see(*(hidden[at] for at in steps))
            TabState().ask_redraw()

    names = {at: unseen.name for at, unseen in enumerate(hidden)}
    with st.container(key="unseen"), st.form(f"{key}-form", border=False):
        st.multiselect(
            "Steps to let it see",
            list(names),
            key=key,
            format_func=distinct_labels(names),
            placeholder="A number, or words",
            disabled=locked,
        )
        st.form_submit_button(
            "Let it see them", icon=":material/visibility:", on_click=chosen, disabled=locked
        )


def _against(before: Sent | None, request: Request, reader: Reader, *, key: str) -> None:
    if before is None:
        st.caption("This step has not run before.")
        return
    differing = differences(before, request, worker=reader.worker)
    if not differing:
        st.caption(f"Same request as in run {before.number}.")
        return
    st.markdown(f"**Different from run {before.number}**")
    same = unchanged(before, request)
    clauses = [*differing, *([f"unchanged: {', '.join(same)}"] if same else [])]
    st.caption(plain(" ".join(f"{clause[0].upper()}{clause[1:]}." for clause in clauses), limit=2000))
    old, new = without_nonces(before.request), without_nonces(request)
    if old == new or not st.toggle("Show the difference", key=f"saw-diff-{key}"):
        return
    diff = _compared(old, new)
    text_block(
        diff_stretches(diff.pieces, context=_CONTEXT),
        key=f"saw-difference-{key}",
        label=f"From run {before.number} to this one",
        notes=diff_notes(diff),
        copy=False,
        height=320,
    )
