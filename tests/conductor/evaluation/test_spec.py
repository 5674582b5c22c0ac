"""What a cell took: what its workflow takes by itself, and what was called for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from worker_cases import outputs_of, played

from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult, EvaluationSpec, cell_result
from conductor.runs.state import RunState
from conductor.values.messages import NOTHING_USED
from conductor.values.output import HandEdit
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow

ATTEMPT = Step(instruction="try it", worker="alpha")
EQUAL = Workflow.of([ATTEMPT, ATTEMPT, Step(instruction="choose", worker="beta", access=(0, 1))])
POOL = Pool(workers=tuple(SimulatedWorker(name, tokens=4) for name in ("alpha", "beta")))


def _result(*runs: RunState) -> CellResult:
    return cell_result(Score(verdict="right"), planning=NOTHING_USED, paid_planning=0, runs=runs)


def test_equal_steps_are_called_each_and_count_each() -> None:
    result = _result(asyncio.run(played(EQUAL, POOL)))
    assert (result.calls, result.paid) == (3, 3)
    assert result.work == result.spent
    assert result.workers == (("alpha", 2), ("beta", 1))


def test_outputs_that_were_there_count_as_work_and_not_as_spent() -> None:
    first = asyncio.run(played(EQUAL, POOL))
    result = _result(asyncio.run(played(EQUAL, POOL, outputs=outputs_of(first))))
    assert (result.calls, result.paid) == (3, 0)
    assert (result.work, result.spent) == (_result(first).work, NOTHING_USED)


def test_what_a_later_round_repeats_counts_once() -> None:
    first = asyncio.run(played(EQUAL, POOL))
    again = EQUAL.with_instruction(2, "choose again")
    second = asyncio.run(played(again, POOL, outputs=outputs_of(first), run="s"))
    result = _result(first, replace(second, round=2))
    assert (result.calls, result.paid) == (4, 4)
    assert result.work == result.spent


def test_what_a_person_wrote_is_no_call() -> None:
    first = asyncio.run(played(EQUAL, POOL))
    written = first.outputs[0].by_hand("mine", edit=HandEdit(at=0.0))
    result = _result(asyncio.run(played(EQUAL.with_pin(0, written), POOL)))
    assert (result.calls, result.paid) == (2, 2)
    assert result.work == result.spent
    assert result.work.total is not None


def test_half_of_a_trials_questions_is_held_out_until_a_variant_is_chosen() -> None:
    spec = EvaluationSpec(data="", digest="", planners=("plan:a", "plan:b", "plan:c"), repeats=2)
    assert not any(map(spec.holds_out, range(10)))
    assert spec.cells(10) == 60
    trial = spec.model_copy(update={"held_out": True})
    held = [at for at in range(1000) if trial.holds_out(at)]
    assert [at // 2 for at in held] == list(range(500)), "of two neighbours one"
    assert 200 < sum(at % 2 for at in held) < 300
    assert trial.cells(1000) == 500 * 3 * 2
    assert not trial.asks("plan:a", held[0])
    chosen = trial.model_copy(update={"confirmed": "plan:c"})
    assert [name for name in chosen.planners if chosen.asks(name, held[0])] == ["plan:a", "plan:c"]
    assert chosen.cells(1000) == (500 * 3 + 500 * 2) * 2
    other = trial.model_copy(update={"seed": 1})
    assert held != [at for at in range(1000) if other.holds_out(at)]


def test_only_a_sequential_evaluation_has_an_order_of_its_own() -> None:
    spec = EvaluationSpec(data="", digest="", planners=("a",))
    sequential = spec.model_copy(update={"sequential": True})
    assert list(spec.order(5)) == [0, 1, 2, 3, 4]
    assert sorted(sequential.order(50)) == list(range(50)) != sequential.order(50)
    assert sequential.order(50) == sequential.order(50)
