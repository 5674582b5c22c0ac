"""The buttons that run or plan another round: the bar's with its menu, the menu of one step, and Stop."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.errors import ConductorError
from conductor.runs.scope import FORCE, RunScope
from conductor.text.formatting import estimated
from conductor.values.message_parts.tool_use import ToolDecision
from conductor.values.presets import MAX_ROUNDS
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action
from pages.components.widgets.labels import distinct_labels
from studio.workbench import Outlook, Workbench

focus_fallback("run", "stop", "run-split", "share")
focus_fallback("run-split", "stop", "share")
focus_fallback("stop", "run", "run-split", "ask-again", "plan-again")

_RECORDED = "recorded"
_SCOPES = {
    "to": "Run to here",
    "only": "Run only this step",
    "from": "Run from here",
    "force": "Rerun all steps",
    _RECORDED: "Run from here on recorded results of tools",
}
_ROUND = "round"


def run_buttons(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """The button that runs the workflow with a menu of the other ways to run it; while it runs, Stop."""
    session = view.session.id
    if view.locked:
        here = view.busy or view.stoppable
        tip = None if here else "Another process runs this; Stop asks it to end"
        action("Stop", "stop", bench.running.stop, session, key="stop", help=tip)
        return
    with st.container(horizontal=True, gap="xsmall", key="run-buttons", width="content", wrap=False):
        # Before the other button, which stays where it was.
        if view.waits:
            tip = "End this run; finished steps are kept"
            action("Stop", "stop", bench.running.stop, session, key="stop", help=tip)
        _run_split(bench, tab, view)


def _run_split(bench: Workbench, tab: TabState, view: SessionView) -> None:
    session, proceeds = view.session.id, view.proceeds
    asking = None if proceeds else next(iter(view.asks), None)
    with st.container(horizontal=True, gap=None, key="run-split", width="content", wrap=False):
        if asking is not None:
            tip = "A tool may act: allow its call, change it, refuse it or answer in its place"
            action("Decide", "front_hand", tab.select, asking, key="run", type="primary", help=tip)
        else:
            action(
                "Continue" if proceeds else "Run" if view.state is None else "Rerun",
                "play_arrow",
                lambda: start(bench, tab, session, None, proceed=proceeds),
                key="run",
                type="primary",
                help=_main_help(view),
                disabled=view.problem is not None or view.is_up_to_date,
            )
        _menu(
            bench,
            tab,
            view,
            tab.selected,
            label="Other ways to run",
            key=f"run-ways-{session}-{tab.selected}",
            primary=True,
        )


def _main_help(view: SessionView) -> str | None:
    if view.is_up_to_date:
        return "Nothing changed since the last run. To repeat it, choose Rerun all steps in the menu"
    if view.outlook is None:
        return None
    passes = "Pass the gate: finished steps are reused, your edits apply. " if view.proceeds else ""
    return passes + view.outlook.sentence


def run_menu(bench: Workbench, tab: TabState, view: SessionView, step: int) -> None:
    """The ways to run around `step`, each with what it will call."""
    key = f"run-menu-{view.session.id}-{step}"
    _menu(bench, tab, view, step, label="Run", key=key)


def _menu(
    bench: Workbench,
    tab: TabState,
    view: SessionView,
    step: int | None,
    *,
    label: str,
    key: str,
    primary: bool = False,
) -> None:
    has_step = step is not None and view.head is not None and step < len(view.head.workflow)
    scopes = [RunScope(kind=kind, step=step) for kind in ("to", "only", "from")] if has_step else []
    outlooks = {} if view.problem else view.outlooks(bench, [*scopes, FORCE])
    offered: dict[str, RunScope] = {scope.kind: scope for scope in [*scopes, FORCE] if scope in outlooks}
    recorded = _on_recorded_results(view, step)
    if recorded is not None and "from" in offered:
        offered[_RECORDED] = recorded
        outlooks[recorded] = outlooks[offered["from"]]

    def chosen() -> None:
        kind = st.session_state[key]
        if kind in offered:
            start(bench, tab, view.session.id, offered[kind])
        elif kind == _ROUND:
            try:
                bench.planning.begin_round(view.session.id)
            except ConductorError as error:
                tab.notify("error", str(error), place="run")
        tab.ask_redraw()

    named: dict[str, str] = {
        kind: f"{_SCOPES[kind]} · {_calls(outlooks[scope])}" for kind, scope in offered.items()
    }
    if primary and _has_further_round(view):
        named[_ROUND] = "Another round · the Conductor reviews the answer"
    entries = named or {**_SCOPES}  # a menu without entries is refused, also where it cannot be opened
    st.menu_button(
        label,
        list(entries),
        key=key,
        icon=None if primary else ":material/play_arrow:",
        type="primary" if primary else "secondary",
        help="Rerun all steps, or only a part" if primary else "Run only a part",
        disabled=view.locked or not named,
        format_func=distinct_labels(entries),
        on_click=chosen,
    )


def _on_recorded_results(view: SessionView, step: int | None) -> RunScope | None:
    """To call the step and what it reaches again without a call of a tool; None if it called none."""
    output = None if step is None or view.state is None or not view.as_run else view.state.outputs.get(step)
    if output is None or not any(use.server for use in output.tool_uses):
        return None
    return RunScope(kind="from", step=step, recorded="only")


def _has_further_round(view: SessionView) -> bool:
    """Whether the Conductor may look at the answer shown and plan again."""
    state = view.state
    ended = state is not None and state.status == "finished" and state.round < MAX_ROUNDS
    return ended and view.as_run and view.newest


def _calls(outlook: Outlook) -> str:
    steps, tokens = f"calls {outlook.calls}", outlook.estimate.tokens
    return f"{steps}, {estimated(tokens, 'token')}" if tokens else steps


def start(
    bench: Workbench,
    tab: TabState,
    session: str,
    scope: RunScope | None,
    *,
    proceed: bool = False,
    decisions: Sequence[ToolDecision] = (),
) -> None:
    """Begin a run as far as `scope`; None: as `Running.next_scope`. An error is shown under the bar. A
    revision that this tab has not drawn is not run.
    """
    head = bench.store.revisions.head(session)
    if head is not None and not tab.knows(session, head.id):
        unknown = f"Not run: revision {head.number} was just made elsewhere. Look at it, then run it."
        tab.notify("info", unknown, place="run")
        return
    try:
        # Otherwise another person was quicker, and the page shows that run.
        if not SessionView.load(bench, session).locked:
            scope = scope or bench.running.next_scope(session, proceed=proceed, decisions=decisions)
            bench.running.start(session, scope)
    except ConductorError as error:
        tab.notify("error", str(error), place="run")
