"""Experiments on the workflow: what can be tried, and what is being tried."""

from __future__ import annotations

from functools import partial

import streamlit as st

from conductor.engine.experiments import (
    EdgeTest,
    Experiment,
    StepSearch,
    Swap,
    edges_to_test,
    trials_of,
)
from conductor.errors import ConductorError
from conductor.text.calendar_time import local_time
from conductor.text.formatting import quantity
from conductor.workflow.model import Workflow
from pages.components.panes import scroll_to
from pages.components.tab.notices import showing_errors
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import Results, SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import action, choice, expander, row
from pages.components.widgets.labels import distinct_labels
from pages.components.workbench.drawer.trials.data_trials import data_trials, new_data_trial
from pages.components.workbench.drawer.trials.experiment_results import edge_results, swap_results
from pages.components.workbench.drawer.trials.step_search import new_search, repeats_field, search_results
from pages.components.workbench.editor import Editor
from storage import ExperimentRecord, Revision
from studio.workbench import Workbench

POLL_SECONDS = 0.5

_NEWEST = "experiment-begun"
"""Where the tab has the experiment that it began last, whose results are scrolled to."""

_KINDS = {"swap": "Swap a worker", "edges": "Test edges", "steps": "Find the step", "data": "On data"}


_ICONS = {"swap": "swap_horiz", "edges": "cable", "steps": "troubleshoot", "data": "dataset"}


def trials_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the way to a new experiment, then those that were made, the newest one open."""
    if view.head is None:
        return
    tab.show_notice("trials")
    if view.run is None:
        st.caption("Nothing has run yet. Run the workflow first: trials are compared with that run.")
    _new(bench, tab, view, view.head)
    data_trials(bench, tab, view)
    records = bench.store.experiments.of_session(view.session.id)
    under_way = bench.experiments.under_way(view.session.id)
    for at, record in enumerate(records):
        if record.id in under_way:
            _live(bench, tab, view, record)
        elif at == 0:
            _newest(bench, tab, view, record)
        else:
            icon = _ICONS[record.experiment.kind]
            if box := expander(plain(title(record)), icon, key=f"experiment-{record.id}"):
                with box:
                    _results(bench, tab, view, Results.load(bench, record))


# -- a new one -----------------------------------------------------------------------------------


def _new(bench: Workbench, tab: TabState, view: SessionView, head: Revision) -> None:
    workflow = head.workflow
    with st.container(border=True, key="new-experiment", gap="small"):
        kinds = {kind: f":material/{_ICONS[kind]}: {name}" for kind, name in _KINDS.items()}
        kind = choice("What to try", kinds, key="experiment-kind", default="swap")
        if kind == "data":
            new_data_trial(bench, view, head)
            return
        experiment: Experiment | None
        if kind == "steps":
            experiment = new_search(bench, view, workflow)
        else:
            experiment = _swap(bench, tab, workflow) if kind == "swap" else _edge_test(workflow)
        why = _why_not(bench, view, experiment)
        with row():
            action(
                "Try",
                "science",
                partial(_begin, bench, view.session.id, experiment),
                key="experiment-begin",
                disabled=why is not None,
                place="trials",
                redraw=False,
            )
            if experiment is None and kind == "steps":
                st.caption("Enter the accepted answer, then choose a worker or write an output.")
            else:
                st.caption(
                    plain(why)
                    if why is not None and experiment is not None
                    else _runs(bench, view, experiment)
                )


def _begin(bench: Workbench, session: str, experiment: Experiment | None) -> None:
    if experiment is not None:
        st.session_state[_NEWEST] = bench.experiments.begin(session, experiment).record.id


def _swap(bench: Workbench, tab: TabState, workflow: Workflow) -> Swap | None:
    selected = tab.selected if tab.selected is not None and tab.selected < len(workflow) else workflow.final
    which = "" if selected == tab.selected else " Select another step in the graph to swap that one."
    st.caption(
        f"Step {plain(step_name(workflow, selected))}: other workers answer its request from the last "
        f"run. Nothing else runs.{which}"
    )
    own = workflow.steps[selected].worker
    named = {name: name for name in bench.pool.names if name != own} | {own: f"{own} (in the plan)"}
    left, right = st.columns([3, 1])
    workers = left.multiselect(
        "Workers",
        list(named),
        key=f"swap-workers-{selected}",
        format_func=distinct_labels(named),
        placeholder="Workers to try instead",
    )
    repeats = repeats_field(right, "swap")
    return Swap(step=selected, workers=tuple(workers), repeats=repeats) if workers else None


def _edge_test(workflow: Workflow) -> EdgeTest | None:
    st.caption(
        "Removes one edge at a time, reruns what depends on it and compares the answers. With "
        "repeats, a control shows how much the answer varies anyway."
    )
    edges = edges_to_test(workflow)
    left, right = st.columns([3, 1])
    chosen = left.multiselect(
        "Edges",
        edges,
        key=f"test-edges-{len(workflow)}",
        format_func=distinct_labels({edge: f"{edge[0] + 1} → {edge[1] + 1}" for edge in edges}),
        placeholder="All edges" if edges else "No step reads another",
    )
    repeats = repeats_field(right, "edges")
    return EdgeTest(edges=tuple(chosen or edges), repeats=repeats) if edges else None


def _why_not(bench: Workbench, view: SessionView, experiment: Experiment | None) -> str | None:
    if view.problem:
        return view.problem
    if experiment is None:
        return "Nothing is chosen."
    if bench.experiments.under_way(view.session.id):
        return "A trial is running. Wait for it, or stop it."
    base = bench.experiments.base(view.session.id)
    if base is None or base.state.workflow is None:
        return "Run the current workflow first: trials are compared with that run."
    try:
        trials_of(experiment, base.state.workflow)
    except ConductorError as error:
        return str(error)
    return None


def _runs(bench: Workbench, view: SessionView, experiment: Experiment | None) -> str:
    """How many runs it takes and what they will probably use."""
    base = None if experiment is None else bench.experiments.base(view.session.id)
    if experiment is None or base is None or base.state.workflow is None:
        return ""
    count = len(trials_of(experiment, base.state.workflow))
    facts = [quantity(count, "run"), *bench.experiments.estimate(experiment, base).words, "several at once"]
    return f"{', '.join(facts)}; the session's own runs do not change."


# -- those that were made ------------------------------------------------------------------------


def _live(bench: Workbench, tab: TabState, view: SessionView, record: ExperimentRecord) -> None:
    @st.fragment(key=f"experiment-live-{record.id}", run_every=POLL_SECONDS)
    def live() -> None:
        with showing_errors("trials"):
            if record.id not in bench.experiments.under_way(record.session):
                st.rerun()
            _newest(bench, tab, view, record)

    live()


def _newest(bench: Workbench, tab: TabState, view: SessionView, record: ExperimentRecord) -> None:
    results = Results.load(bench, record)
    with st.container(border=True, key=f"experiment-{record.id}", gap="small"):
        with row():
            st.markdown(f":material/{_ICONS[record.experiment.kind]}: **{plain(title(record))}**")
            st.space("stretch")
            if results.live:
                key = f"experiment-stop-{record.id}"
                action("Stop", "stop", bench.experiments.stop, record.id, key=key, redraw=False)
        if st.session_state.get(_NEWEST) == record.id:
            scroll_to(f"experiment-{record.id}")
        _results(bench, tab, view, results)


def _results(bench: Workbench, tab: TabState, view: SessionView, results: Results) -> None:
    _progress(results)
    if results.failure:
        st.error(plain(results.failure), icon=":material/error:")
    editor = None
    # Where the workflow is another one by now, or may not be edited, no result can be acted on.
    if view.head is not None and not view.locked and results.base.is_run_of(view.head.workflow):
        editor = Editor.of(bench, tab, view.head, place="panels")
    experiment = results.record.experiment
    if isinstance(experiment, Swap):
        swap_results(results, experiment, editor=editor)
    elif isinstance(experiment, StepSearch):
        search_results(results, experiment, editor=editor)
    else:
        edge_results(results, editor=editor)


def _progress(results: Results) -> None:
    ended = sum(not state.live for state in results.states.values())
    ran = f"{ended} of {quantity(len(results.trials), 'run')}"
    line = " · ".join([ran, *results.used.known_words])
    if results.live:
        st.progress(ended / max(1, len(results.trials)), text=plain(line))
    elif ended < len(results.trials):
        st.caption(plain(f"{line} · ended before all runs"))
    else:
        broken = sum(state.status in ("cancelled", "interrupted") for state in results.states.values())
        st.caption(plain(f"{line} · {broken} stopped early" if broken else line))


def title(record: ExperimentRecord) -> str:
    """An experiment in one line."""
    moment = f"{local_time(record.created_at):%d %b %Y, %H:%M}"
    experiment = record.experiment
    times = "" if experiment.repeats == 1 else f", {experiment.repeats} times each"
    if isinstance(experiment, Swap):
        return (
            f"Step {experiment.step + 1} by {quantity(len(experiment.workers), 'worker')}{times} · {moment}"
        )
    if isinstance(experiment, StepSearch):
        return f"{quantity(len(experiment.replacements), 'output')} replaced, one at a time{times} · {moment}"
    return f"{quantity(len(experiment.edges), 'edge')} left out, one at a time{times} · {moment}"
