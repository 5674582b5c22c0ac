"""How a task that gave no answer ended, as an error of the API. Pure."""

from __future__ import annotations

from conductor.api.answer import Answer
from conductor.api.errors import ApiError
from conductor.errors import ConductorError, FormatError, PoolError, QueryError, StorageError, WorkflowError

_NOT_AGAIN = {"x-should-retry": "false"}
"""What has run and failed is not run again by a client's own doing: that would cost as much once more."""

BROKE = "The server broke while it made this answer; its log says how."


def trouble(error: ConductorError, *, query_in: str) -> ApiError:
    """An error of ours as an answer; `query_in` is the parameter that holds the query."""
    match error:
        case ApiError():
            return error
        case QueryError():
            return ApiError(str(error), param=query_in, code="invalid_query")
        case FormatError() | WorkflowError():
            return ApiError(str(error), param="conductor.workflow", code="invalid_workflow")
        case PoolError():
            return _unusable(str(error), code="pool_unusable")
        case StorageError():
            return _unusable(str(error), code="store_unusable")
        case _:
            return _server(str(error), code="no_answer")


def no_answer(answer: Answer, broke: Exception | None, *, query_in: str) -> ApiError | None:
    """Why there is no answer; None where there is one."""
    if answer.broken:
        return _server(
            "The last round failed after a part of its answer had been sent; the answer of the round before "
            "is in the run.",
            code="run_failed",
        )
    if answer.text is not None:
        return None
    if isinstance(broke, ConductorError):
        return trouble(broke, query_in=query_in)
    if broke is not None:
        return _server(BROKE, code="server_error", status=500)
    return _of_run(answer) if answer.runs else _of_planning(answer)


def _of_planning(answer: Answer) -> ApiError:
    if answer.crossing is not None:
        return _over_budget(answer.crossing.limit, answer.crossing.words)
    if answer.failure is None:
        return _stopped()
    return _server(f"The Conductor gave no workflow: {answer.failure}", code="no_workflow")


def _of_run(answer: Answer) -> ApiError:
    run = answer.runs[-1]
    match run.status:
        case "over_budget" if run.crossing is not None:
            return _over_budget(run.crossing.limit, run.crossing.words)
        case "cancelled":
            return _stopped()
        case "failed":
            said = " ".join(
                f"Step {at}: {step.message}" for at, step in enumerate(run.steps, start=1) if step.message
            )
            return _server(f"The run failed. {said}".strip(), code="run_failed")
        case "finished":
            return _server(run.warning or "The run gave no answer.", code="no_answer")
        case _:
            return _server("The run was interrupted; what was finished is kept.", code="run_interrupted")


def _unusable(message: str, *, code: str) -> ApiError:
    """Nothing was begun, and it may work in a moment."""
    return ApiError(message, status=503, type="server_error", code=code)


def _over_budget(limit: str, words: str) -> ApiError:
    return ApiError(
        f"The run was stopped at its budget: {words} used. Raise the limit, or ask for less.",
        param=f"conductor.budget.{limit}",
        code="budget_exceeded",
        headers=_NOT_AGAIN,
    )


def _stopped() -> ApiError:
    return ApiError(
        "The run was stopped; what was finished is kept.", status=409, code="run_stopped", headers=_NOT_AGAIN
    )


def _server(message: str, *, code: str, status: int = 502) -> ApiError:
    return ApiError(message, status=status, type="server_error", code=code, headers=_NOT_AGAIN)
