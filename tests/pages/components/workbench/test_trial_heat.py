"""What the graph draws of trials: those of the workflow that is shown, the newest of each kind."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from conductor.engine.experiments import EdgeTest, Replacement, StepSearch, Swap
from conductor.errors import WorkerError
from conductor.values.accepted import Accepted
from conductor.values.output import HandEdit
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.session import SessionView
from pages.components.workbench.canvas import trial_heat
from studio.workbench import ViewOnlyWorkbench

PLAN = Workflow.of(
    [
        Step(instruction="Draft it.", worker="alpha"),
        Step(instruction="Check it.", worker="beta", access=(0,)),
        Step(instruction="Decide.", worker="alpha", access=(0, 1)),
    ]
)
SEARCH = StepSearch(
    accepted=Accepted(target=("nothing of the kind",), check="contains"),
    replacements=(Replacement(step=1, worker="alpha"),),
    hand=HandEdit(at=0.0, by="a person"),
)


@pytest.fixture
def ran(bench):
    session = bench.ask("Which one?").id
    bench.editing.edit(session, PLAN, note="Written by hand")
    assert bench.running.start(session).done.wait(timeout=60)
    return session


@pytest.fixture
def maps(bench, ran):
    """What is drawn now."""
    tab = SimpleNamespace(trial_heat={}, view_only=None)
    return lambda: {heat.name: heat for heat in trial_heat(bench, tab, SessionView.load(bench, ran))}


def tried(bench, session, experiment):
    live = bench.experiments.begin(session, experiment)
    live.work.result(60)
    return live.record.id


def test_without_trials_nothing_is_drawn_and_a_swap_is_none_of_the_kind(bench, ran, maps):
    assert maps() == {}
    tried(bench, ran, Swap(step=1, workers=("alpha",)))
    assert maps() == {}


def test_the_newest_edge_test_and_the_newest_search_are_drawn(bench, ran, maps):
    tried(bench, ran, EdgeTest(edges=((0, 1),)))
    first = maps()["edges"]
    assert set(first.edges) == {"0-1"}
    newest = tried(bench, ran, EdgeTest(edges=((0, 2), (1, 2))))
    search = tried(bench, ran, SEARCH)
    edges, steps = maps()["edges"], maps()["steps"]
    assert (edges.trial, set(edges.edges)) == (newest, {"0-2", "1-2"})
    assert all(heat.text.endswith("%") and heat.share is not None for heat in edges.edges.values())
    assert (steps.trial, steps.steps[1].text, steps.steps[1].share) == (search, "right in 0 of 1", 0.0)


def test_trials_of_another_workflow_are_drawn_again_once_that_is_back(bench, ran, maps):
    tried(bench, ran, EdgeTest(edges=((0, 1),)))
    bench.editing.edit(ran, PLAN.with_access(2, (1,)), note="Without the draft")
    assert maps() == {}
    bench.editing.edit(ran, PLAN, note="With the draft")
    assert set(maps()) == {"edges"}


def test_a_watcher_sees_the_edges_and_has_no_answer_compared(bench, ran):
    tried(bench, ran, EdgeTest(edges=((0, 1),)))
    tried(bench, ran, SEARCH)
    viewed = ViewOnlyWorkbench(bench)
    tab = SimpleNamespace(trial_heat={}, view_only=ran)
    assert [heat.name for heat in trial_heat(viewed, tab, SessionView.load(viewed, ran))] == ["edges"]


def test_an_answer_that_cannot_be_compared_leaves_the_graph_without_the_search(bench, ran, maps, monkeypatch):
    tried(bench, ran, SEARCH)

    def fails(*args, **options):
        raise WorkerError("The comparison of formulas cannot be reached.")

    monkeypatch.setattr(bench.experiments, "right", fails)
    assert maps() == {}


def test_a_search_whose_answers_are_not_compared_yet_is_drawn_once_they_are(bench, ran, maps, monkeypatch):
    tried(bench, ran, SEARCH)
    with monkeypatch.context() as patch:
        patch.setattr(bench.experiments, "right", lambda *_args, **_options: {})
        assert maps()["steps"].steps[1].text == "waiting"
    assert maps()["steps"].steps[1].text == "right in 0 of 1"
