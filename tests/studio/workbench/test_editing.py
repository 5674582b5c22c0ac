"""An edit goes on top of what the same person changed in the meantime, and never over another person's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor.errors import WorkflowError
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from storage import Revision, SessionStore
from studio.workbench import Workbench
from studio.workbench.editing import EditEnd

POOL = Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")))
FIRST = Workflow.of(
    [Step(instruction="Find it.", worker="alpha"), Step(instruction="Say it.", worker="alpha", access=(0,))]
)
MINE = FIRST.with_worker(0, "beta")
ELSEWHERE = FIRST.with_worker(1, "beta")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    opened = Workbench.over(
        SessionStore.open(f"sqlite:///{tmp_path / 'conductor.db'}"), pool=POOL, conductor=OfflineConductor()
    )
    yield opened
    opened.close()


@pytest.fixture
def base(bench: Workbench) -> Revision:
    session = bench.ask("Why?").id
    return bench.editing.edit(session, FIRST, note="By hand")


def own(_: str) -> bool:
    return True


def foreign(_: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("meanwhile", "is_own", "head"),
    [
        (None, foreign, MINE),
        (ELSEWHERE, own, ELSEWHERE.with_worker(0, "beta")),
        (ELSEWHERE, foreign, None),
        (FIRST.remove_step(0), own, None),
        (MINE, own, MINE),
    ],
    ids=["nothing", "own, elsewhere", "of another person", "own, of the same step", "own, the same edit"],
)
def test_an_edit_meets_what_came_meanwhile(
    bench: Workbench,
    base: Revision,
    meanwhile: Workflow | None,
    is_own: Callable[[str], bool],
    head: Workflow | None,
) -> None:
    """`head` is the workflow that becomes the head, None for a conflict."""
    if meanwhile is not None:
        bench.editing.edit(base.session, meanwhile, note="Meanwhile", head=base)
    before = bench.store.revisions.head(base.session)
    end, revision = bench.editing.edit_over_own(base.session, MINE, note="Mine", head=base, is_own=is_own)
    there = bench.store.revisions.head(base.session)
    if head is None:
        assert (end, revision, there) == (EditEnd.CONFLICT, base, before)
    else:
        assert (end, revision, revision.workflow) == (EditEnd.APPLIED, there, head)


@pytest.mark.parametrize("step", [0, 1], ids=["the first step", "another step"])
@pytest.mark.parametrize("role", ["worker", "fallback"])
def test_a_plan_with_a_worker_that_the_pool_lacks_is_refused_and_its_step_named(
    bench: Workbench, role: str, step: int
) -> None:
    plan = FIRST.with_worker(step, "ghost")
    if role == "fallback":
        plan = FIRST.with_on_failure(step, OnFailure(fallback="ghost"))
    text = write_plan(plan, query="Why?", origin="human", workers=(), label=None)
    named = r"ghost \(as a fallback\)" if role == "fallback" else "ghost"
    with pytest.raises(WorkflowError, match=f"needs {named}, which this pool does not have") as refused:
        bench.editing.import_plan(text)
    assert refused.value.step == step
