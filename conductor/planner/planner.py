"""Planning: call a Conductor, read what it wrote, report it in events.

Knows the Conductor's protocol and the parser; knows no pool beyond the cards, no engine, no store. An
invalid plan is never replaced by another: the report gives the reason, and the user chooses.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Protocol

from conductor.errors import ConductorError, QueryError, WorkerError, outage_of
from conductor.planner.conductor import Conductor, OutgoingPrompt, Planned, PlanRequest
from conductor.planner.parsing.parse import parse
from conductor.planner.prompt.prompt import plan_messages
from conductor.runs import events
from conductor.runs.event_queue import Record
from conductor.text.json_text import portable
from conductor.values.charge import Charge, total_of
from conductor.values.conversation import MAX_QUERY
from conductor.values.messages import NOTHING_USED, Completion, Message, Retried, Usage
from conductor.workers.stream import GRACE_SECONDS, read_stream
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import (
    Candidate,
    HandedOver,
    PlanPrompt,
    PlanReport,
    PromptMessage,
    ToolsOfWorkers,
)

_log = logging.getLogger(__name__)

MAX_WISH = 4_000
"""The most characters in which a change of a plan may be asked for."""


def check_query(query: str, *, most: int = MAX_QUERY) -> str:
    """The query without surrounding white space, as `portable` returns it.

    Raises `QueryError` when it is empty, or longer than `most` characters.
    """
    empty, long = "write a question or choose an example", "cut the material it refers to"
    return _checked("The query", query, most, empty=empty, long=long)


def check_wish(wish: str) -> str:
    """What is to be changed in a plan, as `check_query` returns a query; `QueryError` for a bad one."""
    empty, long = "write what to change in the plan", "edit the plan by hand"
    return _checked("The change", wish, MAX_WISH, empty=empty, long=long)


def _checked(what: str, text: str, most: int, *, empty: str, long: str) -> str:
    stripped = portable(text).strip()
    if not stripped:
        raise QueryError(f"{what} is empty; {empty}.")
    if len(stripped) > most:
        raise QueryError(
            f"{what} has {len(stripped):,} characters; the limit is {most:,}. Shorten it, or {long}."
        )
    return stripped


STOPPED = "Planning was stopped"
"""How the message of a `PlanningFailed` begins where planning did not fail, but was stopped."""

PlanningEnd = events.WorkflowPlanned | events.AnswerKept | events.PlanRejected | events.PlanningFailed
"""The events with which planning ends."""


class RequestCount(Protocol):
    """Counts the requests of a call; its methods return the charge of the one that has ended, or None.

    `refused`: the budget has no room for the next one, which is not made.
    """

    @property
    def refused(self) -> bool: ...

    def receive(self, text: str) -> None:
        """Another piece of the answer came."""
        ...

    def again(self, used: Usage | None) -> Charge | None:
        """The request has ended, and took this as far as known; another one follows."""
        ...

    def end(self, used: Usage | None = None, *, answer: str = "") -> Charge | None:
        """The last request has ended, and took this as far as known."""
        ...


class _Uncounted:
    """For a call whose requests are not counted."""

    refused = False

    def receive(self, text: str) -> None:
        """See `RequestCount.receive`."""

    def again(self, used: Usage | None) -> None:
        """See `RequestCount.again`."""

    def end(self, used: Usage | None = None, *, answer: str = "") -> None:
        """See `RequestCount.end`."""


async def plan(
    request: PlanRequest,
    *,
    conductor: Conductor,
    run: str,
    requests: RequestCount | None = None,
    stop: asyncio.Future[None] | None = None,
) -> AsyncGenerator[events.Event, None]:
    """Call `conductor` once; the last event is a `PlanningEnd`, unless `stop` is done before it comes.

    Events carry text in batches; `requests` counts every piece of it at once. A Conductor that ignores its
    cancellation is not waited for.
    """
    record = Record(run)
    asking = asyncio.create_task(_ask(request, conductor, record, requests or _Uncounted()))
    asking.add_done_callback(lambda _: record.close())

    def give_up(_: asyncio.Future[None]) -> None:
        asking.cancel()
        asyncio.get_running_loop().call_later(GRACE_SECONDS, record.close)

    if stop is not None:
        stop.add_done_callback(give_up)
    try:
        while True:
            while (event := record.take()) is not None:
                yield event
            if record.closed:
                break
            await record.more()
        if asking.done() and not asking.cancelled():
            asking.result()
    finally:
        if stop is not None:
            stop.remove_done_callback(give_up)
        if not asking.done():
            asking.cancel()
            await asyncio.wait({asking}, timeout=GRACE_SECONDS)


async def _ask(request: PlanRequest, conductor: Conductor, record: Record, requests: RequestCount) -> None:
    """Add the events of one attempt to the record."""
    card = conductor.card
    started = time.perf_counter()
    record.emit(
        events.PlanningStarted,
        query=request.query,
        planner=card.name,
        planner_kind=card.kind,
        round=request.round,
        attempt=len(request.rejected) + 1,
    )
    completion: Completion | None = None
    notes: list[OutgoingPrompt | Planned | HandedOver | Retried] = []
    failure, outage = f"{card.name} stopped without ending its plan; ask again.", None
    charges: list[Charge] = []
    used: Usage | None = None

    def ended(charge: Charge | None) -> Charge | None:
        charges.extend([] if charge is None else [charge])
        return charge

    def note(item: OutgoingPrompt | Planned | HandedOver | Retried) -> None:
        notes.append(item)
        if isinstance(item, Retried):
            own = item.model_dump(exclude={"used", "again"})
            record.emit(events.PlanningRetried, charge=ended(requests.again(item.used)), **own)
            if requests.refused:
                raise WorkerError(item.message)

    try:
        completion = await read_stream(
            conductor.stream(request),
            on_text=lambda piece: record.emit(events.PlanningDelta, text=piece.text),
            on_thought=lambda it: record.emit(events.PlanningThought, text=it.text, recalls=it.recalls),
            note=note,
            count=requests.receive,
        )
    except ConductorError as error:
        failure, outage = str(error), outage_of(error)
        # Another error is that of a plan for which no request was sent.
        used = error.used if isinstance(error, WorkerError) else NOTHING_USED
    except asyncio.CancelledError:
        # A Conductor may also raise it unasked.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        failure = f"{card.name} cancelled its own call; ask again."
    except Exception as error:  # noqa: BLE001 - a Conductor is foreign code; its fault is no plan, not a crash
        _log.exception("the Conductor %s broke", card.name)
        failure = f"{card.name} broke with {type(error).__name__}, a fault of its program; ask again."
        outage = outage_of(error)
    if completion is None:
        record.emit(events.PlanningFailed, message=failure, outage=outage, charge=requests.end(used))
        return
    report = _report(request, conductor, completion, notes)
    charge = ended(requests.end(completion.usage, answer=completion.text))
    usage = total_of(charges).usage if len(charges) > 1 else completion.usage
    seconds = time.perf_counter() - started
    spent: dict[str, Any] = {"report": report, "usage": usage, "charge": charge, "seconds": seconds}
    if not report.ok:
        record.emit(events.PlanRejected, **spent)
    elif report.return_previous:
        reason = report.reasoning or "The Conductor gave no reason."
        record.emit(events.AnswerKept, **spent, reason=reason)
    else:
        record.emit(events.WorkflowPlanned, **spent)


def _report(
    request: PlanRequest,
    conductor: Conductor,
    completion: Completion,
    notes: Sequence[OutgoingPrompt | Planned | HandedOver | Retried],
) -> PlanReport:
    """The report of a completion, with its prompt, its thinking, and the other planner that wrote it."""
    prompt = next((item for item in reversed(notes) if isinstance(item, OutgoingPrompt)), None)
    computed = next((item.workflow for item in notes if isinstance(item, Planned)), None)
    # A planner that was handed the question may hand it on.
    other = next((item for item in reversed(notes) if isinstance(item, HandedOver)), None)
    # The prompt of the planner that wrote it requires a form; the one before it was another's.
    is_asked = other is None or (prompt is not None and notes.index(prompt) > notes.index(other))
    if computed is not None:
        report = _computed_report(completion.text, computed, request)
    else:
        report = parse(
            completion.text,
            workers=[worker.name for worker in request.workers],
            dialect=conductor.dialect,
            max_steps=request.max_steps,
            round=request.round,
            form=prompt.form if prompt is not None and is_asked else "lists",
            tools=_tools(request, conductor, prompt) if is_asked else (),
            strict=request.strict and is_asked,
            cut=completion.finish_reason == "length",
        )
    thinking = "\n\n".join(filter(None, (completion.reasoning, report.thinking)))
    about: dict[str, object] = {
        "prompt": _prompt(request, conductor, prompt),
        "request_id": completion.request_id,
    }
    about |= {"handed_over": other}
    return report.model_copy(update={"thinking": thinking, **about})


def _tools(request: PlanRequest, conductor: Conductor, prompt: OutgoingPrompt | None) -> ToolsOfWorkers:
    """What the plan may name for a step: of a Conductor that sends no prompt, what one would have listed."""
    return request.tools_for(conductor.card.prompt_style) if prompt is None else prompt.tools


def _computed_report(text: str, workflow: Workflow, request: PlanRequest) -> PlanReport:
    """The report of a workflow that was computed; the limit on the steps of a written plan is not its."""
    numbers = {worker.name: number for number, worker in enumerate(request.workers)}
    candidate = Candidate(
        span=(len(text), len(text)),
        workflow=workflow,
        worker_indices=tuple(numbers.get(step.worker) for step in workflow.steps),
    )
    return PlanReport(text=text, reasoning=text.strip(), candidates=(candidate,), chosen=0)


def messages_for(request: PlanRequest, conductor: Conductor) -> tuple[Message, ...]:
    """What a Conductor is sent, or would be if it called a model."""
    return plan_messages(
        request,
        dialect=conductor.dialect,
        style=conductor.card.prompt_style,
        room_to_think=True,
        wording=conductor.card.wording,
    )


def _prompt(request: PlanRequest, conductor: Conductor, prompt: OutgoingPrompt | None) -> PlanPrompt:
    """The prompt that was sent; of a Conductor that calls no model, the one that a model would have had."""
    sent = prompt or OutgoingPrompt(
        messages=messages_for(request, conductor), tools=_tools(request, conductor, prompt)
    )
    return PlanPrompt(
        messages=tuple(PromptMessage(role=each.role, content=each.content) for each in sent.messages),
        workers=tuple(card.name for card in request.workers),
        max_steps=request.max_steps,
        round=request.round,
        form=sent.form,
        tools=sent.tools,
        sent=prompt is not None,
    )
