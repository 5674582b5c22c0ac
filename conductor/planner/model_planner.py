"""A language model as the Conductor: any endpoint with OpenAI's chat completions.

Knows prompts and constraints; the client makes the calls. A plan is held to the strictest constraint that
the endpoint accepts, and a `Retried` in the stream reports each weaker one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from itertools import chain

from conductor.errors import WorkerError
from conductor.planner.conductor import OutgoingPrompt, PlanRequest
from conductor.planner.prompt.prompt import plan_messages
from conductor.planner.prompt.structured_output import MAX_REGEX_STEPS, Constraint, PlanBounds
from conductor.values.messages import NOTHING_USED, CallDelta, Completion, Delta, Retried, Thought
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.endpoint.tokens import check_context
from conductor.workers.pool.schema import ConductorTable, EmbeddedConductorTable
from conductor.workflow.plan_report import Form

_Item = Delta | Thought | Retried | Completion

PLAN_TEMPERATURE = 0.2
"""Of the same ten questions a small model planned nine well at 0 and four at its server's default of 1."""

_VLLM, _LLAMA = "vllm", "llamacpp"
_OWN_CONSTRAINTS: Mapping[str, Constraint] = {_VLLM: "regex", _LLAMA: "grammar"}
"""The strictest constraint that a server takes, by the owner in its list of models."""

_NAMES: Mapping[str, str] = {_VLLM: "vLLM", _LLAMA: "llama.cpp"}

_LISTING_SECONDS = 10.0
_NO_LIST = frozenset((404, 405, 501))

_REFUSED_BY_NAME: Mapping[Constraint, tuple[str, ...]] = {
    "regex": ("structured_outputs", "regex", "Regex", "grammar"),
    "grammar": ("grammar",),
    "json": ("response_format", "json_schema", "schema", "structured"),
    "none": (),
}
"""What a server's refusal names when it is the constraint that it does not take."""

_INSTEAD: Mapping[Constraint, str] = {
    "regex": "with a regular expression",
    "grammar": "with a grammar",
    "json": "with a JSON Schema instead, which cannot keep a step from reading a later one",
    "none": "without a constraint, so its plan may come out invalid",
}


_CONTINUED = {"continue_final_message": True, "add_generation_prompt": False}
"""By these vLLM goes on with an assistant's last message; other servers refuse them or need none."""


class ModelConductor:
    """A served model that plans. See `Conductor` for the protocol.

    `room_to_think` lets it write some reasoning before the plan. `max_instruction` bounds instructions, for
    models that would never end one; see `PlanBounds`. `answering` is the model as a worker, which
    answers what it is sent.
    """

    def __init__(
        self,
        entry: ConductorTable | EmbeddedConductorTable,
        *,
        room_to_think: bool = True,
        max_instruction: int | None = None,
    ) -> None:
        self.answering = entry.build()
        self.client = self.answering.client
        self.card = self.answering.card
        self.dialect = entry.dialect
        self._constrain = entry.constrain
        self._room_to_think = room_to_think
        self._max_instruction = max_instruction
        # What serves it, "" where that is neither of those with a constraint of their own.
        self._server: str | None = _LLAMA if isinstance(entry, EmbeddedConductorTable) else None
        self._temperature = _temperature(entry)
        self._refused: set[Constraint] = set()

    def __repr__(self) -> str:
        return (
            f"ModelConductor({self.card.name!r}, model={self.card.model!r}, endpoint={self.card.endpoint!r})"
        )

    async def stream(self, request: PlanRequest) -> AsyncGenerator[OutgoingPrompt | _Item, None]:
        """See `Conductor.stream`. A constraint that the endpoint refused is not tried again."""
        rungs, doubt = await self._rungs(request)
        attempt = 0
        if doubt:
            attempt += 1
            yield Retried(attempt=attempt, message=doubt, seconds=0, used=NOTHING_USED)
        for at, constraint in enumerate(rungs):
            has_text = False
            try:
                async with aclosing(self._call(request, constraint)) as items:
                    async for item in items:
                        if isinstance(item, Retried):
                            has_text = has_text and not item.withdrawn
                            # Attempts are counted through all constraints.
                            attempt += 1
                            yield item.model_copy(update={"attempt": attempt})
                        else:
                            has_text = has_text or isinstance(item, Delta | Thought)
                            yield item
                return
            except EndpointFailure as failure:
                if (
                    has_text
                    or constraint == rungs[-1]
                    or not any(map(failure.refuses, _REFUSED_BY_NAME[constraint]))
                ):
                    raise
                self._refused.add(constraint)
                attempt += 1
                used = failure.used
                stepped = f"{failure.reason}; asked again {_INSTEAD[rungs[at + 1]]}."
            yield Retried(attempt=attempt, message=stepped, seconds=0, used=used)

    async def _call(
        self, request: PlanRequest, constraint: Constraint
    ) -> AsyncGenerator[OutgoingPrompt | _Item, None]:
        form: Form = "json" if constraint in ("json", "grammar") else "lists"
        tools = request.tools_for(self.card.prompt_style)
        messages = plan_messages(
            request,
            dialect=self.dialect,
            style=self.card.prompt_style,
            room_to_think=self._room_to_think,
            form=form,
            wording=self.card.wording,
        )
        check_context(
            self.card,
            messages,
            self.card.sampling,
            call="this plan",
            advice="shorten the question, lower max_tokens, or serve a Conductor with a larger context",
        )
        bounds = PlanBounds(
            workers=len(request.workers),
            max_steps=request.max_steps,
            dialect=self.dialect,
            round=request.round,
            room_to_think=self._room_to_think,
            max_instruction=self._max_instruction,
            tools=tuple(dict.fromkeys(chain.from_iterable(tools))),
        )
        yield OutgoingPrompt(messages=messages, form=form, tools=tools)
        extra = dict(bounds.parameters(constraint))
        if self._temperature is not None and not request.varied:
            extra["temperature"] = self._temperature
        if messages[-1].role == "assistant" and self._server == _VLLM:
            extra |= _CONTINUED
        stream = self.client.stream(messages, sampling=self.card.sampling, extra=extra)
        async with aclosing(stream) as items:
            async for item in items:
                # A planner is offered no tools, so it calls none.
                if not isinstance(item, CallDelta):
                    yield self.card.priced(item)

    # -- constraints -------------------------------------------------------------------------------

    async def _rungs(self, request: PlanRequest) -> tuple[list[Constraint], str]:
        """The constraints to try, strictest first, and what could not be found out about them ("": nothing).

        What the pool file sets is tried alone; raises `WorkerError` where the server is known to pass it over
        in silence. A checkpoint trained on the research layout thinks at length
        and in its own way, and then writes a plan: an expression would take the first and add nothing.
        """
        prefill = self.card.prompt_style == "research"
        if self._constrain != "auto":
            if self._constrain == "regex" and request.max_steps > MAX_REGEX_STEPS:
                raise WorkerError(
                    f'{self.card.name} has constrain = "regex", which can hold plans of at most '
                    f"{MAX_REGEX_STEPS} steps, and {request.max_steps} are allowed; lower that limit, or "
                    'write constrain = "auto" in the pool file.',
                    used=NOTHING_USED,
                )
            rungs: list[Constraint] = [self._constrain]
        elif prefill:
            rungs = ["none"]
        else:
            rungs = [each for each in ("json", "none") if each not in self._refused]
        if self._constrain in ("json", "none") and not prefill:
            return rungs, ""
        try:
            server = await self._served_by()
        except EndpointFailure as failure:
            how = "to go on with the message that begins its answer" if prefill else _INSTEAD[rungs[0]]
            return rungs, f"{failure.reason}, so it is not known what serves it; asked {how}."
        own = _OWN_CONSTRAINTS.get(server)
        if self._constrain in _OWN_CONSTRAINTS.values() and own not in (None, self._constrain):
            raise WorkerError(
                f'{self.card.name} has constrain = "{self._constrain}", which {_NAMES[server]} does not '
                f'read; write constrain = "{own}" or "auto" in the pool file.',
                used=NOTHING_USED,
            )
        if self._constrain != "auto" or prefill or own is None or own in self._refused:
            return rungs, ""
        if own == "regex" and request.max_steps > MAX_REGEX_STEPS:
            return rungs, ""
        return [own, *rungs], ""

    async def _served_by(self) -> str:
        """The owner in the list of models: vLLM, llama.cpp, or "". Raises `EndpointFailure` where that is
        unknown now.
        """
        if self._server is None:
            try:
                self._server = await self._listed_owner()
            except EndpointFailure as failure:
                if failure.status not in _NO_LIST:
                    raise
                # Both have a list.
                self._server = ""
        return self._server

    async def _listed_owner(self) -> str:
        try:
            async with asyncio.timeout(_LISTING_SECONDS):
                served = await self.client.served()
        except TimeoutError:
            where = f"{self.card.name}: {self.client.endpoint.host}"
            raise EndpointFailure(
                f"{where} did not list its models within {_LISTING_SECONDS:g} seconds",
                advice="see whether the server is overloaded",
            ) from None
        ours = [model for model in served if model.name == self.card.model]
        owners = {model.owner for model in ours or served}
        return next((owner for owner in _OWN_CONSTRAINTS if owner in owners), "")


def _temperature(entry: ConductorTable | EmbeddedConductorTable) -> float | None:
    """The temperature to ask for, None if the pool file sets one, or the model reasons at its own."""
    reasons = isinstance(entry, ConductorTable) and entry.reasoning_effort is not None
    return None if reasons or entry.temperature is not None else PLAN_TEMPERATURE
