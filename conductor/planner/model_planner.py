"""A language model as the Conductor: any endpoint with OpenAI's chat completions.

Knows prompts and constraints; the client makes the calls. A plan is held to the strictest constraint that
the endpoint accepts, and a `Retried` in the stream reports each weaker one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from conductor.errors import WorkerError
from conductor.planner.prompt.prompt import plan_messages
from conductor.planner.prompt.structured_output import MAX_REGEX_STEPS, Constraint, PlanBounds
from conductor.planner.protocol import Asked, PlanRequest
from conductor.values.messages import CallDelta, Completion, Delta, Retried, Thought
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.endpoint.tokens import check_context
from conductor.workers.pool.schema import ConductorTable
from conductor.workflow.plan_report import Form

_Item = Delta | Thought | Retried | Completion

_LISTING_SECONDS = 10.0
_NO_LIST = frozenset((404, 405, 501))

_REFUSED_BY_NAME: Mapping[Constraint, tuple[str, ...]] = {
    "regex": ("structured_outputs", "regex", "Regex", "grammar"),
    "json": ("response_format", "json_schema", "schema", "structured"),
    "none": (),
}
"""What a server's refusal names when it is the constraint that it does not take."""

_INSTEAD: Mapping[Constraint, str] = {
    "regex": "with a regular expression",
    "json": "with a JSON Schema instead, which cannot keep a step from reading a later one",
    "none": "without a constraint, so its plan may come out invalid",
}


class ModelConductor:
    """A served model that plans. See `Conductor` for the protocol.

    `room_to_think` lets it write some reasoning before the plan. `max_instruction` bounds instructions, for
    models that would never end one; see `PlanBounds`.
    """

    def __init__(
        self, entry: ConductorTable, *, room_to_think: bool = True, max_instruction: int | None = None
    ) -> None:
        served = entry.build()
        self.client = served.client
        self.card = served.card
        self.dialect = entry.dialect
        self._constrain = entry.constrain
        self._room_to_think = room_to_think
        self._max_instruction = max_instruction
        self._is_vllm: bool | None = None
        self._refused: set[Constraint] = set()

    def __repr__(self) -> str:
        return (
            f"ModelConductor({self.card.name!r}, model={self.card.model!r}, endpoint={self.card.endpoint!r})"
        )

    async def stream(self, request: PlanRequest) -> AsyncGenerator[Asked | _Item, None]:
        """See `Conductor.stream`. A constraint that the endpoint refused is not tried again."""
        rungs, doubt = await self._rungs(request)
        attempt = 0
        if doubt:
            attempt += 1
            yield Retried(attempt=attempt, message=doubt, seconds=0)
        for at, constraint in enumerate(rungs):
            shown = False
            try:
                async with aclosing(self._asked(request, constraint)) as items:
                    async for item in items:
                        if isinstance(item, Retried):
                            shown = shown and not item.withdrawn
                            # Attempts are counted through all constraints.
                            attempt += 1
                            yield item.model_copy(update={"attempt": attempt})
                        else:
                            shown = shown or isinstance(item, Delta | Thought)
                            yield item
                return
            except EndpointFailure as failure:
                if (
                    shown
                    or constraint == rungs[-1]
                    or not any(map(failure.refuses, _REFUSED_BY_NAME[constraint]))
                ):
                    raise
                self._refused.add(constraint)
                attempt += 1
                stepped = f"{failure.reason}; asked again {_INSTEAD[rungs[at + 1]]}."
            yield Retried(attempt=attempt, message=stepped, seconds=0)

    async def _asked(
        self, request: PlanRequest, constraint: Constraint
    ) -> AsyncGenerator[Asked | _Item, None]:
        form: Form = "json" if constraint == "json" else "lists"
        messages = plan_messages(
            request,
            dialect=self.dialect,
            style=self.card.prompt_style,
            room_to_think=self._room_to_think,
            form=form,
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
        )
        yield Asked(messages=messages, form=form)
        stream = self.client.stream(
            messages, sampling=self.card.sampling, extra=bounds.parameters(constraint)
        )
        async with aclosing(stream) as items:
            async for item in items:
                # A planner is offered no tools, so it calls none.
                if not isinstance(item, CallDelta):
                    yield self.card.priced(item) if isinstance(item, Completion) else item

    # -- constraints -------------------------------------------------------------------------------

    async def _rungs(self, request: PlanRequest) -> tuple[list[Constraint], str]:
        """The constraints to try, strictest first, and what could not be found out about them ("": nothing).

        What the pool file sets is tried alone. A checkpoint trained on the research layout thinks at length
        and in its own way, and then writes a plan: an expression would take the first and add nothing.
        """
        if self._constrain != "auto":
            if self._constrain == "regex" and request.max_steps > MAX_REGEX_STEPS:
                raise WorkerError(
                    f'{self.card.name} has constrain = "regex", which can hold plans of at most '
                    f"{MAX_REGEX_STEPS} steps, and {request.max_steps} are allowed; lower that limit, or "
                    'write constrain = "auto" in the pool file.'
                )
            return [self._constrain], ""
        if self.card.prompt_style == "paper":
            return ["none"], ""
        known: list[Constraint] = [each for each in ("json", "none") if each not in self._refused]
        if request.max_steps > MAX_REGEX_STEPS or "regex" in self._refused:
            return known, ""
        try:
            return ["regex", *known] if await self._serves_vllm() else known, ""
        except EndpointFailure as failure:
            return known, f"{failure.reason}, so it is not known to be vLLM; asked {_INSTEAD[known[0]]}."

    async def _serves_vllm(self) -> bool:
        """Whether the list of models is vLLM's. Raises `EndpointFailure` where that is unknown now."""
        if self._is_vllm is None:
            try:
                self._is_vllm = await self._listed_by_vllm()
            except EndpointFailure as failure:
                if failure.status not in _NO_LIST:
                    raise
                # vLLM has a list.
                self._is_vllm = False
        return self._is_vllm

    async def _listed_by_vllm(self) -> bool:
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
        return any(model.owner == "vllm" for model in ours or served)
