"""The workflow's graph, in the centre of the workbench, and graphs of other workflows to look at."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import streamlit as st
from pyvis.network import Network

from conductor.drawing.layout import Direction, Layout, layouts
from conductor.drawing.network import CardContent, draw
from conductor.engine.experiments import EdgeTest, StepSearch, edge_verdicts
from conductor.engine.step_verdicts import step_verdicts
from conductor.errors import WorkerError
from conductor.runs.state import RunState
from conductor.workflow.model import Workflow
from pages.components.graph import workflow_graph
from pages.components.streamlit_patches.component import trigger_value
from pages.components.tab.state import TabState
from pages.components.view_models.session import Results, SessionView
from pages.components.view_models.workflow.branch_cards import (
    branch_contents,
    branch_heat,
    finished_branches,
)
from pages.components.view_models.workflow.card_content import card_contents
from pages.components.view_models.workflow.drawing import Drawing, drawing_of, partial_network
from pages.components.view_models.workflow.heat import HeatMap, edge_heat, run_heat, step_heat
from pages.components.view_models.workflow.worker_legend import WorkerShare, worker_legend
from pages.components.workbench.editor import Editor
from pages.components.workbench.planning.plan import plan_so_far
from pages.components.workbench.planning.proposed_change import decide, drawn_ghost, proposal_data
from pages.components.workbench.step.nested_path import Inside, with_kept_inside
from storage import ExperimentRecord
from studio.workbench import Workbench

_DIRECTIONS: tuple[Direction, ...] = ("down", "right")


def graph(bench: Workbench, tab: TabState, view: SessionView, *, editor: Editor | None = None) -> None:
    """The workflow's graph, with a proposed change of it as a ghost, or the plan as far as it is written;
    selecting redraws the inspector only, editing the whole page. `editor` makes the edits of a session that
    is not in the store; None: one of the session's head.

    An audience can edit nothing in it; presented, its letters are large.
    """
    # The graph is as high as this; what opens inside a step takes its room below it.
    with st.container(key="graph-room", gap=None):
        if not _partial(bench, tab, view):
            _graph(bench, tab, view, editor)


def _graph(bench: Workbench, tab: TabState, view: SessionView, editor: Editor | None) -> None:
    if view.head is None:
        with st.container(key="graph-waits"):
            st.caption("Steps appear here as the Conductor writes them.")
        return
    workflow = view.head.workflow
    stored = editor is None
    apart = tab.watched or tab.presents or not stored
    ghost, change = (None, None) if apart else drawn_ghost(bench, view)
    key = f"graph-{view.session.id}"
    editor = editor or Editor(bench=bench, tab=tab, session=view.session.id, head=view.head)
    inside = Inside(view.session.id)

    def selected() -> None:
        tab.selected = st.session_state[key].selected["step"]
        tab.search_match = None
        tab.redraw(tab.shows_selection)

    def edited() -> None:
        edit = trigger_value(key, "edit")
        if edit and not view.locked and not tab.watched and ghost is None:
            editor.from_graph(edit)
        tab.ask_redraw()

    def opened() -> None:
        if not tab.watched:
            inside.carry_out(trigger_value(key, "inside"), above=())
        tab.ask_redraw()

    def turned() -> None:
        if (turn := trigger_value(key, "turn")) in _DIRECTIONS:
            tab.direction = turn
        tab.ask_redraw()

    def collapsed() -> None:
        steps = trigger_value(key, "collapse")
        if tab.drawing is not None and isinstance(steps, list):
            tab.drawing = tab.drawing.with_collapsed(step for step in steps if isinstance(step, int))

    def decided() -> None:
        if change is not None:
            decide(bench, tab, change, trigger_value(key, "decide"))
        tab.ask_redraw()

    run, now = with_kept_inside(bench, view.state), time.time()
    contents = card_contents(
        workflow,
        run=run,
        radius=view.radius,
        cards=bench.pool.cards,
        now=now,
        pin_changed=view.pin_changed,
        notes={} if tab.presents else bench.notes.counts(view.session.id, workflow),
    )
    tab.drawing = drawing = drawing_of(
        workflow if ghost is None else ghost.workflow,
        session=view.session.id,
        direction=tab.direction,
        before=tab.drawing,
    )
    if ghost is not None:
        proposed = card_contents(ghost.diff.new, run=None, radius=None, cards=bench.pool.cards, now=now)
        cards = draw(
            ghost.workflow, ghost.contents(contents, proposed), drawing.pictures, changes=ghost.edge_changes
        )
        proposal = None if change is None else proposal_data(change, ghost)
        what = _GraphInput(cards, drawing.pictures, proposal=proposal)
    else:
        what = _as_it_is(drawing, contents, run, trial_heat(bench, tab, view) if stored else (), now)
    result = workflow_graph(
        what.network,
        what.pictures,
        key=key,
        direction=tab.direction,
        selected=tab.selected,
        selection_revision=tab.selection_revision,
        knows_selection=tab.knows_selection,
        locked=view.locked,
        editable=not tab.watched and ghost is None,
        large=tab.presents,
        legend=what.legend,
        heats=what.heats,
        proposal=what.proposal,
        collapses=what.collapses,
        inspector="inspector",
        opened=inside.way[0].step if inside.way else None,
        revision=view.head.id,
        on_select=selected,
        on_edit=edited,
        on_inside=opened,
        on_collapse=collapsed,
        on_decide=decided,
        on_turn=turned,
    )
    if not tab.knows_selection:
        tab.adopt_selection((result.selected or {}).get("step"))


def trial_heat(bench: Workbench, tab: TabState, view: SessionView) -> tuple[HeatMap, ...]:
    """A map for the newest edge test and one for the newest search for a step, where they tried the workflow
    that is shown; none while it runs. Watchers, who can have nothing compared, see no search. Raises
    `StorageError` where the store cannot be read.
    """
    if view.head is None or (view.live and view.replay is None):
        return ()
    maps = []
    records = bench.store.experiments.of_session(view.session.id)
    for kind in (EdgeTest, StepSearch) if tab.view_only is None else (EdgeTest,):
        record = next((each for each in records if isinstance(each.experiment, kind)), None)
        if record is None:
            continue
        base = bench.state(bench.store.runs.find(record.base))
        if base.is_run_of(view.head.workflow):
            # Why an answer cannot be compared is shown where the search is.
            with suppress(WorkerError):
                maps.append(_heat_of(bench, tab, record))
    return tuple(maps)


def _heat_of(bench: Workbench, tab: TabState, record: ExperimentRecord) -> HeatMap:
    if record.id in tab.trial_heat:
        return tab.trial_heat[record.id]
    results = Results.load(bench, record, wait=False)
    base, trials, states = results.base, results.trials, results.states
    if isinstance(record.experiment, StepSearch):
        heat = step_heat(step_verdicts(base, trials, states, results.right), trial=record.id)
    else:
        heat = edge_heat(edge_verdicts(base.answer or "", trials, states), trial=record.id)
    if not results.live and all(each.share is not None for each in heat.steps.values()):
        tab.trial_heat = {**tab.trial_heat, record.id: heat}
    return heat


class _GraphInput(NamedTuple):
    """What `workflow_graph` is given of a workflow."""

    network: Network
    pictures: Sequence[Layout]
    legend: Sequence[WorkerShare] = ()
    heats: Sequence[HeatMap] = ()
    proposal: Mapping[str, Any] | None = None
    collapses: Mapping[str, Sequence[int]] | None = None


def _as_it_is(
    drawing: Drawing,
    contents: Sequence[CardContent],
    run: RunState | None,
    trials: Sequence[HeatMap],
    now: float,
) -> _GraphInput:
    """The workflow with what is collapsed of it; `contents` are those of its steps."""
    workflow, branches = drawing.workflow, drawing.branches
    pictures = drawing.collapsed_pictures or drawing.pictures
    times_and_costs = run_heat(workflow, run, now=now, cards=branches.cards)
    return _GraphInput(
        draw(branches.card_workflow, branch_contents(branches, contents, run, now=now), pictures),
        pictures,
        legend=worker_legend(workflow, contents, run),
        heats=(*times_and_costs, *(branch_heat(trial, branches) for trial in trials)),
        collapses={"now": sorted(branches.collapsed), "finished": finished_branches(workflow, contents)},
    )


def _partial(bench: Workbench, tab: TabState, view: SessionView) -> bool:
    """Draw the plan that is being written, from its first step on; the last drawing stays until its workflow
    is there.
    """
    session, plan = view.session.id, plan_so_far(bench, view, view.planning)
    if plan.steps:
        tab.drawing = drawing_of(plan, session=session, direction=tab.direction, before=tab.drawing)
    drawing = tab.drawing
    if drawing is None or drawing.session != session or drawing.plan is None:
        return False
    if not plan.steps and (view.head is not None or view.planning is not None):
        return False
    workflow_graph(
        partial_network(drawing, drawing.plan),
        drawing.pictures,
        key=f"graph-{session}",
        direction=drawing.direction,
        selected=None,
        selection_revision=tab.selection_revision,
        locked=True,
        inspector="inspector",
        editable=False,
        large=tab.presents,
        grows=True,
    )
    return True


def still_graph(
    bench: Workbench,
    tab: TabState,
    workflow: Workflow,
    *,
    run: RunState | None,
    key: str,
    inspector: str,
    selected: int | None = None,
    reveal: str | None = None,
    on_inside: Callable[[], None] = lambda: None,
) -> Any:
    """The graph of a workflow that is only looked at; `run` is what its cards show. The rest is as in
    `workflow_graph`.
    """
    pictures = layouts(workflow, direction=tab.direction)
    now = time.time()
    contents = card_contents(workflow, run=run, radius=None, cards=bench.pool.cards, now=now)
    return workflow_graph(
        draw(workflow, contents, pictures),
        pictures,
        key=key,
        direction=tab.direction,
        selected=selected,
        selection_revision=0,
        locked=True,
        inspector=inspector,
        legend=worker_legend(workflow, contents, run),
        heats=run_heat(workflow, run, now=now),
        reveal=reveal,
        on_inside=on_inside,
    )
