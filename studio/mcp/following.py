"""A run that a call waits for: its progress goes to the client, and it stops where the call is cancelled.

Knows events and the context of a call; knows no tool.
"""

from __future__ import annotations

from conductor.runs import events
from conductor.runs.events import Event
from conductor.runs.progress_lines import ProgressLines
from studio.access.errors import ApiError
from studio.api.answers.failure import PAUSED, no_answer
from studio.api.answers.response_run import ResponseRun
from studio.mcp.callers import Call

_START_SHARE = 0.5
"""How much a plan or a step counts once it has begun; 1 once it has ended."""


class RequestProgress:
    """How far a request is, in plans and steps, given its events in their order. The number only grows."""

    def __init__(self) -> None:
        self._lines = ProgressLines()
        self._started_steps: set[int] = set()
        self.done = 0.0
        self.total: float | None = None
        self._plans = 0

    def see(self, event: Event) -> str | None:
        """The line about the event, or None if the number is what it was."""
        line, before = self._lines.line(event), self.done
        match event:
            case events.PlanningStarted():
                self._plans += 1
                self.done += _START_SHARE
            case (
                events.WorkflowPlanned()
                | events.AnswerKept()
                | events.PlanRejected()
                | events.PlanningFailed()
            ):
                self.done += _START_SHARE
            case events.RunStarted():
                # Another round begins once all steps of the one before are done.
                self._started_steps.clear()
                self.total = self.done + len(event.workflow)
            case events.StepStarted() if event.step not in self._started_steps:
                self._started_steps.add(event.step)
                self.done += _START_SHARE
            case (
                events.StepFinished()
                | events.StepFailed()
                | events.StepReused()
                | events.StepKept()
                | events.StepBlocked()
                | events.StepCancelled()
            ):
                self.done += _START_SHARE if event.step in self._started_steps else 1.0
                self._started_steps.add(event.step)
        return line or "" if self.done > before else None


async def followed(call: Call, run: ResponseRun) -> None:
    """Wait for the end of the run; the client receives its progress."""
    progress = RequestProgress()
    try:
        async for event, _ in run.progress():
            line = progress.see(event)
            if line is not None:
                await call.report_progress(progress.done, progress.total, line or None)
    finally:
        run.leave()


async def wait_for_answer(call: Call, run: ResponseRun) -> None:
    """Wait for the answer of the run. Raises `ApiError` with the reason and the session where it has none."""
    await followed(call, run)
    error = no_answer(run, query_parameter="query")
    if error is not None:
        raise in_session(error, run.session)


def in_session(error: ApiError, session: str) -> ApiError:
    """The error, with the session in which the caller can look at what happened, or go on."""
    way_on = "; run_workflow with it continues" if error.code == PAUSED else ""
    return ApiError(
        f"{error} (session {session}{way_on})", status=error.status, param=error.param, code=error.code
    )
