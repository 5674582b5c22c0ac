"""Below the graph: one view of the workflow or its run at a time, chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from pages.components.streamlit_patches.initial_values import show_first
from pages.components.tab.fields import Shown, echoed, mirrored
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.workbench.answer import outcome
from pages.components.workbench.drawer.access import access_view
from pages.components.workbench.drawer.check import check_view, remark
from pages.components.workbench.drawer.history import history_view
from pages.components.workbench.drawer.timeline import timeline_view
from pages.components.workbench.drawer.trials import trials_view
from pages.components.workbench.drawer.use_from_code import use_from_code
from studio.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Panel:
    """A view of a workflow, or of its run where it `needs_run`. `remark` is what its name shows more, such as
    a count; "" where nothing. `selects`: it shows which step is selected.
    """

    icon: str
    draw: Callable[[Workbench, TabState, SessionView], None]
    needs_run: bool = False
    remark: Callable[[SessionView], str] = lambda _: ""
    selects: bool = False


PANELS: Mapping[str, Panel] = {
    "Answer": Panel("chat", outcome, needs_run=True),
    "Timeline": Panel("view_timeline", timeline_view, needs_run=True, selects=True),
    "Access": Panel("grid_on", access_view, selects=True),
    "Check": Panel("rule", check_view, remark=remark),
    "Trials": Panel("science", trials_view, needs_run=True, selects=True),
    "History": Panel("history", history_view),
    "Code": Panel("code", use_from_code),
}
"""In the order in which they are offered; the first one offered is shown first."""


def panels(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the choice and the chosen view of a session that has a workflow."""
    if view.head is None:
        return
    ran = view.state is not None and view.state.workflow is not None
    name = _chosen(tab, view, [name for name, panel in PANELS.items() if ran or not panel.needs_run])
    tab.panel_selects = PANELS[name].selects
    PANELS[name].draw(bench, tab, view)
    Shown(tab, view.head, place="panels").mark()


def _chosen(tab: TabState, view: SessionView, offered: list[str]) -> str:
    def named(name: str) -> str:
        panel = PANELS[name]
        remark = panel.remark(view)
        return f":material/{panel.icon}: {name}{f' {remark}' if remark else ''}"

    chosen = show_first("panel", offered[0])
    # A view that no person chose gives way to the one offered first by now, such as the answer of a run.
    unchosen = chosen == st.session_state.get("panel_first") or echoed("panel", chosen)
    if unchosen or chosen not in offered:
        mirrored(tab, "panel", offered[0])
    st.session_state["panel_first"] = offered[0]
    name = st.segmented_control(
        "View", offered, required=True, key="panel", format_func=named, label_visibility="collapsed"
    )
    return name or offered[0]
