"""Why a run gave no answer, as an error of the API. Knows how a run can end; knows no HTTP."""

from __future__ import annotations

from conductor.errors import ConductorError
from studio.access.errors import ApiError
from studio.api.answers.answer import Answer
from studio.api.errors import FAULT, NO_RETRY, api_error, failed_run


def no_answer(answer: Answer, failure: Exception | None, *, query_parameter: str) -> ApiError | None:
    """Why there is no answer, where `failure` ended the run early; None where there is an answer."""
    if answer.broken:
        return failed_run(
            "The last round failed after a part of its answer had been sent; the answer of the round before "
            "is in the run.",
            code="run_failed",
        )
    if answer.state.answer is not None:
        return None
    if isinstance(failure, ConductorError):
        error = api_error(failure, query_parameter=query_parameter)
        error.headers = {**error.headers, **NO_RETRY}
        return error
    if failure is not None:
        return failed_run(FAULT, code="server_error", status=500)
    return _of_run(answer) if answer.state.runs else _of_planning(answer)


def _of_planning(answer: Answer) -> ApiError:
    if answer.state.over_budget is not None:
        return _over_budget(answer.state.over_budget.limit, answer.state.over_budget.words)
    if answer.state.failure is None:
        return _stopped()
    return failed_run(f"The Conductor gave no workflow: {answer.state.failure}", code="no_workflow")


def _of_run(answer: Answer) -> ApiError:
    run = answer.state.runs[-1]
    match run.status:
        case "over_budget" if run.crossing is not None:
            return _over_budget(run.crossing.limit, run.crossing.words)
        case "cancelled":
            return _stopped()
        case "failed":
            reasons = " ".join(
                f"Step {at}: {step.message}" for at, step in enumerate(run.steps, start=1) if step.message
            )
            return failed_run(f"The run failed. {reasons}".strip(), code="run_failed")
        case "finished":
            return failed_run(run.warning or "The run gave no answer.", code="no_answer")
        case _:
            return failed_run(
                "The run was interrupted; its finished steps are stored.", code="run_interrupted"
            )


def _over_budget(limit: str, words: str) -> ApiError:
    return ApiError(
        f"The run was stopped at its budget: {words}. Raise the limit, or ask for less.",
        param=f"conductor.budget.{limit}",
        code="budget_exceeded",
        headers=NO_RETRY,
    )


def _stopped() -> ApiError:
    message = "The run was stopped; its finished steps are stored."
    return ApiError(message, status=409, code="run_stopped", headers=NO_RETRY)
