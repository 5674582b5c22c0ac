"""From an API request to what runs: which workers, which workflow, within which limits.

Pure but for the workflow that it reads from the backend. A request cannot exceed its token's limits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from conductor.errors import FormatError, QueryError
from conductor.planner.planner import check_wish
from conductor.runs.request import RunRequest
from conductor.values.budget import Budget
from conductor.values.conversation import MAX_CONVERSATION, Conversation
from conductor.values.message_parts.attached_file import check_files
from conductor.values.message_parts.images import check_images
from conductor.values.messages import FINE_SAMPLING, Sampling
from conductor.values.presets import MODES, Mode, Settings
from conductor.workers.computed import is_computed
from conductor.workers.endpoint.schema_check import check_schema
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.change_request import ChangeRequest
from conductor.workflow.file import read_plan
from conductor.workflow.model import Step, Workflow
from storage.records import RequestSession, Revision
from studio.access.auth import Principal
from studio.access.errors import ApiError
from studio.api.backend import Backend
from studio.api.errors import unsupported
from studio.api.models import Model, check_planner, model_of, unknown_model
from studio.api.requests.request import MAX_MESSAGES, ApiRequest, Effort, Question, RequestBudget, Steering
from studio.api.stored import calls, visible

STRAIGHT = "Answer the user."
"""The instruction of the one step of a worker's model; the worker itself does not get it."""

_NO_FINE = dict.fromkeys(FINE_SAMPLING)
_NO_OFFER = dict.fromkeys(("response_format", "tools", "logprobs"))

_EFFORTS: Mapping[Effort, Mode] = {
    "minimal": "mini",
    "low": "mini",
    "medium": "standard",
    "high": "ultra",
    "xhigh": "ultra",
    "max": "ultra",
}


async def run_request(
    request: ApiRequest, asked: Question, principal: Principal, pool: Pool, backend: Backend
) -> tuple[RunRequest, RequestSession]:
    """What runs for the request, and how its session is stored. `asked` is its question, behind the messages
    of an earlier response where it goes on from one.

    Raises `ApiError` naming the parameter that cannot be honoured.
    """
    model, history = model_of(request.model), asked.history
    if model.kind != "worker":
        if asked.logprobs is not None:
            reason = "an answer of several models has no log probabilities; ask a worker, as worker:NAME."
            raise unsupported(asked.logprobs_parameter, reason)
        asked = replace(asked, tools=asked.tools and asked.tools.allowed)
    check_planner(model, pool)
    _check_length(request, asked, model)
    _check_images(request, history)
    _check_files(request, history)
    cards = pool.cards
    workers = _allowed(request.steering, principal, {name: cards[name] for name in pool.names})
    sampling = Sampling(
        temperature=request.temperature,
        max_tokens=asked.token_limit,
        top_p=request.top_p,
        seed=asked.seed,
        frequency_penalty=asked.frequency_penalty,
        presence_penalty=asked.presence_penalty,
        response_format=asked.form,
        tools=asked.tools,
        logprobs=asked.logprobs,
    )
    await _check_form(asked)
    waiting = await _waiting(request, model, asked, principal, backend)
    workflow = (
        waiting.workflow if waiting is not None else await _workflow(request, model, principal, backend)
    )
    change = None
    if request.steering.change is not None:
        change = _change(request.steering.change, None if waiting is not None else workflow, model)
        _check_runs(model, change.workflow, cards=cards, allowed=workers)
        workflow = None
    if workflow is not None:
        if model.kind == "worker":
            history = history.model_copy(update={"verbatim": True})
        _check_runs(model, workflow, cards=cards, allowed=workers)
        if asked.answers > 1 and workflow.final in workflow.pins:
            raise unsupported("n", "the output of the final step is pinned, so every answer is the same.")
        if workflow.gates and request.store is False:
            raise unsupported("store", "the workflow waits at a gate; what is not stored cannot go on.")
        if waiting is None:
            _check_unplanned(request)
        if request.steering.workflow is None:
            workflow = _without_offer(workflow)
        workflow = finished(workflow, sampling, cards=cards, asked=asked)
    else:
        _check_seen(asked, [cards[name] for name in workers or pool.names])
        _check_any_takes(sampling, [cards[name] for name in workers or pool.names], asked=asked)
    if history.following and not history.verbatim:
        history = await backend.look_up(
            calls.with_workers_ids, history, continues=waiting, token=principal.token
        )
    settings = _settings(request, model, workers, principal)
    if change is not None:
        # A plan of more steps may keep as many.
        most = max(settings.max_steps, len(change.workflow))
        settings = settings.model_copy(update={"max_steps": most, "rounds": 1, "attempts": 1})
    wanted = RunRequest(
        query=asked.query,
        conversation=history,
        settings=settings if waiting is None else settings.model_copy(update={"rounds": 1}),
        workflow=workflow,
        change=change,
        finish=partial(finished, sampling=sampling, cards=cards, asked=asked),
        tools=asked.tools,
        sent_on=bool(request.stream),
    )
    keep = request.store is not False
    continues = None if waiting is None else waiting.id
    return wanted, RequestSession(token=principal.token, tags=request.tags, keep=keep, continues=continues)


def _check_length(request: ApiRequest, asked: Question, model: Model) -> None:
    """Raise `ApiError` where the messages before the question are too long.

    A worker alone gets the question as one more message: it counts with the others, without a separate
    limit. Messages of earlier responses count as well; no schema of a request limits those.
    """
    history = asked.history
    characters = history.characters + (len(asked.query) if model.kind == "worker" else 0)
    for number, most, what in (
        (characters, MAX_CONVERSATION, "characters"),
        (len(history.turns) + len(history.following), MAX_MESSAGES, "messages"),
    ):
        if number > most:
            message = (
                f"The conversation has {number:,} {what}; the limit is {most:,}. Leave out its beginning."
            )
            raise ApiError(message, param=request.query_parameter, code="context_length_exceeded")


def _check_images(request: ApiRequest, history: Conversation) -> None:
    """Raise `ApiError` where the images are too many together, those of earlier responses included."""
    try:
        check_images(history.pictures)
    except ValueError as fault:
        raise ApiError(str(fault), param=request.query_parameter, code="images_too_large") from None


def _check_files(request: ApiRequest, history: Conversation) -> None:
    """Raise `ApiError` where the files are too many together."""
    try:
        check_files(history.attached)
    except ValueError as fault:
        raise ApiError(str(fault), param=request.query_parameter, code="files_too_large") from None


def _check_seen(asked: Question, cards: Sequence[WorkerCard]) -> None:
    """Raise `ApiError` where the question has images and none of these workers sees them."""
    if not asked.history.pictures or any(card.vision for card in cards):
        return
    names = ", ".join(repr(card.name) for card in cards)
    sees = f"the worker {names} does not see" if len(cards) == 1 else f"none of the workers {names} sees"
    message = f"The messages have images, and {sees} them. Ask one that does: vision = true in the pool file."
    raise ApiError(message, code="no_vision")


def _without_offer(workflow: Workflow) -> Workflow:
    """A stored workflow without what an earlier request offered and asked for: this one's client could do
    nothing with it.
    """
    own = workflow.steps[workflow.final].sampling
    bare = own.model_copy(update=_NO_OFFER)
    return workflow if bare == own else workflow.with_sampling(workflow.final, bare)


def finished(
    workflow: Workflow, sampling: Sampling, *, cards: Mapping[str, WorkerCard], asked: Question
) -> Workflow:
    """The workflow as it runs. Raises `ApiError` as `with_sampling`, and where no step sees the images."""
    _check_seen(asked, [cards[name] for name in workflow.workers()])
    return with_sampling(workflow, sampling, cards=cards, asked=asked)


def with_sampling(
    workflow: Workflow, sampling: Sampling, *, cards: Mapping[str, WorkerCard], asked: Question
) -> Workflow:
    """The workflow whose final step has this sampling where it is set, else its own.

    Raises `ApiError` where that step's worker takes none, or its output stands already and no worker is to
    give it the form that is asked for.
    """
    if sampling.unset:
        return workflow
    final = workflow.steps[workflow.final]
    if final.pin is not None and (asked.form is not None or asked.tools is not None):
        param = "tools" if asked.form is None else asked.form_parameter
        raise unsupported(param, "the output of the final step is pinned.")
    _check_any_takes(sampling, [cards[final.worker]], asked=asked)
    given = sampling if cards[final.worker].takes_sampling else sampling.model_copy(update=_NO_FINE)
    return workflow.with_sampling(workflow.final, final.sampling.model_copy(update=given.given))


def _check_any_takes(sampling: Sampling, cards: Sequence[WorkerCard], *, asked: Question) -> None:
    """Raise `ApiError` where none of the workers that may answer takes what is set."""
    who = (
        f"the worker {cards[0].name!r}, which gives the answer,"
        if len(cards) == 1
        else "no worker that may answer"
    )
    offered = {
        "response_format": asked.form_parameter,
        "tools": "tools",
        "logprobs": asked.logprobs_parameter,
    }
    for name, param in offered.items():
        alone = Sampling(**{name: getattr(sampling, name)})
        if all(card.refusal(alone) for card in cards):
            raise unsupported(param, f"{cards[0].refusal(alone)}.")
    plain = sampling.model_copy(update={**_NO_OFFER, **_NO_FINE})
    if not plain.unset and not any(card.takes_sampling for card in cards):
        param = "temperature" if sampling.temperature is not None else asked.limit_parameter
        raise unsupported(param, f"{who} takes no sampling parameters.")


async def _check_form(asked: Question) -> None:
    """Raise `ApiError` where no answer could have the form that is asked for."""
    if asked.form is None:
        return
    if asked.stops:
        raise unsupported("stop", "an answer of JSON ends where its JSON does.")
    try:
        await asyncio.to_thread(check_schema, asked.form)
    except FormatError as error:
        raise ApiError(str(error), param=asked.form_parameter, code="invalid_schema") from None


# -- workers ---------------------------------------------------------------------------------------


def _allowed(
    steering: Steering, principal: Principal, cards: Mapping[str, WorkerCard]
) -> tuple[str, ...] | None:
    """The workers that may be used, in the pool's or the request's order; None for all."""
    for param, names in (("workers", steering.workers or ()), ("exclude", steering.exclude)):
        for at, name in enumerate(names):
            if name not in cards:
                message = f"The pool has no worker {name[:200]!r}; it has {', '.join(cards)}."
                raise ApiError(message, param=f"conductor.{param}.{at}", code="unknown_worker")
    if steering.workers is None and not steering.exclude and principal.workers is None:
        return None
    wanted = dict.fromkeys(steering.workers or cards)
    permitted = [name for name in wanted if principal.may_use(cards[name])]
    left = tuple(name for name in permitted if name not in steering.exclude)
    if left:
        return left
    if not permitted:
        raise forbidden(
            f"This token may use none of {', '.join(wanted)}; request another token from its issuer.",
            param="conductor.workers",
        )
    message = "No worker is left to plan with; exclude fewer of them."
    raise ApiError(message, param="conductor.exclude", code="no_worker_left")


def forbidden(message: str, *, param: str) -> ApiError:
    """The token may not use a worker."""
    return ApiError(message, status=403, param=param, code="worker_not_allowed")


# -- workflow --------------------------------------------------------------------------------------


async def _workflow(
    request: ApiRequest, model: Model, principal: Principal, backend: Backend
) -> Workflow | None:
    """The workflow that is run as it is, None where the Conductor is to plan one."""
    carried = request.steering.workflow
    if carried is not None:
        if (model.kind, model.mode, model.planner) != ("conductor", "standard", None):
            message = f"A workflow is not for the model {request.model!r}; send it to the model 'conductor'."
            raise ApiError(message, param="conductor.workflow", code="unsupported_parameter")
        # Refused for the same reasons as a file.
        return read_plan(json.dumps(carried)).workflow
    if model.kind == "conductor":
        return None
    if model.kind == "worker":
        return Workflow.of([Step(instruction=STRAIGHT, worker=model.id)])
    found = await backend.look_up(visible.workflow, model.id, token=principal.token)
    if found is None:
        raise unknown_model(request.model)
    return found.workflow


async def _waiting(
    request: ApiRequest, model: Model, asked: Question, principal: Principal, backend: Backend
) -> Revision | None:
    """The revision whose run waits for the results of tools that the request has; None where it has none.

    A worker alone is sent its messages, and a request that is not to be stored continues nothing.
    """
    if not asked.history.following or model.kind == "worker" or request.store is False:
        return None
    return await backend.look_up(calls.waiting_revision, asked.query, asked.history, token=principal.token)


def _change(wish: str, workflow: Workflow | None, model: Model) -> ChangeRequest:
    """What the Conductor is asked to change. Raises `ApiError` without a workflow, and for an empty wish."""
    if workflow is None or model.kind == "worker":
        raise unsupported(
            "conductor.change",
            "there is no workflow to change; send one in conductor.workflow, or name one as the model.",
        )
    try:
        return ChangeRequest(workflow=_without_offer(workflow), wish=check_wish(wish))
    except QueryError as error:
        raise ApiError(str(error), param="conductor.change", code="invalid_value") from error


def _check_unplanned(request: ApiRequest) -> None:
    """Raise `ApiError` for what steers planning, where a workflow is given."""
    for name in ("max_steps", "rounds"):
        if getattr(request.steering, name) is not None:
            raise unsupported(f"conductor.{name}", "nothing is planned, the workflow runs once.")


def _check_runs(
    model: Model,
    workflow: Workflow,
    *,
    cards: Mapping[str, WorkerCard],
    allowed: tuple[str, ...] | None,
) -> None:
    """Raise `ApiError` where the pool or the request's limits do not allow this workflow."""
    if model.kind == "worker" and (model.id not in cards or is_computed(cards[model.id])):
        raise unknown_model(f"worker:{model.id}")
    workflow.check_workers(cards)
    for worker in workflow.workers():
        if allowed is not None and worker not in allowed and not is_computed(cards[worker]):
            message = f"The workflow needs the worker {worker!r}, which this request may not use."
            raise forbidden(message, param="model")


# -- settings --------------------------------------------------------------------------------------


def _settings(
    request: ApiRequest, model: Model, workers: tuple[str, ...] | None, principal: Principal
) -> Settings:
    chosen = request.steering.model_dump(include={"max_steps", "rounds"}, exclude_none=True)
    chosen["workers"] = workers
    chosen["planner"] = model.planner
    chosen["budget"] = narrower(request.steering.budget, principal.budget)
    return MODES[_mode(request, model)].model_copy(update=chosen)


def _mode(request: ApiRequest, model: Model) -> Mode:
    effort = request.question.effort
    if effort is None:
        return model.mode
    if model.kind != "conductor" or request.steering.workflow is not None:
        raise unsupported(request.effort_parameter, "nothing is planned, the workflow runs as it is.")
    if model.planner is not None:
        raise unsupported(
            request.effort_parameter, f"{request.model} plans by a rule, with no more or less effort."
        )
    mode = _EFFORTS[effort]
    if request.model != "conductor" and mode != model.mode:
        raise unsupported(
            request.effort_parameter, f"{request.model} is that already; ask for the model conductor."
        )
    return mode


def narrower(wanted: RequestBudget | Budget, allowed: Budget | None) -> Budget:
    """The budget of the request, but no more than the token allows."""
    limits = wanted.model_dump()
    for name, most in (allowed.model_dump() if allowed is not None else {}).items():
        if most is not None:
            limits[name] = most if limits[name] is None else min(limits[name], most)
    return Budget(**limits)
