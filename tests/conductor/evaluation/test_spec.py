"""What a cell took: what its workflow takes by itself, with what failed, and results of older versions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from conductor.errors import WorkerError
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult, EvaluationSpec, cell_result
from conductor.runs.state import RunState
from conductor.values.messages import NOTHING_USED, Delta, Retried, Usage
from conductor.values.output import HandEdit
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from tests.support.runs.worker_cases import Scripted, outputs_of, played

ATTEMPT = Step(instruction="try it", worker="alpha")
EQUAL = Workflow.of([ATTEMPT, ATTEMPT, Step(instruction="choose", worker="beta", access=(0, 1))])
POOL = Pool(workers=tuple(SimulatedWorker(name, tokens=4) for name in ("alpha", "beta")))


def _result(*runs: RunState, planning: Sequence[float | None] = ()) -> CellResult:
    return cell_result(
        Score(verdict="right"),
        planning=NOTHING_USED, planning_seconds=planning, plans=0, paid=0, runs=runs,
    )  # fmt: skip


def test_equal_steps_are_called_each_and_count_each() -> None:
    result = _result(asyncio.run(played(EQUAL, POOL)))
    assert result.calls == 3
    assert result.workers == (("alpha", 2), ("beta", 1))


def test_outputs_that_were_there_count_as_work_with_what_they_took_then() -> None:
    first = asyncio.run(played(EQUAL, POOL))
    again = asyncio.run(played(EQUAL, POOL, outputs=outputs_of(first)))
    assert (again.used.calls, _result(again).calls) == (0, 3)
    assert _result(again).work == _result(first).work
    assert _result(first).work.total == first.used.tokens


def test_what_a_later_round_repeats_counts_once() -> None:
    first = asyncio.run(played(EQUAL, POOL))
    again = EQUAL.with_instruction(2, "choose again")
    second = asyncio.run(played(again, POOL, outputs=outputs_of(first), run="s"))
    result = _result(first, replace(second, round=2))
    assert result.calls == 4
    assert result.work.total == (first.used + second.used).tokens


def _lasting(run: RunState, *seconds: float) -> RunState:
    """The run with outputs that took so long."""
    steps = [
        replace(step, output=step.output and step.output.model_copy(update={"seconds": each}))
        for step, each in zip(run.steps, seconds, strict=True)
    ]
    return replace(run, steps=tuple(steps))


def test_time_is_the_longest_way_with_planning_no_matter_who_paid_for_it() -> None:
    first = _lasting(asyncio.run(played(EQUAL, POOL)), 3.0, 2.0, 1.0)
    reusing = asyncio.run(played(EQUAL, POOL, outputs=outputs_of(first)))
    assert _result(first).seconds == _result(reusing).seconds == 4.0
    assert _result(first, planning=[0.5, 0.25]).seconds == 4.75
    assert _result(first, planning=[0.5, None]).seconds is None
    again = replace(_lasting(asyncio.run(played(EQUAL, POOL, run="s")), 3.0, 2.0, 8.0), round=2)
    repeating = replace(again, steps=(*first.steps[:2], again.steps[2]))
    assert _result(first, repeating).seconds == 12.0


def test_what_a_person_wrote_is_no_call() -> None:
    first = asyncio.run(played(EQUAL, POOL))
    written = first.outputs[0].by_hand("mine", edit=HandEdit(at=0.0))
    run = asyncio.run(played(EQUAL.with_pin(0, written), POOL))
    result = _result(run)
    assert result.calls == 2
    assert result.work.total == run.used.tokens


REFUSED = WorkerError("Down.", used=NOTHING_USED)
FILTERED = WorkerError("Filtered.", used=Usage(prompt_tokens=70, completion_tokens=7, cost=0.5))
CUT = WorkerError("Cut off.")


@pytest.mark.parametrize(
    ("ends", "tokens", "cost"),
    [
        ([REFUSED], 0, 0.0),
        ([FILTERED], 77, 0.5),
        ([CUT], 0, 0.0),
        ([Delta("Well"), CUT], None, None),
        ([Retried(attempt=1, message="Filtered.", seconds=0, used=FILTERED.used), FILTERED], 154, 1.0),
        (
            [Retried(attempt=1, message="Filtered.", seconds=0, used=FILTERED.used), Delta("Well"), CUT],
            None,
            None,
        ),
    ],
)
def test_what_failed_counts_with_what_it_took(ends: list[object], tokens: int | None, cost: float) -> None:
    run = asyncio.run(played(Workflow.of([ATTEMPT]), Pool(workers=(Scripted(ends, "alpha"),))))
    result = _result(run)
    assert (run.status, result.calls) == ("failed", 1)
    assert (result.work.total, result.work.cost) == (tokens, cost)
    assert result.work.total == run.used.usage.total


@pytest.mark.parametrize(
    "spent",
    [
        {"prompt_tokens": 1, "completion_tokens": 2, "cost": None},
        {"prompt_tokens": None, "completion_tokens": None, "cost": None, "cached_tokens": 3},
    ],
)
def test_a_result_that_an_older_version_stored_is_read(spent: dict[str, object]) -> None:
    now = _result(asyncio.run(played(EQUAL, POOL)))
    assert CellResult.model_validate({**now.model_dump(mode="json"), "spent": spent}) == now
    assert CellResult.model_validate({"score": {"verdict": "right"}, "spent": spent}).work == NOTHING_USED


def test_a_planner_may_answer_a_part_of_the_questions() -> None:
    spec = EvaluationSpec(
        data="", digest="", planners=("plan:a", "plan:b"), repeats=2, parts={"plan:b": (1, 3), "plan:c": (0,)}
    )
    assert {planner: list(places) for planner, places in spec.places(5).items()} == {
        "plan:a": [0, 1, 2, 3, 4],
        "plan:b": [1, 3],
    }
    assert spec.whole == ("plan:a",)
    assert spec.cells(5) == (5 + 2) * 2
    assert EvaluationSpec.model_validate_json(spec.model_dump_json()) == spec


def test_half_of_a_trials_questions_is_held_out_until_a_variant_is_chosen() -> None:
    spec = EvaluationSpec(data="", digest="", planners=("plan:a", "plan:b", "plan:c"), repeats=2)
    assert not any(map(spec.holds_out, range(10)))
    assert spec.cells(10) == 60
    trial = spec.model_copy(update={"held_out": True})
    held = [at for at in range(1000) if trial.holds_out(at)]
    assert [at // 2 for at in held] == list(range(500)), "of two neighbours one"
    assert 200 < sum(at % 2 for at in held) < 300
    assert trial.cells(1000) == 500 * 3 * 2
    assert held[0] not in trial.places(1000)["plan:a"]
    chosen = trial.model_copy(update={"confirmed": "plan:c"})
    assert [name for name, places in chosen.places(1000).items() if held[0] in places] == ["plan:a", "plan:c"]
    assert chosen.cells(1000) == (500 * 3 + 500 * 2) * 2
    other = trial.model_copy(update={"seed": 1})
    assert held != [at for at in range(1000) if other.holds_out(at)]


def test_only_a_sequential_evaluation_has_an_order_of_its_own() -> None:
    spec = EvaluationSpec(data="", digest="", planners=("a",))
    sequential = spec.model_copy(update={"sequential": True})
    assert list(spec.order(5)) == [0, 1, 2, 3, 4]
    assert sorted(sequential.order(50)) == list(range(50)) != sequential.order(50)
    assert sequential.order(50) == sequential.order(50)
