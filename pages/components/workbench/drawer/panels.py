"""The drawer: one view of the workflow or its run at a time, chosen by name; closed, a row of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from pages.components.tab.page_part import PagePart
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.widgets.labels import distinct_labels
from pages.components.workbench.drawer.check import check_view, remark
from pages.components.workbench.drawer.history import history_view
from pages.components.workbench.drawer.timeline import timeline_view
from pages.components.workbench.drawer.trials.panel import trials_view
from pages.components.workbench.planning.other_plans import plans_remark, plans_view
from studio.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Panel:
    """A view of a workflow or of its run. `remark` is what its name shows more, such as a count, or "".
    `selects`: it shows which step is selected; `moves`: while the run does. `viewed`: an audience has it,
    too. `holds` is what is in it, by the names that people may look for.
    """

    icon: str
    draw: Callable[[Workbench, TabState, SessionView], None]
    holds: str
    remark: Callable[[Workbench, SessionView], str] = lambda _bench, _view: ""
    selects: bool = False
    moves: bool = False
    viewed: bool = False


PANELS: Mapping[str, Panel] = {
    "Timeline": Panel(
        "view_timeline", timeline_view, "bars, critical path, replay", selects=True, moves=True, viewed=True
    ),
    "Check": Panel("rule", check_view, "access grid, warnings, fixes", remark=remark, selects=True),
    "Trials": Panel("science", trials_view, "swap a worker, test edges, find the step, data", selects=True),
    "Plans": Panel("alt_route", plans_view, "candidates, methods, changes in words", remark=plans_remark),
    "History": Panel("history", history_view, "revisions, restore, fork"),
}
"""In the order in which they are offered."""


def panels(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the choice and, while the drawer is open, the chosen view of a session that has a workflow."""
    if view.head is None:
        return
    watched = tab.watched
    own = [name for name, panel in PANELS.items() if panel.viewed or not watched]
    name = _chosen(bench, view, own)
    tab.panel_selects = name is not None and PANELS[name].selects
    # While a replay plays, its player advances in the browser without the server.
    tab.panel_moves = name is not None and PANELS[name].moves and view.replay is None
    if name is not None:
        with st.container(key="drawer-body"):
            PANELS[name].draw(bench, tab, view)
    PagePart(tab, view.head, place="panels").mark()


def _chosen(bench: Workbench, view: SessionView, offered: list[str]) -> str | None:
    named = {}
    for name in offered:
        remark = PANELS[name].remark(bench, view)
        named[name] = f":material/{PANELS[name].icon}: {name}{f' ({remark})' if remark else ''}"
    # Sent only where it changes: it would overwrite a press that is under way.
    if st.session_state.get("panel") not in (None, *offered):
        st.session_state["panel"] = None
    return st.segmented_control(
        "View", offered, key="panel", format_func=distinct_labels(named), label_visibility="collapsed"
    )
