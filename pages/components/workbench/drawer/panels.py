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

Draw = Callable[[Workbench, TabState, SessionView], None]


@dataclass(frozen=True, slots=True)
class Panel:
    """A view under its `name`. `offered` is whether it has anything to show, `remark` what its name shows
    more, such as a count; "" where nothing. `selects`: it shows which step is selected.
    """

    name: str
    icon: str
    draw: Draw
    offered: Callable[[SessionView], bool]
    remark: Callable[[SessionView], str] = lambda _: ""
    selects: bool = False


def _has_run(view: SessionView) -> bool:
    return view.state is not None and view.state.workflow is not None


def _has_workflow(view: SessionView) -> bool:
    return view.head is not None


PANELS: Mapping[str, Panel] = {
    panel.name: panel
    for panel in (
        Panel("Answer", ":material/chat:", outcome, _has_run),
        Panel("Timeline", ":material/view_timeline:", timeline_view, _has_run, selects=True),
        Panel("Access", ":material/grid_on:", access_view, _has_workflow, selects=True),
        Panel("Check", ":material/rule:", check_view, _has_workflow, remark),
        Panel("Trials", ":material/science:", trials_view, _has_run, selects=True),
        Panel("History", ":material/history:", history_view, _has_workflow),
        Panel("Code", ":material/code:", use_from_code, _has_workflow),
    )
}
"""In the order in which they are offered; the first one offered is shown first."""


def panels(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the choice and the chosen view."""
    offered = [name for name, panel in PANELS.items() if panel.offered(view)]
    if not offered:
        return
    name = _chosen(tab, view, offered) if len(offered) > 1 else offered[0]
    tab.note_panel(selects=PANELS[name].selects)
    PANELS[name].draw(bench, tab, view)
    if view.head is not None:
        Shown(tab, view.head, place="panels").mark()


def _chosen(tab: TabState, view: SessionView, offered: list[str]) -> str:
    def named(name: str) -> str:
        panel = PANELS[name]
        remark = panel.remark(view)
        return f"{panel.icon} {name}{f' {remark}' if remark else ''}"

    chosen = show_first("panel", offered[0])
    # A view that no person chose gives way to the one offered first by now, such as the answer of a run.
    unchosen = chosen == st.session_state.get("panel_first") or echoed("panel", chosen)
    if unchosen or chosen not in offered:
        mirrored(tab, "panel", offered[0])
    st.session_state["panel_first"] = offered[0]
    picked = st.segmented_control(
        "View", offered, required=True, key="panel", format_func=named, label_visibility="collapsed"
    )
    return picked or offered[0]
