"""The figures that a graph draws as heat: exact, bounded or unknown, and never 0 where they are unknown."""

from __future__ import annotations

import pytest

from conductor.engine.experiments import EdgeVerdict, Replacement
from conductor.engine.step_verdicts import StepVerdict
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.messages import Usage
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.workflow.heat import Heat, edge_heat, run_heat, step_heat
from tests.support.runs.charges import took

WORKFLOW = Workflow.of(Step(instruction="Work.", worker=f"w{at}") for at in range(3))


def done(seconds, cost, *, least=None):
    usage = Usage(prompt_tokens=1, completion_tokens=1, cost=cost, least_cost=least)
    return StepState(status="finished", started_at=10.0, finished_at=10.0 + seconds, charges=took(usage))


def heat(*states, workflow=WORKFLOW):
    return run_heat(workflow, RunState(run="r", workflow=WORKFLOW, steps=states), now=14.0)


REUSED = StepState(status="finished", reused=True)
WAITING = StepState()


def test_the_largest_figure_is_the_hottest_and_each_is_a_share_of_all():
    time, cost = heat(done(3.0, 0.5), done(1.0, 1.5), REUSED)
    assert time.steps == {0: Heat("3.0 s · 75%", 1.0), 1: Heat("1.0 s · 25%", pytest.approx(1 / 3))}
    assert cost.steps == {0: Heat("$0.5000 · 25%", pytest.approx(1 / 3)), 1: Heat("$1.50 · 75%", 1.0)}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (
            (done(1, None), done(1, None), WAITING),
            {0: Heat("cost unknown", None), 1: Heat("cost unknown", None)},
        ),
        ((done(1, None), done(1, 0.5), WAITING), {0: Heat("cost unknown", None), 1: Heat("$0.5000", 1.0)}),
        ((done(1, 0.0), REUSED, WAITING), {0: Heat("$0.00", 0.0)}),
        (
            (done(1, 0.5, least=0.25), done(1, 1.0), WAITING),
            {0: Heat("≤ $0.5000", 0.5), 1: Heat("$1.00", 1.0)},
        ),
    ],
    ids=["there is no result", "one of two is unknown", "nothing was paid", "an upper bound"],
)
def test_a_cost_that_is_unknown_is_neither_nothing_nor_cold(states, expected):
    assert heat(*states)[1].steps == expected


def test_a_step_that_calls_no_model_costs_nothing():
    state = StepState(status="finished", worker_kind="offline", started_at=10.0, finished_at=11.0)
    assert heat(state, WAITING, WAITING)[1].steps == {0: Heat("$0.00", 0.0)}


def test_a_running_step_has_the_time_that_it_took_so_far_and_no_cost_yet():
    running = StepState(status="running", started_at=12.0, worker_kind="model")
    time, cost = heat(done(2.0, 0.5), running, WAITING)
    assert time.steps[1] == Heat("2.0 s · 50%", 1.0)
    assert cost.steps[1] == Heat("cost unknown", None)


def test_before_the_first_call_and_of_another_workflow_nothing_is_drawn():
    assert heat(WAITING, WAITING, WAITING) == ()
    assert heat(done(1, 1), WAITING, WAITING, workflow=WORKFLOW.with_worker(0, "other")) == ()
    assert run_heat(WORKFLOW, None, now=0.0) == ()


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (EdgeVerdict((0, 1), (0.38,), lost=0, pending=0), Heat("38%", 0.38)),
        (EdgeVerdict((0, 1), (0.0,), lost=0, pending=0, beyond_noise=False), Heat("0%", 0.0)),
        (EdgeVerdict((0, 1), (0.2, 0.4), 0, 0, beyond_noise=False), Heat("30% (noise)", pytest.approx(0.3))),
        (EdgeVerdict((0, 1), (0.2,), lost=1, pending=0), Heat("20%, 1 lost", 1.0)),
        (EdgeVerdict((0, 1), (), lost=1, pending=0), Heat("no answer", 1.0)),
        (EdgeVerdict((0, 1), (), lost=0, pending=1), Heat("waiting", None)),
        (EdgeVerdict((0, 1), (), lost=0, pending=0, broken=1), Heat("stopped", None)),
    ],
)
def test_an_edge_has_how_much_the_answer_changed_without_it(verdict, expected):
    control = EdgeVerdict(None, (0.1,), lost=0, pending=0)
    assert edge_heat([verdict, control], trial="t").edges == {"0-1": expected}


def test_a_step_has_its_best_replacement():
    best, worse = (Replacement(step=1, worker=worker) for worker in ("b", "c"))
    verdicts = [
        StepVerdict(best, right=2, wrong=1),
        StepVerdict(worse, wrong=3),
        StepVerdict(Replacement(step=0, text="x"), pending=1),
        StepVerdict(None, wrong=3),
    ]
    assert step_heat(verdicts, trial="t").steps == {
        1: Heat("right in 2 of 3", pytest.approx(2 / 3)),
        0: Heat("waiting", None),
    }
