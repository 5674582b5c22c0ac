"""The right side of the workbench: one step's worker, instruction and access, its output, what it saw."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from conductor.messages import Request
from conductor.run_state import StepState, StepStatus
from conductor.workers.protocol import WorkerCard
from pages.components.editing import Editor
from pages.components.faces import duration, step_name
from pages.components.passage import Stretch, Tone, passage
from pages.components.session_view import SessionView
from pages.components.state import TabState, plain
from storage.workbench import Workbench

_STATUS: dict[StepStatus, tuple[str, str]] = {
    "waiting": (":material/schedule:", "gray"),
    "running": (":material/progress_activity:", "blue"),
    "finished": (":material/check_circle:", "green"),
    "empty": (":material/radio_button_unchecked:", "orange"),
    "failed": (":material/error:", "red"),
    "blocked": (":material/block:", "orange"),
    "cancelled": (":material/stop_circle:", "orange"),
    "interrupted": (":material/power_off:", "orange"),
}


def inspector(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the selected step, or what to do to select one."""
    with st.container(border=True, key="inspector"):
        head = view.head
        selected = tab.selected
        if head is None or selected is None or selected >= len(head.workflow):
            st.markdown("**Step inspector**")
            st.caption("Select a step in the graph to see what it does, what it may read and what it said.")
            return
        editor = Editor(bench=bench, tab=tab, session=view.session.id, head=head)
        state = _state_of(view, selected)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(plain(step_name(head.workflow, selected), limit=80), anchor=False)
            if state is not None:
                _badge(state)
        tab.show_notice("edit")
        _fields(editor, selected, cards=bench.pool.cards, locked=view.live)
        _step_buttons(editor, selected, locked=view.live)
        _output(view, selected, state, label=bench.pool.label)
        if state is not None and state.request is not None:
            _saw(editor, selected, state.request)


def _state_of(view: SessionView, step: int) -> StepState | None:
    """The step's state in the run shown; None before a run and after an edit that touches it."""
    state = view.state
    if state is None or view.head is None:
        return None
    if view.as_run:
        return state.steps[step]
    kept = view.radius is not None and step in view.radius.reused
    same = state.workflow is not None and step < len(state.workflow.steps)
    if kept and same and state.workflow is not None:
        return state.steps[step] if state.workflow.steps[step] == view.head.workflow.steps[step] else None
    return None


def _badge(state: StepState) -> None:
    icon, colour = _STATUS[state.status]
    st.badge("reused" if state.reused else state.status, icon=icon, color=colour)  # type: ignore[arg-type]


def _fields(editor: Editor, step: int, *, cards: dict[str, WorkerCard], locked: bool) -> None:
    own = editor.workflow.steps[step]
    names = list(cards) if own.worker in cards else [own.worker, *cards]
    place = f"{editor.session}-{step}"

    def named(worker: str) -> str:
        card = cards.get(worker)
        return f"{worker} (not in the pool)" if card is None else f"{worker} · {card.kind}"

    _mirrored(f"worker-{place}", own.worker)
    st.selectbox(
        "Worker",
        names,
        key=f"worker-{place}",
        format_func=named,
        disabled=locked,
        help=plain(cards[own.worker].strengths) if own.worker in cards else None,
        on_change=_committing(f"worker-{place}", lambda value: editor.worker(step, value)),
    )
    _mirrored(f"instruction-{place}", own.instruction)
    st.text_area(
        "Instruction",
        key=f"instruction-{place}",
        height=118,
        disabled=locked,
        on_change=_committing(f"instruction-{place}", lambda value: editor.instruction(step, value)),
    )
    _mirrored(f"access-{place}", list(own.access))
    st.multiselect(
        "Can see",
        list(range(step)),
        key=f"access-{place}",
        format_func=lambda read: step_name(editor.workflow, read),
        disabled=locked or step == 0,
        placeholder="The first step sees only the query" if step == 0 else "Only the query",
        on_change=_committing(f"access-{place}", lambda value: editor.access(step, value)),
    )


def _mirrored(key: str, value: object) -> None:
    """Widgets mirror, never own: the revision counts, whatever the widget remembered."""
    if st.session_state.get(key) != value:
        st.session_state[key] = value


def _committing(key: str, commit: Callable[..., None]) -> Callable[[], None]:
    def changed() -> None:
        commit(st.session_state[key])
        st.rerun()

    return changed


def _step_buttons(editor: Editor, step: int, *, locked: bool) -> None:
    last = editor.workflow.final

    def act(name: str, icon: str, tip: str, do: Callable[[], None], *, disabled: bool) -> None:
        def clicked() -> None:
            do()
            st.rerun()

        st.button(
            name, key=f"step-{icon}", icon=f":material/{icon}:", help=tip, disabled=disabled, on_click=clicked
        )

    with st.container(horizontal=True, gap="small", key="step-buttons"):
        act(
            "",
            "arrow_upward",
            "Move the step up",
            lambda: editor.move(step, step - 1),
            disabled=locked or step == 0,
        )
        act(
            "",
            "arrow_downward",
            "Move the step down",
            lambda: editor.move(step, step + 1),
            disabled=locked or step == last,
        )
        act("Add", "add", "Add a step that reads this one", lambda: editor.add(step), disabled=locked)
        act("Remove", "delete", "Remove the step", lambda: editor.remove(step), disabled=locked or last == 0)


def _output(view: SessionView, step: int, state: StepState | None, *, label: str | None) -> None:
    if state is None or (not state.text and state.status in ("waiting", "running")):
        said = "Not run yet." if view.state is None else "Will run at the next rerun."
        waits = {"running": "Its worker has been asked; no text yet.", "waiting": "Waits for what it reads."}
        st.markdown("**Output**")
        st.caption(waits[state.status] if state is not None and view.live else said)
        return
    if state.message:
        st.error(plain(state.message), icon=":material/error:")
    if state.status == "blocked":
        names = ", ".join(str(by + 1) for by in state.blocked_by)
        st.warning(f"Did not run, because it reads step {names}.", icon=":material/block:")
    if state.status == "empty":
        st.caption("The worker answered with nothing; nothing is passed on.")
    if state.text:
        passage(
            state.text,
            key=f"output-{view.session.id}-{step}",
            label="Output",
            notes=["reused"] if state.reused else [],
            live=state.status == "running",
            height=280,
        )
    st.caption(plain(" · ".join(_facts(state, label))))


def _facts(state: StepState, label: str | None) -> list[str]:
    facts = []
    if state.reused and state.output is not None:
        facts.append(f"made in run {state.output.run[:8]}")
    if state.seconds is not None:
        facts.append(duration(state.seconds))
    if state.output is not None:
        tokens = state.usage.total
        facts.append("tokens -" if tokens is None else f"{tokens:,} tokens")
    if state.worker_kind is not None and state.worker_kind != "model":
        facts.append(label or f"{state.worker_kind}, no model is called")
    return facts


_TONES: dict[str, Tone] = {
    "frame": "quiet",
    "query": "query",
    "subtask": "seen",
    "response": "seen",
    "instruction": "task",
}


def _saw(editor: Editor, step: int, request: Request) -> None:
    """The stored request as sent, tinted by where each part came from, and what it could not see."""
    workflow = editor.workflow
    with st.expander("What this step saw", icon=":material/visibility:", key=f"saw-{step}"):
        st.caption("The request exactly as it was sent. Tinted: the query, earlier steps, its own task.")
        stretches = [
            Stretch(
                part.text,
                _TONES[part.kind],
                "" if part.step is None else f"Step {part.step + 1}, {part.kind}",
            )
            for message in request.messages
            for part in message.parts
        ]
        passage(stretches, key=f"saw-{editor.session}-{step}", label="Request", height=320)
        hidden = [read for read in range(step) if read not in workflow.steps[step].access]
        if hidden:
            st.caption("It could not see: " + ", ".join(plain(step_name(workflow, read)) for read in hidden))
