"""Experiments are variants of a workflow, and their changes are listed in order."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.engine.experiments import (
    MAX_TRIALS,
    EdgeTest,
    Experiment,
    Replacement,
    StepSearch,
    Swap,
    edge_verdicts,
    edges_to_test,
    trials_of,
)
from conductor.engine.known_outputs import KnownOutputs
from conductor.errors import WorkflowError
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState, RunStatus
from conductor.values.accepted import Accepted
from conductor.values.messages import Request
from conductor.values.output import HandEdit
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.cases.property_cases import cases
from tests.support.runs.worker_cases import outputs_of, played
from tests.support.runs.workflow_cases import WORKERS, workflow_of, workflows

DIAMOND = workflow_of((), (0,), (0,), (1, 2))


def pool_of(answer: object = None) -> Pool:
    return Pool(workers=tuple(SimulatedWorker(name=name, tokens=3, answer=answer) for name in WORKERS))  # type: ignore[arg-type]


def sightseer(request: Request) -> str:
    """Answers with the steps that it saw, so that an answer shows what reached it."""
    return " ".join(f"{seen.step}({seen.response})" for seen in request.seen) or "nothing"


def tried(experiment: Experiment, workflow: Workflow, pool: Pool) -> tuple[RunState, dict[int, RunState]]:
    """The run that is compared with, and the trials' ends."""

    async def all_of() -> tuple[RunState, dict[int, RunState]]:
        base = await played(workflow, pool)
        ends = {}
        for at, trial in enumerate(trials_of(experiment, workflow)):
            ends[at] = await played(
                trial.workflow,
                pool,
                outputs=KnownOutputs.of(base),
                scope=trial.scope,
                preloaded=base.outputs,
            )
        return base, ends

    return asyncio.run(all_of())


def called(state: RunState) -> set[int]:
    return {at for at, step in enumerate(state.steps) if step.started_at is not None}


def test_a_swap_asks_each_worker_the_same_question() -> None:
    swap = Swap(step=3, workers=("beta", "gamma", "beta"), repeats=2)
    trials = trials_of(swap, DIAMOND)
    assert [(trial.worker, trial.repeat) for trial in trials] == [
        ("beta", 1), ("beta", 2), ("gamma", 1), ("gamma", 2),
    ]  # fmt: skip
    base, ends = tried(swap, DIAMOND, pool_of())
    assert all(called(end) == {3} for end in ends.values())
    requests = [end.steps[3].request for end in ends.values()]
    assert all(request is not None and request.seen == base.steps[3].request.seen for request in requests)  # type: ignore[union-attr]
    assert {end.steps[3].output.worker for end in ends.values()} == {"beta", "gamma"}  # type: ignore[union-attr]


def test_a_pinned_step_is_swapped_all_the_same_and_sees_what_is_pinned_above_it() -> None:
    base = asyncio.run(played(DIAMOND, pool_of()))
    written = base.outputs[1].by_hand("mine", edit=HandEdit(at=1.0))
    pinned = DIAMOND.with_pin(1, written).with_pin(3, base.outputs[3])
    _, ends = tried(Swap(step=3, workers=("beta",)), pinned, pool_of(sightseer))
    assert called(ends[0]) == {3}
    assert ends[0].steps[3].text == "1(mine) 2(0(nothing))"


def test_without_an_edge_only_what_depends_on_it_is_run_again() -> None:
    test = EdgeTest(edges=((0, 1), (2, 3)))
    assert [trial.scope for trial in trials_of(test, DIAMOND)] == [EDITED, EDITED]
    base, ends = tried(test, DIAMOND, pool_of(sightseer))
    assert [called(end) for end in ends.values()] == [{1, 3}, {3}]
    assert base.answer == "1(0(nothing)) 2(0(nothing))"
    assert [end.answer for end in ends.values()] == ["1(nothing) 2(0(nothing))", "1(0(nothing))"]


def test_repeats_ask_again_and_bring_a_control() -> None:
    trials = trials_of(EdgeTest(edges=((0, 2), (2, 3)), repeats=2), DIAMOND)
    assert [(trial.edge, trial.scope.step, trial.repeat) for trial in trials] == [
        ((0, 2), 2, 1), ((0, 2), 2, 2), ((2, 3), 3, 1), ((2, 3), 3, 2), (None, 2, 1), (None, 2, 2),
    ]  # fmt: skip
    assert trials[-1].workflow == DIAMOND
    _, ends = tried(EdgeTest(edges=((2, 3),), repeats=2), DIAMOND, pool_of())
    assert all(called(end) == {3} for end in ends.values())


def test_the_edge_that_changed_the_answer_most_comes_first_and_the_control_last() -> None:
    test = EdgeTest(edges=((0, 1), (0, 2), (1, 3), (2, 3)), repeats=2)

    def answer(request: Request) -> str:
        seen = {done.step for done in request.seen}
        return "all is very well here" if 2 in seen or request.instruction != "task 4" else "no, not at all"

    base, ends = tried(test, DIAMOND, pool_of(answer))
    verdicts = edge_verdicts(base.answer or "", trials_of(test, DIAMOND), ends)
    assert [verdict.edge for verdict in verdicts] == [(2, 3), (0, 1), (0, 2), (1, 3), None]
    assert [verdict.matters for verdict in verdicts] == [True, False, False, False, False]
    assert verdicts[0].change is not None
    assert 0.5 < verdicts[0].change <= 1


def ended(answer: str | None) -> RunState:
    return RunState(status="finished", answer=answer)


@pytest.mark.parametrize(
    ("without", "control", "beyond"),
    [
        (("a x y z", "p q r s"), ("a b c d", "a b c d"), True),
        (("a x y z", "p q r s"), ("a b c d", "a b c z"), True),
        (("a b c z", "p q r s"), ("a b c d", "a b y z"), False),
        (("a b c z", "a b c z"), ("a b c d", "a b c z"), False),
        (("a b c d", "a b c d"), ("a b c d", "a b c d"), False),
        (("a x y z", None), ("a b c d", "a b c d"), True),
        ((None, None), ("a b c d", "a b c d"), True),
        ((None, None), ("a b c d", None), None),
    ],
)
def test_a_change_counts_where_each_answer_differs_more_than_any_of_the_controls(
    without: tuple[str | None, ...], control: tuple[str | None, ...], *, beyond: bool | None
) -> None:
    trials = trials_of(EdgeTest(edges=((2, 3),), repeats=2), DIAMOND)
    states = dict(enumerate(map(ended, (*without, *control))))
    verdict, by_itself = edge_verdicts("a b c d", trials, states)
    assert (verdict.beyond_noise, by_itself.beyond_noise) == (beyond, None)


def test_whether_a_change_is_noise_is_unknown_without_a_control_and_before_its_end() -> None:
    once = trials_of(EdgeTest(edges=((2, 3),)), DIAMOND)
    assert edge_verdicts("a b", once, {0: ended("x y")})[0].beyond_noise is None
    twice = trials_of(EdgeTest(edges=((2, 3),), repeats=2), DIAMOND)
    states = {0: ended("x y"), 1: ended("x y"), 2: ended("a b")}
    assert edge_verdicts("a b", twice, states)[0].beyond_noise is None
    broken = {**states, 3: RunState(status="cancelled")}
    assert edge_verdicts("a b", twice, broken)[0].beyond_noise is None


def test_an_edge_without_which_there_is_no_answer_matters_most() -> None:
    test = EdgeTest(edges=((1, 3), (2, 3)))
    trials = trials_of(test, DIAMOND)
    answered = RunState(status="finished", answer="another")
    failed = RunState(status="failed")
    verdicts = edge_verdicts("the answer", trials, {0: answered, 1: failed})
    assert [(verdict.edge, verdict.lost, verdict.pending) for verdict in verdicts] == [
        ((2, 3), 1, 0), ((1, 3), 0, 0),
    ]  # fmt: skip
    running = edge_verdicts("the answer", trials, {0: RunState()})
    assert [(verdict.change, verdict.pending, verdict.matters) for verdict in running] == [
        (None, 1, False), (None, 1, False),
    ]  # fmt: skip


@pytest.mark.parametrize("status", ["cancelled", "interrupted", "over_budget"])
def test_a_trial_that_was_broken_off_states_nothing_of_its_edge(status: RunStatus) -> None:
    trials = trials_of(EdgeTest(edges=((2, 3),)), DIAMOND)
    (verdict,) = edge_verdicts("the answer", trials, {0: RunState(status=status)})
    assert (verdict.lost, verdict.pending, verdict.broken, verdict.matters) == (0, 0, 1, False)


@cases(50)
@given(workflow=workflows(max_steps=5), data=st.data())
def test_an_edge_trial_runs_nothing_that_does_not_depend_on_the_edge(
    workflow: Workflow, data: st.DataObject
) -> None:
    edges = edges_to_test(workflow)
    if not edges:
        return
    edge = data.draw(st.sampled_from(edges))
    _, ends = tried(EdgeTest(edges=(edge,)), workflow, pool_of(sightseer))
    assert called(ends[0]) <= workflow.descendants(edge[1]) | {edge[1]}


@pytest.mark.parametrize(
    ("experiment", "match"),
    [
        (Swap(step=4, workers=("beta",)), "There is no step 5"),
        (EdgeTest(edges=((0, 3),)), "Step 4 does not read step 1"),
        (EdgeTest(edges=((0, 9),)), "Step 10 does not read step 1"),
    ],
)
def test_an_experiment_that_does_not_fit_the_workflow_is_refused(experiment: Experiment, match: str) -> None:
    with pytest.raises(WorkflowError, match=match):
        trials_of(experiment, DIAMOND)


def test_nothing_is_tested_that_a_pinned_step_reads() -> None:
    base = asyncio.run(played(DIAMOND, pool_of()))
    pinned = DIAMOND.with_pin(3, base.outputs[3])
    assert edges_to_test(pinned) == ((0, 1), (0, 2))
    with pytest.raises(WorkflowError, match="Step 4 is pinned"):
        trials_of(EdgeTest(edges=((1, 3),)), pinned)


@pytest.mark.slow
def test_an_experiment_has_a_limit_of_runs() -> None:
    wide = workflow_of(*[() for _ in range(40)], tuple(range(40)))
    with pytest.raises(WorkflowError, match=f"369 runs; an experiment has at most {MAX_TRIALS}"):
        trials_of(EdgeTest(edges=edges_to_test(wide), repeats=9), wide)


def test_what_a_person_wrote_is_not_taken_for_a_workers_answer() -> None:
    base = asyncio.run(played(DIAMOND, pool_of()))
    written = base.outputs[1].by_hand("mine", edit=HandEdit(at=1.0))
    state = asyncio.run(played(DIAMOND.with_pin(1, written), pool_of(), outputs=outputs_of(base)))
    again = asyncio.run(played(DIAMOND, pool_of(), outputs=KnownOutputs.of(state)))
    assert [step.reused for step in again.steps] == [True, False, True, False]


def test_a_trial_of_one_step_states_it() -> None:
    (trial,) = trials_of(Swap(step=1, workers=("beta",)), DIAMOND)
    assert trial.scope == RunScope(kind="only", step=1)


@pytest.mark.parametrize("rule", [OnFailure(fallback="beta"), OnFailure(output="red"), OnFailure(retries=2)])
def test_a_worker_is_tried_by_its_own_answer(rule: OnFailure) -> None:
    workflow = DIAMOND.with_worker(1, "alpha").with_on_failure(1, rule)
    hand = HandEdit(at=1.0)
    for trial in (
        *trials_of(Swap(step=1, workers=("gamma",)), workflow),
        *trials_of(
            StepSearch(
                replacements=(Replacement(step=1, worker="gamma"),),
                accepted=Accepted(target=("x",)),
                hand=hand,
            ),
            workflow,
        ),
    ):
        own = trial.workflow.steps[1]
        assert own.workers == ("gamma",)
        assert own.on_failure == (rule if rule.retries else None)
