"""A small Conductor that runs in this program, and hands over to the rules what it was not trained for.

Knows its folder's model and card, the prompt, and the rules. It never plans in silence where it is not at
home: a `HandedOver` comes before the rules' text, with the reason.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Collection, Sequence
from pathlib import Path

import numpy as np

from conductor.errors import FormatError, PlanError, PoolError
from conductor.llama.numpy_llama import Written
from conductor.planner.conductor import OutgoingPrompt, PlanRequest
from conductor.planner.local.card import ConductorCard, read_card
from conductor.planner.local.local_prompt import NameMask, prompt_text, question_text
from conductor.planner.rule_planner import NO_WISHES, OfflineConductor
from conductor.values.messages import Completion, Delta, Message, Part
from conductor.workers.local_model import usage_of
from conductor.workers.pool.schema import LocalConductorTable
from conductor.workflow.plan_report import Dialect, HandedOver

_SECOND_TEMPERATURE = 1.0
"""Where a plan was refused: the likeliest one would be refused again."""


class LocalConductor:
    """Plans by the model of a folder. See `Conductor` for the protocol.

    Raises `PoolError` where the folder has no model or no card that can be read.
    """

    dialect: Dialect = "any"

    def __init__(self, entry: LocalConductorTable) -> None:
        model = entry.build()
        self.llama = model.llama
        self.trained = _card(model.folder)
        self.card = model.card.model_copy(update={"model": self.trained.name})
        self._temperature = entry.temperature
        self._mask = NameMask.of(self.llama.tokenizer, self.trained.workers)
        self._rules = OfflineConductor()

    def __repr__(self) -> str:
        return f"LocalConductor({self.card.name!r}, model={self.card.model!r})"

    async def stream(
        self, request: PlanRequest
    ) -> AsyncGenerator[OutgoingPrompt | HandedOver | Delta | Completion, None]:
        """See `Conductor.stream`. Raises `PlanError` where a plan is to be changed in words."""
        if request.change is not None:
            raise PlanError(
                f"{self.card.name} was trained to plan, and not to change a plan in words. {NO_WISHES}"
            )
        offered = self.offered(request)
        prompt = prompt_text(request.query, offered)
        yield OutgoingPrompt(messages=(Message(role="user", parts=(Part("query", prompt),)),), form="names")
        reason, completion = self.refusal(request), None
        if reason is None:
            attempt = len(request.rejected)
            tokens, written = await asyncio.to_thread(self.write, request.query, offered, attempt=attempt)
            completion = Completion(text=written.text, usage=usage_of(tokens, written))
            reason = None if request.rejected else self.doubt(written)
        if completion is not None and reason is None:
            yield Delta(text=completion.text)
            yield completion
            return
        card = self._rules.card
        yield HandedOver(planner=card.name, planner_kind=card.kind, reason=reason or "")
        notice = f"Handed over to the rules: {reason}\n\n"
        yield Delta(text=notice)
        async for item in self._rules.stream(request):
            if isinstance(item, Completion):
                usage = item.usage if completion is None else completion.usage
                yield Completion(text=notice + item.text, usage=usage)
            else:
                yield item

    def offered(self, request: PlanRequest) -> tuple[str, ...]:
        """The workers of the request that the model knows, in the order in which it was trained with them."""
        there = {card.name for card in request.workers}
        return tuple(name for name in self.trained.workers if name in there)

    def refusal(self, request: PlanRequest) -> str | None:
        """Why the model cannot plan at all for this request, None if it can."""
        name, offered = self.card.name, self.offered(request)
        if request.round > 1:
            return f"{name} was trained to plan one round."
        if not offered:
            names = ", ".join(self.trained.workers)
            return f"the pool has none of the workers that {name} was trained with ({names})."
        room = self.llama.config.max_position_embeddings - self.trained.max_tokens
        length = len(self.llama.read(prompt_text(request.query, offered)))
        if length > room:
            return f"the question with its pool has {length:,} tokens, and {name} reads {room:,} at most."
        return None

    def doubt(self, written: Written) -> str | None:
        """Why a plan is not taken, None if the model is as sure of question and plan as it is at home."""
        least = self.trained.least
        if not written.ended:
            return f"{self.card.name} did not end its plan within {self.trained.max_tokens} tokens."
        if least is None:
            return None
        far = f"far from what {self.card.name} was trained on"
        if written.read_mean is not None and written.read_mean < least.question:
            return f"the question is {far} ({_shares(written.read_mean, least.question)})."
        if self._temperature == 0 and written.mean < least.plan:
            return f"its plan would be a guess, {far} ({_shares(written.mean, least.plan)})."
        return None

    def write(self, query: str, workers: Sequence[str], *, attempt: int = 0) -> tuple[list[int], Written]:
        """The prompt's tokens and what the model writes for a query and the names of a pool that it knows."""
        prompt = self.llama.read(prompt_text(query, workers))
        absent = self._mask.forbidden(workers)

        def forbidden(tokens: Sequence[int]) -> Collection[int]:
            return () if self._mask.ends.intersection(tokens) else absent

        written = self.llama.write(
            prompt,
            most=self.trained.max_tokens,
            forbidden=forbidden,
            measured=len(self.llama.read(question_text(query))),
            temperature=max(self._temperature, _SECOND_TEMPERATURE) if attempt else self._temperature,
            draw=np.random.default_rng(attempt if attempt else None),
        )
        return prompt, written


def _card(folder: Path) -> ConductorCard:
    try:
        return read_card(folder)
    except FormatError as error:
        raise PoolError(str(error)) from error


def _shares(mean: float, least: float) -> str:
    """Mean logarithms as geometric means of probabilities, in per cent."""
    here, there = (f"{100 * math.exp(value):.2g} %" for value in (mean, least))
    return f"its tokens had a mean probability of {here}, at home at least {there}"
