"""The library's public names, and planning, running and asking in one call."""

from __future__ import annotations

import ast
import asyncio
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import conductor
from conductor import Completion, Delta, Pool, Request, Settings, Step, Workflow
from conductor.errors import PlanError, QueryError, WorkflowError
from conductor.runs.events import Event, StepStarted, WorkflowPlanned
from conductor.values.messages import Sampling
from conductor.workers.pool.pool import built_in_pool
from conductor.workers.pool.schema import ConductorTable
from conductor.workers.protocol import WorkerCard
from conductor.workers.simulated import SimulatedWorker
from tests.support.endpoints.raw_endpoint import DONE, chunk, raw_endpoint, replies
from tests.support.runs.conductor_cases import plan_text

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", DOCS, re.M | re.S)

HEAVY = ("sympy", "sqlalchemy", "streamlit", "httpx", "networkx", "pydantic")
LOADED = f"import sys, conductor; print([name for name in {HEAVY} if name in sys.modules])"


def pool_of(*workers: SimulatedWorker) -> Pool:
    return Pool(workers=workers)


def test_every_public_name_is_there_and_no_other() -> None:
    assert conductor.__all__ == sorted(conductor.__all__)
    assert all(getattr(conductor, name) is not None for name in conductor.__all__)
    assert set(conductor.__all__) <= set(dir(conductor))
    with pytest.raises(AttributeError, match="no attribute 'sing'"):
        conductor.sing  # noqa: B018 - looking it up is what is tested


@pytest.mark.slow
def test_importing_the_library_loads_none_of_its_parts() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert loaded.stdout == "[]\n"


@pytest.mark.slow
def test_the_documented_code_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) >= 8
    names: dict[str, Any] = {"__name__": "notebook"}
    for at, block in enumerate(BLOCKS):
        code = compile(block, f"docs/library.md, block {at + 1}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if (awaited := eval(code, names)) is not None:
            asyncio.run(awaited)


def test_an_edited_step_alone_is_called_again() -> None:
    question, pool = "Compare France and Japan", built_in_pool()
    workflow = conductor.plan(question, pool=pool).workflow
    assert workflow is not None
    first = conductor.run(workflow, question, pool=pool)
    called: list[Event] = []
    edited = workflow.with_instruction(2, "Compare them in another way, and give the answer.")
    second = conductor.run(edited, question, pool=pool, after=first, on_event=called.append)
    assert [event.step for event in called if isinstance(event, StepStarted)] == [2]
    third = conductor.run(workflow, question, pool=pool, after=[second, first])
    assert [step.reused for step in third.steps] == [True, True, True]
    assert first.answer is not None
    assert third.answer == first.answer


def test_the_waiting_calls_work_where_a_loop_runs() -> None:
    pool = pool_of(SimulatedWorker(name="alpha", answer="from alpha"))
    workflow = Workflow.of([Step(instruction="Answer.", worker="alpha")])

    async def notebook() -> str | None:
        return conductor.run(workflow, "Who?", pool=pool).answer

    assert asyncio.run(notebook()) == "from alpha"


async def test_a_run_with_a_failed_step_is_returned_with_its_reason() -> None:
    pool = pool_of(SimulatedWorker(name="alpha", fail_on="Answer"))
    state = await conductor.arun(
        Workflow.of([Step(instruction="Answer.", worker="alpha")]), "Who?", pool=pool
    )
    assert (state.status, state.answer) == ("failed", None)
    assert state.steps[0].message


async def test_a_worker_that_the_pool_does_not_have_is_named() -> None:
    pool = pool_of(SimulatedWorker(name="alpha"))
    with pytest.raises(WorkflowError, match="'beta'"):
        await conductor.arun(Workflow.of([Step(instruction="Answer.", worker="beta")]), "Who?", pool=pool)


async def test_an_empty_question_is_refused() -> None:
    with pytest.raises(QueryError):
        await conductor.aplan("  ", pool=built_in_pool())


async def test_a_budget_without_room_for_planning_is_a_plan_error() -> None:
    settings = Settings(budget=conductor.Budget(calls=1))
    run = await conductor.aask("Compare France and Japan", pool=built_in_pool(), settings=settings)
    assert run.status == "over_budget"


async def test_a_worker_is_any_object_with_a_card_and_a_stream() -> None:
    class Echo:
        card = WorkerCard(name="echo", kind="simulated", strengths="repeats", model="echo")

        async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
            yield Delta(request.instruction)
            yield Completion(text=request.instruction)

    workflow = Workflow.of([Step(instruction="Say hello.", worker="echo")])
    state = await conductor.arun(workflow, "A greeting", pool=Pool(workers=(Echo(),)))
    assert state.answer == "Say hello."


READERS = Workflow.of(
    [
        Step(instruction="Read the question.", worker="alpha", sampling=Sampling(temperature=0.2)),
        Step(instruction="Verify it.", worker="beta", access=(0,)),
        Step(instruction="Answer.", worker="alpha", access=(0, 1)),
    ]
)
TWO_READERS = plan_text(
    (0, "Read the question.", "[]"), (1, "Read it a second time.", "[]"), (0, "Answer.", "[0, 1]")
)


@asynccontextmanager
async def served_conductor(text: str) -> AsyncIterator[Pool]:
    """A pool whose Conductor is an endpoint that answers every request with `text`."""
    async with raw_endpoint(replies(chunk(content=text) + chunk("stop") + DONE)) as base_url:
        entry = ConductorTable(base_url=base_url, model="served", constrain="none", retries=0)
        yield Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")), conductor=entry)


async def test_a_change_in_words_returns_what_would_differ_and_changes_nothing() -> None:
    seen: list[Event] = []
    async with served_conductor(TWO_READERS) as pool:
        diff = await conductor.achange(
            READERS, "How many?", "use two readers and no verifier", pool=pool, on_event=seen.append
        )
    assert diff.old is READERS
    assert [step.instruction for step in diff.new.steps] == [
        "Read the question.", "Read it a second time.", "Answer."
    ]  # fmt: skip
    assert diff.new.steps[0] == READERS.steps[0], "with its own sampling"
    assert conductor.take_rows(diff, range(len(diff.rows))) == diff.new
    assert conductor.take_rows(diff, ()) == READERS
    (planned,) = [event for event in seen if isinstance(event, WorkflowPlanned)]
    assert planned.report.prompt is not None
    assert "use two readers and no verifier" in planned.report.prompt.messages[1].content


async def test_a_change_that_is_no_valid_plan_is_an_error_with_its_reasons() -> None:
    async with served_conductor(plan_text((0, "Read it.", "[1]"), (7, "Answer.", "[]"))) as pool:
        with pytest.raises(PlanError, match="holds no valid plan"):
            await conductor.achange(READERS, "How many?", "make it worse", pool=pool)


@pytest.mark.slow
async def test_a_plan_over_the_limit_of_steps_may_keep_as_many() -> None:
    async with served_conductor(TWO_READERS) as pool:
        settings = Settings(max_steps=1)
        diff = await conductor.achange(READERS, "How many?", "two", pool=pool, settings=settings)
        assert len(diff.new) == 3
        with pytest.raises(PlanError, match="has 3 steps; the limit is 1"):
            await conductor.aplan("How many?", pool=pool, settings=settings)


@pytest.mark.parametrize(
    ("planner", "reason"),
    [(None, "cannot change a plan from words"), ("baseline:moa", "the workflow of its method")],
)
async def test_a_planner_that_reads_no_wishes_states_it(planner: str | None, reason: str) -> None:
    pool = pool_of(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta"))
    with pytest.raises(PlanError, match=reason):
        await conductor.achange(READERS, "How?", "shorter", pool=pool, settings=Settings(planner=planner))


@pytest.mark.parametrize(
    ("wish", "reason"), [(" \n", "write what to change in the plan"), ("x" * 4_001, "4,001 characters")]
)
async def test_a_bad_wish_is_refused_before_the_conductor_is_called(wish: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        await conductor.achange(READERS, "How many?", wish, pool=built_in_pool())


async def test_asking_returns_the_run_whose_answer_counts() -> None:
    seen: list[Event] = []
    run = await conductor.aask("What is 17 * 23?", pool=built_in_pool(), on_event=seen.append)
    assert run.status == "finished"
    assert "391" in (run.answer or "")
    assert seen[0].type == "planning_started"
    assert seen[-1].type == "run_finished"


def test_no_plan_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        file = tmp_path / "pool.toml"
        file.write_text(
            f"""
[conductor]
base_url = "http://127.0.0.1:{silent.getsockname()[1]}/v1"
model = "conductor"
retries = 0

[[worker]]
name = "alpha"
kind = "simulated"
""",
            encoding="utf-8",
        )
        with pytest.raises(PlanError, match="cannot be reached"):
            conductor.plan("What is 2 + 3?", pool=conductor.read_pool(file))
