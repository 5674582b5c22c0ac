"""Draws the newest trials of a session onto the steps and edges of its graph.

Knows experiments and the session that is shown; reads those that have ended once for each tab.
"""

from __future__ import annotations

from contextlib import suppress

from conductor.engine.experiments import EdgeTest, StepSearch, edge_verdicts
from conductor.engine.step_verdicts import step_verdicts
from conductor.errors import WorkerError
from pages.components.tab.state import TabState
from pages.components.view_models.session import Results, SessionView
from pages.components.view_models.workflow.heat import HeatMap, edge_heat, step_heat
from storage import ExperimentRecord
from studio.workbench import Workbench


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
