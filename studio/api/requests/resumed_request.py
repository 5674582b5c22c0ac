"""A response that broke off or waits at a gate, as a request that goes on from its finished steps.

Knows the session and the token that asks; the run's process need not be this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from starlette.requests import Request

from conductor.errors import WorkflowError
from conductor.runs.request import RunRequest
from conductor.runs.scope import RunScope
from conductor.values.message_parts.tool_use import ToolDecision
from conductor.workers.pool.pool import Pool
from conductor.workflow.model import Workflow
from storage.records import Revision
from studio.access.auth import Principal
from studio.access.errors import ApiError
from studio.api.backend import Backend
from studio.api.requests.body import read_json
from studio.api.requests.request import RequestBody
from studio.api.requests.run_request import forbidden, narrower
from studio.api.stored import visible
from studio.api.stored.visible import StoredResponse
from studio.workbench import Workbench


class Resumption(RequestBody):
    """How a response goes on: the `decisions` of the calls of tools that its run waits with."""

    reasons: ClassVar[Mapping[str, str]] = {}

    decisions: tuple[ToolDecision, ...] = ()


async def resumption(http: Request) -> Resumption:
    """The body of a request; none is one without decisions. Raises `ApiError`."""
    if "content-type" not in http.headers:
        return Resumption()
    return Resumption.read(await read_json(http) or b"{}")


async def resumed_request(
    response: StoredResponse,
    how: Resumption,
    principal: Principal,
    pool: Pool,
    backend: Backend,
) -> tuple[RunRequest, Revision, RunScope]:
    """What runs, within the limits of the token that asks, its workflow, and how much of that: where the run
    waits at gates, it passes them, or goes on with the calls that were decided.

    Raises `ApiError` where the response is under way or has its answer, where there is no workflow yet, where
    this token may not use its workers, and for decisions of what does not wait.
    """
    try:
        request, head, scope = await backend.call(_request, response, how)
    except WorkflowError as error:
        raise ApiError(str(error), status=400, param="decisions", code="invalid_decision") from error
    # Its followers are sent the text as it is written.
    limited = within_limits(request, head.workflow, principal, pool, of="this response", param="response_id")
    return replace(limited, sent_on=True), head, scope


def within_limits(
    request: RunRequest, workflow: Workflow, principal: Principal, pool: Pool, *, of: str, param: str
) -> RunRequest:
    """The request to run a session's workflow once more, within the limits of the token that asks.

    Raises `WorkflowError` for a worker that the pool does not have, `ApiError` naming `param` where the token
    may not use all of those `of` it.
    """
    cards = pool.cards
    if not principal.may_run(workflow, cards):
        message = f"This token may not use all workers of {of}; ask with the one that began it."
        raise forbidden(message, param=param)
    workflow.check_workers(cards)
    update: dict[str, object] = {"budget": narrower(request.settings.budget, principal.budget)}
    if principal.workers is not None:
        # Further rounds are planned with the token's workers only.
        offered = [cards[name] for name in request.settings.workers or pool.names if name in cards]
        update["workers"] = tuple(card.name for card in offered if principal.may_use(card))
    settings = request.settings.model_copy(update=update)
    # Of a request that was for some workers, those and what a person put into its workflow since.
    among = (*settings.workers, *workflow.workers()) if settings.workers else None
    return replace(
        request,
        settings=settings,
        may_call=principal.reached(cards.values(), among=among),
        tool_limit=principal.tools,
    )


def _request(
    bench: Workbench, response: StoredResponse, how: Resumption
) -> tuple[RunRequest, Revision, RunScope]:
    status = response.shape["status"]
    if not response.ended and not visible.is_abandoned(bench.store, response):
        raise _conflict("It is under way; follow it with stream=true.", "response_in_progress")
    waits = (response.shape["incomplete_details"] or {}).get("reason") == visible.WAITS
    if status in ("completed", "incomplete") and not waits:
        raise _conflict("It has its answer.", "nothing_to_resume")
    if visible.is_earlier(bench.store, response):
        raise _conflict("Another one of its session went on since; resume that.", "nothing_to_resume")
    head = bench.store.revisions.head(response.session)
    if head is None:
        message = "It broke off before it had a workflow, so no step of it is finished; ask once more."
        raise _conflict(message, "nothing_to_resume")
    return (
        bench.request(response.session),
        head,
        bench.running.next_scope(response.session, decisions=how.decisions),
    )


def _conflict(message: str, code: str) -> ApiError:
    return ApiError(f"This response cannot be resumed: {message}", status=409, param="response_id", code=code)
