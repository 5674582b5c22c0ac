"""The tool that compares two runs: what differs in their workflows, and where their outputs begin to differ.

Knows the store and the library's comparison; calls no model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from conductor.errors import WorkflowError
from conductor.runs.state import RunState
from conductor.workflow.diff import PlanDiff, plan_diff
from conductor.workflow.model import Workflow
from storage.records import RunRecord
from studio.access.auth import Principal
from studio.mcp.callers import Call, Callers, open_session
from studio.mcp.tool_results import Result, Used
from studio.workbench import Workbench

RunId = Annotated[str, Field(description="A run's whole id.")]


class ComparedRun(Result):
    """A run that is compared; `answer` is null where it has none."""

    session: str
    run: str
    status: str
    answer: str | None
    label: Annotated[str | None, Field(description="set where no model answers")]
    used: Used
    seconds: float | None


class ComparedStep(Result):
    """A step of the old run beside its counterpart in the new one; null on the side that does not have it.

    `changes` name what differs in the workflow, or are "added" or "removed". `same_output` is null where a
    side has no output.
    """

    old: Annotated[int | None, Field(description="from 0")]
    new: Annotated[int | None, Field(description="from 0")]
    changes: tuple[str, ...]
    same_output: bool | None


class ComparedRuns(Result):
    """Two runs, their steps side by side, and whether their answers are the same text."""

    old: ComparedRun
    new: ComparedRun
    same_answer: bool | None
    steps: tuple[ComparedStep, ...]


@dataclass(frozen=True)
class Comparing:
    """The tool; it changes nothing."""

    _callers: Callers

    async def compare_runs(self, call: Call, old: RunId, new: RunId) -> ComparedRuns:
        """Compare two runs, of one session or of two: their answers, what they used, and step by step what
        differs in the workflow and whether the outputs do.

        show_step shows the texts of a step that differs.
        """
        principal = await self._callers.principal(call)
        return await self._callers.backend.call(_compared, old, new, principal=principal)


def _compared(bench: Workbench, old: str, new: str, *, principal: Principal) -> ComparedRuns:
    (first, before, planned), (second, after, edited) = (
        _run(bench, id, principal=principal) for id in (old, new)
    )
    diff = plan_diff(planned, edited)
    return ComparedRuns(
        old=_side(first, before),
        new=_side(second, after),
        same_answer=_same(before.answer, after.answer),
        steps=tuple(_step(diff, before, after, row) for row in diff.rows),
    )


def _run(bench: Workbench, id: str, *, principal: Principal) -> tuple[RunRecord, RunState, Workflow]:
    record = bench.store.runs.find(id)
    open_session(bench.store, record.session, principal=principal)
    state = bench.state(record)
    if state.workflow is None:
        raise WorkflowError(f"The run {id} has not begun; compare it once it has.")
    return record, state, state.workflow


def _side(record: RunRecord, state: RunState) -> ComparedRun:
    return ComparedRun(
        session=record.session,
        run=record.id,
        status=state.status,
        answer=state.answer,
        label=record.pool_label,
        used=Used.of(state),
        seconds=state.seconds,
    )


def _step(
    diff: PlanDiff, before: RunState, after: RunState, row: tuple[int | None, int | None]
) -> ComparedStep:
    old, new = row
    changes: tuple[str, ...] = ("added",) if old is None else ("removed",)
    same = None
    if old is not None and new is not None:
        changes = diff.of_new[new].changes
        same = _same(_output(before, old), _output(after, new))
    return ComparedStep(old=old, new=new, changes=changes, same_output=same)


def _output(state: RunState, step: int) -> str | None:
    output = state.steps[step].output
    return None if output is None else output.text


def _same(old: str | None, new: str | None) -> bool | None:
    return None if old is None or new is None else old == new
