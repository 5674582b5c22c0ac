"""Makes an error of the API of a run that gave no answer. Knows how a run can end; knows no HTTP."""

from __future__ import annotations

from conductor.errors import ConductorError
from conductor.values.budget import Crossing
from studio.access.errors import ApiError
from studio.api.answers.followed_run import AnsweredRun
from studio.api.error_answers import FAULT, NO_RETRY, api_error, failed_run

PAUSED = "run_paused"
"""The error's code where the run waits at a gate."""


def no_answer(run: AnsweredRun, *, query_parameter: str) -> ApiError | None:
    """Why a run that is over has no answer, or None if it has one."""
    if run.answer.state.answer is not None and not run.answer.broken:
        return None
    if isinstance(run.failure, ConductorError):
        error = api_error(run.failure, query_parameter=query_parameter)
        error.headers = {**error.headers, **NO_RETRY}
        return error
    return failed_run(FAULT, code="server_error", status=500) if run.failure is not None else _ended(run)


def _ended(run: AnsweredRun) -> ApiError:
    state = run.answer.state
    last = state.runs[-1] if state.runs else None
    if run.stopped or (last is not None and last.status == "cancelled"):
        return _stopped()
    if run.answer.broken:
        return failed_run(
            "The last round failed after a part of its answer had been sent; the answer of the round before "
            "is in the run.",
            code="run_failed",
        )
    crossing = state.over_budget if last is None else last.crossing
    if crossing is not None and (last is None or last.status == "over_budget"):
        return over_budget(crossing)
    if last is None and state.failure is not None:
        return failed_run(f"The Conductor gave no workflow: {state.failure}", code="no_workflow")
    if last is None:
        return _stopped()
    if last.status == "paused":
        message = (
            f"The run is {last.waits_for}; what it finished is stored. Continue it in the app, with "
            f"`conductor run --session {run.session} --continue`, or resume the response."
        )
        return ApiError(message, status=409, code=PAUSED, headers=NO_RETRY)
    if last.status == "failed":
        reasons = [
            f"Step {at}: {step.message}" for at, step in enumerate(last.steps, start=1) if step.message
        ]
        return failed_run(" ".join(["The run failed.", *reasons]), code="run_failed")
    if last.status == "finished":
        return failed_run(last.warning or "The run gave no answer.", code="no_answer")
    return failed_run("The run was interrupted; its finished steps are stored.", code="run_interrupted")


def _stopped() -> ApiError:
    message = "The run was stopped; its finished steps are stored."
    return ApiError(message, status=409, code="run_stopped", headers=NO_RETRY)


def over_budget(crossing: Crossing) -> ApiError:
    """The request was stopped at a limit of its budget."""
    return ApiError(
        f"The run was stopped at its budget: {crossing.words}. Raise the limit, or ask for less.",
        param=f"conductor.budget.{crossing.limit}",
        code="budget_exceeded",
        headers=NO_RETRY,
    )
