"""Makes a run of an API request: which workers, which workflow, within which limits.

Pure but for the workflow that it reads from the backend. A request cannot exceed its token's limits.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from conductor.errors import QueryError
from conductor.planner.planner import check_wish
from conductor.runs.request import ChangeRequest, RunRequest
from conductor.values.budget import Budget
from conductor.values.conversation import MAX_CONVERSATION, Conversation
from conductor.values.message_parts.attached_file import check_files
from conductor.values.message_parts.images import check_images
from conductor.values.messages import Sampling
from conductor.values.presets import MODES, Mode, Settings
from conductor.workers.computed import is_computed
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.file import read_plan
from conductor.workflow.model import MAX_WRITTEN_STEPS, Step, Workflow
from storage.records import RequestSession, Revision
from studio.access.auth import Principal
from studio.access.errors import ApiError
from studio.api.backend import Backend
from studio.api.error_answers import unsupported
from studio.api.models import Model, check_planner, model_of, unknown_model
from studio.api.requests.final_step import (
    check_any_takes,
    check_form,
    check_seen,
    finished,
    with_effort,
    without_offer,
)
from studio.api.requests.request import MAX_MESSAGES, ApiRequest, Question, RequestBudget, Steering
from studio.api.stored import calls, visible, worker_conversations
from studio.sessions.retention import unstored_seconds

STRAIGHT = "Answer the user."
"""The instruction of the one step of a worker's model; the worker itself does not get it."""

_EFFORTS: Mapping[str, Mode] = {
    "none": "mini",
    "minimal": "mini",
    "low": "mini",
    "medium": "standard",
    "high": "ultra",
    "xhigh": "ultra",
    "max": "ultra",
}


@dataclass(frozen=True)
class RequestWorkers:
    """The workers of a pool as a request may use them.

    `own` are those that its token may use: a message names no other. `allowed` are those that it may plan
    with, in the pool's or the request's order; None for all that are `offered` to a Conductor.
    """

    cards: Mapping[str, WorkerCard]
    offered: Sequence[str]
    own: Collection[str]
    allowed: tuple[str, ...] | None

    def reached(self, principal: Principal) -> frozenset[str] | None:
        """The names of all that a run may call, in whatever place; None for the whole pool."""
        return principal.reached(self.cards.values(), among=self.allowed)

    @property
    def candidates(self) -> list[WorkerCard]:
        return [self.cards[name] for name in self.allowed or self.offered]


@dataclass(frozen=True)
class Terms:
    """A request as it is read: its question, the model that it names, and what it may use and sets."""

    request: ApiRequest
    question: Question
    model: Model
    workers: RequestWorkers
    sampling: Sampling
    stored: bool
    """Whether its session is stored."""

    @property
    def alone(self) -> bool:
        return self.model.kind == "worker"

    def finished(self, workflow: Workflow) -> Workflow:
        """The workflow with what the request asks of its final step; all steps of a baseline think as hard as
        it asks. Raises as `final_step.finished`.
        """
        if self.model.planner is not None and (effort := self.sampling.reasoning_effort) is not None:
            workflow = with_effort(workflow, effort, cards=self.workers.cards)
        return finished(workflow, self.sampling, cards=self.workers.cards, question=self.question)


async def run_request(
    request: ApiRequest, question: Question, principal: Principal, pool: Pool, backend: Backend
) -> tuple[RunRequest, RequestSession]:
    """What runs for the request, and how its session is stored. `question` is behind the messages of an
    earlier response where the request goes on from one.

    Raises `ApiError` naming the parameter that cannot be honoured.
    """
    terms = _terms(request, question, principal, pool)
    await check_form(terms.question)
    subject = await _subject(terms, principal, backend)
    settings = _settings(request, terms.model, terms.workers.allowed, principal)
    workflow, change, continues = None, None, None
    match subject:
        case None:
            _check_candidates(terms)
        case ChangeRequest():
            change, settings = subject, _change_settings(terms, subject, settings)
        case Workflow():
            _check_unplanned(request)
            workflow = _as_it_is(terms, subject)
        case Revision():
            continues, settings = subject, settings.model_copy(update={"rounds": 1})
            workflow = _as_it_is(terms, subject.workflow)
    history = terms.question.history
    if terms.alone:
        history = history.model_copy(update={"verbatim": True})
    elif history.following:
        history = await backend.look_up(
            calls.with_workers_ids, history, continues=continues, token=principal.token
        )
    work = RunRequest(
        query=terms.question.query,
        conversation=history,
        settings=settings,
        workflow=workflow,
        change=change,
        finish=terms.finished,
        tools=terms.question.tools,
        sent_on=bool(request.stream),
        may_call=terms.workers.reached(principal),
        attended=terms.stored,
        tool_limit=principal.tools,
    )
    return work, RequestSession(
        token=principal.token,
        tags=request.tags,
        lifetime=None if terms.stored else unstored_seconds(),
        continues=None if continues is None else continues.id,
        marks=_marks(request) if terms.alone else (),
    )


def _marks(request: ApiRequest) -> tuple[str, ...]:
    """By what the client names the conversation."""
    key, earlier = request.prompt_cache_key, getattr(request, "previous_response_id", None)
    marks = (
        key and worker_conversations.key_mark(key),
        earlier and worker_conversations.response_mark(earlier),
    )
    return tuple(filter(None, marks))


def _terms(request: ApiRequest, question: Question, principal: Principal, pool: Pool) -> Terms:
    model = model_of(request.model)
    if model.kind != "worker":
        if question.logprobs is not None:
            reason = "an answer of several models has no log probabilities; ask a worker, as worker:NAME."
            raise unsupported(question.logprobs_parameter, reason)
        question = replace(question, tools=question.tools and question.tools.allowed)
    check_planner(model, pool)
    _check_length(request, question, model)
    _check_attachments(request, question.history)
    cards = pool.cards
    workers = RequestWorkers(
        cards=cards,
        offered=pool.names,
        own=[name for name, card in cards.items() if principal.may_use(card)],
        allowed=_allowed(request.steering, principal, {name: cards[name] for name in pool.names}),
    )
    sampling = Sampling(
        temperature=request.temperature,
        max_tokens=question.token_limit,
        top_p=request.top_p,
        seed=question.seed,
        frequency_penalty=question.frequency_penalty,
        presence_penalty=question.presence_penalty,
        response_format=question.form,
        tools=question.tools,
        logprobs=question.logprobs,
        reasoning_effort=request.workers_effort,
    )
    stored = request.store is not False or principal.keeps_unstored
    return Terms(request, question, model, workers, sampling, stored)


def _check_candidates(terms: Terms) -> None:
    """Raise `ApiError` where no worker that a plan may use can give the answer."""
    candidates = terms.workers.candidates
    check_seen(terms.question, candidates)
    check_any_takes(terms.sampling, candidates, question=terms.question)


def _change_settings(terms: Terms, change: ChangeRequest, settings: Settings) -> Settings:
    """The settings for a plan that changes a workflow: it may have as many steps."""
    _check_runs(terms.model, change.workflow, terms.workers)
    _check_candidates(terms)
    most = min(MAX_WRITTEN_STEPS, max(settings.max_steps, len(change.workflow)))
    return settings.model_copy(update={"max_steps": most, "rounds": 1, "attempts": 1})


def _as_it_is(terms: Terms, workflow: Workflow) -> Workflow:
    """A workflow that is run without a plan, with what the request asks of its final step."""
    _check_runs(terms.model, workflow, terms.workers)
    if terms.question.answers > 1 and workflow.final in workflow.pins:
        raise unsupported("n", "the output of the final step is pinned, so every answer is the same.")
    if workflow.gates and not terms.stored:
        raise unsupported("store", "the workflow waits at a gate; what is not stored cannot go on.")
    if terms.request.steering.workflow is None:
        workflow = without_offer(workflow)
    return terms.finished(workflow)


def _check_length(request: ApiRequest, question: Question, model: Model) -> None:
    """Raise `ApiError` where the messages before the question are too long.

    A worker alone gets the question as one more message: it counts with the others, without a separate
    limit. Messages of earlier responses count as well; no schema of a request limits those.
    """
    history = question.history
    characters = history.characters + (len(question.query) if model.kind == "worker" else 0)
    for number, most, what in (
        (characters, MAX_CONVERSATION, "characters"),
        (len(history.turns) + len(history.following), MAX_MESSAGES, "messages"),
    ):
        if number > most:
            message = (
                f"The conversation has {number:,} {what}; the limit is {most:,}. Leave out its beginning."
            )
            raise ApiError(message, param=request.query_parameter, code="context_length_exceeded")


def _check_attachments(request: ApiRequest, history: Conversation) -> None:
    """Raise `ApiError` where images or files are too many together, those of earlier responses included."""
    code = "images_too_large"
    try:
        check_images(history.pictures)
        code = "files_too_large"
        check_files(history.attached)
    except ValueError as fault:
        raise ApiError(str(fault), param=request.query_parameter, code=code) from None


# -- workers ---------------------------------------------------------------------------------------


def _allowed(
    steering: Steering, principal: Principal, cards: Mapping[str, WorkerCard]
) -> tuple[str, ...] | None:
    """The workers that may be used, in the pool's or the request's order; None for all."""
    for param, names in (("workers", steering.workers or ()), ("exclude", steering.exclude)):
        for at, name in enumerate(names):
            if name not in cards:
                own = ", ".join(name for name, card in cards.items() if principal.may_use(card))
                message = f"The pool has no worker {name[:200]!r}; it has {own}."
                raise ApiError(message, param=f"conductor.{param}.{at}", code="unknown_worker")
    if steering.workers is None and not steering.exclude and principal.workers is None:
        return None
    choice = dict.fromkeys(steering.workers or cards)
    permitted = [name for name in choice if principal.may_use(cards[name])]
    left = tuple(name for name in permitted if name not in steering.exclude)
    if left and all(cards[name].nested for name in left):
        message = f"{left[0]} does its steps by workflows of other workers; allow one of those as well."
        raise ApiError(message, param="conductor.workers", code="no_worker_left")
    if left:
        return left
    if not permitted:
        which = ", ".join(steering.workers or ()) or "the workers of this pool"
        message = f"This token may use none of {which}; request another token from its issuer."
        raise forbidden(message, param="conductor.workers")
    message = "No worker is left to plan with; exclude fewer of them."
    raise ApiError(message, param="conductor.exclude", code="no_worker_left")


def forbidden(message: str, *, param: str) -> ApiError:
    """The token may not use a worker."""
    return ApiError(message, status=403, param=param, code="worker_not_allowed")


# -- workflow --------------------------------------------------------------------------------------


async def _subject(
    terms: Terms, principal: Principal, backend: Backend
) -> Workflow | Revision | ChangeRequest | None:
    """What the request is about: a workflow that is run as it is, the revision whose run waits for results of
    tools that the request has, a change of a workflow, or None: the Conductor plans one.
    """
    waiting = await _waiting(terms, principal, backend)
    workflow = None if waiting is not None else await _workflow(terms, principal, backend)
    if terms.request.steering.change is not None:
        return _change(terms.request.steering.change, workflow, terms.model)
    return waiting or workflow


async def _workflow(terms: Terms, principal: Principal, backend: Backend) -> Workflow | None:
    """The workflow that the request carries or that its model is, None for a Conductor."""
    carried, model = terms.request.steering.workflow, terms.model
    if carried is not None:
        if (model.kind, model.mode, model.planner) != ("conductor", "standard", None):
            message = (
                f"A workflow is not for the model {terms.request.model!r}; send it to the model 'conductor'."
            )
            raise ApiError(message, param="conductor.workflow", code="unsupported_parameter")
        # Refused for the same reasons as a file.
        return read_plan(json.dumps(carried)).workflow
    if model.kind == "conductor":
        return None
    if terms.alone:
        return Workflow.of([Step(instruction=STRAIGHT, worker=model.id)])
    stored = await backend.look_up(visible.workflow, model.id, token=principal.token)
    if stored is None:
        raise unknown_model(terms.request.model)
    if not principal.may_run(stored.workflow, terms.workers.cards):
        raise forbidden("This token may not use all workers of this workflow.", param="model")
    return stored.workflow


async def _waiting(terms: Terms, principal: Principal, backend: Backend) -> Revision | None:
    """The revision whose run waits for the results of tools that the request has, if one does.

    A worker alone is sent its messages, and a request that is not to be stored continues no stored session.
    """
    question = terms.question
    if not question.history.following or terms.alone:
        return None
    return await backend.look_up(
        calls.waiting_revision,
        question.query,
        question.history,
        token=principal.token,
        stored=terms.stored,
    )


def _change(wish: str, workflow: Workflow | None, model: Model) -> ChangeRequest:
    """What the Conductor is asked to change. Raises `ApiError` without a workflow, and for an empty wish."""
    if workflow is None or model.kind == "worker":
        raise unsupported(
            "conductor.change",
            "there is no workflow to change; send one in conductor.workflow, or name one as the model.",
        )
    try:
        return ChangeRequest(workflow=without_offer(workflow), wish=check_wish(wish))
    except QueryError as error:
        raise ApiError(str(error), param="conductor.change", code="invalid_value") from error


def _check_unplanned(request: ApiRequest) -> None:
    """Raise `ApiError` for what steers planning, where a workflow is given."""
    for name in ("max_steps", "rounds"):
        if getattr(request.steering, name) is not None:
            raise unsupported(f"conductor.{name}", "nothing is planned, the workflow runs once.")


def _check_runs(model: Model, workflow: Workflow, workers: RequestWorkers) -> None:
    """Raise `ApiError` where the pool or the request's limits do not allow this workflow."""
    cards, allowed = workers.cards, workers.allowed
    if model.kind == "worker" and (model.id not in cards or is_computed(cards[model.id])):
        raise unknown_model(f"worker:{model.id}")
    for worker in workflow.workers():
        limited = allowed is not None and worker not in allowed
        if limited and worker in cards and not is_computed(cards[worker]):
            message = f"The workflow needs the worker {worker!r}, which this request may not use."
            raise forbidden(message, param="model")
    workflow.check_workers(workers.own)


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
    if effort is None or request.workers_effort is not None:
        return model.mode
    mode = _EFFORTS.get(effort)
    if mode is None:
        efforts = ", ".join(_EFFORTS)
        raise unsupported(request.effort_parameter, f"{request.model} plans with one of {efforts}.")
    if request.model != "conductor" and mode != model.mode:
        raise unsupported(
            request.effort_parameter, f"{request.model} is that already; ask for the model conductor."
        )
    return mode


def narrower(budget: RequestBudget | Budget, allowed: Budget | None) -> Budget:
    """The budget of the request, but no more than the token allows."""
    limits = budget.model_dump()
    for name, most in (allowed.model_dump() if allowed is not None else {}).items():
        if most is not None:
            limits[name] = most if limits[name] is None else min(limits[name], most)
    return Budget(**limits)
