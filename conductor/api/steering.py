"""From a request to a task: who may answer, within which limits, and how.

Pure but for what it asks the orchestra. A caller's own limits hold, whatever the request says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from conductor.api.caller import Caller
from conductor.api.errors import ApiError
from conductor.api.models import Model, OneWorker, Planned, SavedWorkflow, model_of, unknown_model
from conductor.api.orchestra import Orchestra, Task
from conductor.api.schemas import BudgetAsked, Steering
from conductor.api.schemas_chat import Effort
from conductor.budget import Budget
from conductor.conversation import MAX_CONVERSATION, Conversation
from conductor.messages import Sampling
from conductor.modes import MODES, Mode, Settings
from conductor.plan_file import read_plan
from conductor.workers.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow import Step, Workflow

STRAIGHT = "Answer the user."
"""The instruction of the one step that a worker's model name is; the worker itself is not sent it."""

_EFFORTS: Mapping[Effort, Mode] = {
    "minimal": "mini",
    "low": "mini",
    "medium": "standard",
    "high": "ultra",
    "xhigh": "ultra",
    "max": "ultra",
}


@dataclass(frozen=True)
class Wish:
    """What both ways of asking come to. `limit_in`, `effort_in` and `query_in` name parameters in them."""

    model: str
    query: str
    conversation: Conversation
    steering: Steering
    effort: Effort | None
    temperature: float | None
    max_tokens: int | None
    tags: tuple[str, ...]
    keep: bool
    limit_in: str
    effort_in: str
    query_in: str


async def task_of(wish: Wish, caller: Caller, pool: Pool, orchestra: Orchestra) -> Task:
    """The task for `pool`. Raises `ApiError` naming the parameter that cannot be honoured."""
    if wish.conversation.characters > MAX_CONVERSATION:
        message = (
            f"The conversation has {wish.conversation.characters:,} characters; the limit is "
            f"{MAX_CONVERSATION:,}. Leave out its beginning."
        )
        raise ApiError(message, param=wish.query_in, code="context_length_exceeded")
    model = model_of(wish.model)
    cards = pool.cards
    workers = _allowed(wish.steering, caller, cards)
    sampling = Sampling(temperature=wish.temperature, max_tokens=wish.max_tokens)
    workflow = await _workflow(wish, model, caller, orchestra)
    conversation = wish.conversation
    if workflow is not None:
        if isinstance(model, OneWorker):
            conversation = conversation.model_copy(update={"verbatim": True})
        _check_runs(wish, model, workflow, cards=cards, allowed=workers)
        workflow = with_sampling(workflow, sampling, cards=cards, limit_in=wish.limit_in)
    elif not sampling.unset and not any(cards[name].takes_sampling for name in workers or cards):
        raise _takes_none("no worker that may answer", sampling, limit_in=wish.limit_in)
    return Task(
        query=wish.query,
        conversation=conversation,
        settings=_settings(wish, model, workers, caller),
        workflow=workflow,
        finish=partial(with_sampling, sampling=sampling, cards=cards, limit_in=wish.limit_in),
        tags=wish.tags,
        keep=wish.keep,
        token=caller.token,
    )


def with_sampling(
    workflow: Workflow, sampling: Sampling, *, cards: Mapping[str, WorkerCard], limit_in: str
) -> Workflow:
    """The workflow whose final step has this sampling where it is set, else its own.

    Raises `ApiError` where that step's worker takes none.
    """
    chosen = sampling.model_dump(exclude_none=True)
    if not chosen:
        return workflow
    final = workflow.steps[workflow.final]
    if not cards[final.worker].takes_sampling:
        raise _takes_none(
            f"the worker {final.worker!r}, which gives the answer,", sampling, limit_in=limit_in
        )
    return workflow.with_sampling(workflow.final, final.sampling.model_copy(update=chosen))


def _takes_none(who: str, sampling: Sampling, *, limit_in: str) -> ApiError:
    param = "temperature" if sampling.temperature is not None else limit_in
    message = f"'{param}' cannot be honoured here: {who} takes no sampling parameters."
    return ApiError(message, param=param, code="unsupported_parameter")


# -- who -------------------------------------------------------------------------------------------


def _allowed(steering: Steering, caller: Caller, cards: Mapping[str, WorkerCard]) -> tuple[str, ...] | None:
    """The workers that may be used, in the pool's or the request's order; None for all."""
    for param, names in (("workers", steering.workers or ()), ("exclude", steering.exclude)):
        for at, name in enumerate(names):
            if name not in cards:
                message = f"The pool has no worker {name[:200]!r}; it has {', '.join(cards)}."
                raise ApiError(message, param=f"conductor.{param}.{at}", code="unknown_worker")
    if steering.workers is None and not steering.exclude and caller.workers is None:
        return None
    wanted = dict.fromkeys(steering.workers or cards)
    theirs = [name for name in wanted if caller.may_have(cards[name])]
    left = tuple(name for name in theirs if name not in steering.exclude)
    if left:
        return left
    if not theirs:
        raise _forbidden(f"none of {', '.join(wanted)}", param="conductor.workers")
    message = "No worker is left to plan with; exclude fewer of them."
    raise ApiError(message, param="conductor.exclude", code="no_worker_left")


def _forbidden(what: str, *, param: str) -> ApiError:
    message = f"This token may use {what}; ask whoever gave it to you for another one."
    return ApiError(message, status=403, type="permission_error", param=param, code="worker_not_allowed")


# -- what ------------------------------------------------------------------------------------------


async def _workflow(wish: Wish, model: Model, caller: Caller, orchestra: Orchestra) -> Workflow | None:
    """The workflow that is run as it is, None where the Conductor is to plan one."""
    carried = wish.steering.workflow
    match model:
        case Planned("standard") if carried is not None:
            # Refused for the same reasons as a file.
            return read_plan(json.dumps(carried)).workflow
        case _ if carried is not None:
            message = f"A workflow is not for the model {wish.model!r}; send it to the model 'conductor'."
            raise ApiError(message, param="conductor.workflow", code="unsupported_parameter")
        case Planned():
            return None
        case OneWorker():
            return Workflow.of([Step(instruction=STRAIGHT, worker=model.name)])
        case SavedWorkflow():
            saved = await orchestra.saved(model.id, token=caller.token)
            if saved is None:
                raise unknown_model(wish.model)
            return saved.workflow


def _check_runs(
    wish: Wish,
    model: Model,
    workflow: Workflow,
    *,
    cards: Mapping[str, WorkerCard],
    allowed: tuple[str, ...] | None,
) -> None:
    """Raise `ApiError` where the pool or the request's limits have no place for this workflow."""
    if isinstance(model, OneWorker) and model.name not in cards:
        raise unknown_model(wish.model)
    workflow.check_workers(cards)
    for worker in workflow.workers():
        if allowed is not None and worker not in allowed:
            message = f"The workflow needs the worker {worker!r}, which this request may not use."
            raise ApiError(
                message, status=403, type="permission_error", param="model", code="worker_not_allowed"
            )
    for name in ("max_steps", "rounds"):
        if getattr(wish.steering, name) is not None:
            message = (
                f"'conductor.{name}' cannot be honoured here: nothing is planned, the workflow runs once."
            )
            raise ApiError(message, param=f"conductor.{name}", code="unsupported_parameter")


# -- how -------------------------------------------------------------------------------------------


def _settings(wish: Wish, model: Model, workers: tuple[str, ...] | None, caller: Caller) -> Settings:
    settings = MODES[_mode(wish, model)]
    chosen: dict[str, object] = {
        name: value for name in ("max_steps", "rounds") if (value := getattr(wish.steering, name)) is not None
    }
    chosen["workers"] = workers
    chosen["budget"] = narrower(wish.steering.budget, caller.budget)
    return settings.model_copy(update=chosen)


def _mode(wish: Wish, model: Model) -> Mode:
    if wish.effort is None:
        return model.mode if isinstance(model, Planned) else "standard"
    mode = _EFFORTS[wish.effort]
    if not isinstance(model, Planned) or wish.steering.workflow is not None:
        why = "nothing is planned, the workflow runs as it is."
    elif wish.model != "conductor" and mode != model.mode:
        why = f"{wish.model} is that already; ask for the model conductor."
    else:
        return mode
    message = f"'{wish.effort_in}' cannot be honoured here: {why}"
    raise ApiError(message, param=wish.effort_in, code="unsupported_parameter")


def narrower(asked: BudgetAsked, allowed: Budget | None) -> Budget:
    """What the request wants to spend at most, and no more than the caller may."""
    if allowed is None:
        return asked.budget
    pairs = {name: (getattr(asked, name), getattr(allowed, name)) for name in Budget.model_fields}
    least = {
        name: min((limit for limit in both if limit is not None), default=None)
        for name, both in pairs.items()
    }
    return Budget(**least)
