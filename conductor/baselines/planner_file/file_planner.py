"""A planner by its file: the Conductor with solved questions in its prompt, or the nearest question's plan.

Knows the protocol of planners and the file. A question that is like none of the file's is handed over to the
Conductor, visibly; so are later rounds and changes in words.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from textwrap import shorten
from typing import TYPE_CHECKING

from conductor.baselines.encoder import CountedEmbeddings, Encoder
from conductor.baselines.planner_file.planner_file import PlannerFile
from conductor.errors import PlanError
from conductor.planner.conductor import (
    Conductor,
    OutgoingPrompt,
    Planned,
    PlanRequest,
    SolvedExample,
)
from conductor.text.formatting import quantity
from conductor.values.messages import NOTHING_USED, Completion, Delta, Retried, Thought, Usage
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.plan_report import Dialect, HandedOver

if TYPE_CHECKING:
    from conductor.baselines.learning.vectors import Matrix
    from conductor.baselines.planner_file.plan_choice import Neighbour, PlanChoice

PREFIX = "planner:"

IN_PROMPT = 3
"""Examples in a prompt."""

_QUOTED = 80

_UNLIKE = "No question that was solved is like this one."

Item = OutgoingPrompt | Planned | HandedOver | Delta | Thought | Retried | Completion


@dataclass(frozen=True)
class FilePlanner:
    """A Conductor that plans by what `file` knows, under that `name`; `base` is the pool's own Conductor. See
    `Conductor` for the protocol.
    """

    name: str
    file: PlannerFile
    base: Conductor
    pool: Pool | None = None

    @property
    def card(self) -> WorkerCard:
        about = (
            f"Plans as {quantity(self.file.solved, 'solved question')} of {self.file.card.data} taught it"
            f"{f', by {self.base.card.name}' if self.file.use == 'prompt' else ''}."
        )
        if self.file.use == "prompt":
            return self.base.card.model_copy(update={"name": self.name, "strengths": about})
        kind = "model" if self.file.encoder.kind == "endpoint" else "offline"
        return WorkerCard(name=self.name, kind=kind, strengths=about, model=f"planner/{self.name}")

    @property
    def dialect(self) -> Dialect:
        return self.base.dialect if self.file.use == "prompt" else "any"

    def check(self) -> None:
        """Raise `PlanError` where it cannot plan for this pool, whatever the question."""
        if self.pool is not None:
            self.file.check_pool([self.pool.cards[name] for name in self.pool.names])
        _ = self._client()

    async def stream(self, request: PlanRequest) -> AsyncIterator[Item]:
        """Raises `PlanError` for another pool than it learnt on, `WorkerError` where a question cannot be
        embedded.
        """
        self.file.check_pool(request.workers)
        if request.round > 1 or request.change is not None:
            async for item in self.base.stream(request):
                yield item
            return
        client = self._client()
        near = await self._near(request.query, client)
        used = NOTHING_USED if client is None else client.used
        plans = self._offered(request)
        if self.file.use == "prompt":
            examples = self._examples(near, plans)
            if not examples:
                yield self._handed_over(_UNLIKE)
            async for item in self.base.stream(request.model_copy(update={"examples": examples})):
                yield _with_more(item, used)
            return
        from conductor.baselines.planner_file.plan_choice import choose  # noqa: PLC0415 - it brings numpy

        choice = choose(self.file, near, plans)
        plan = None if choice is None else self.file.plans[choice.plan]
        if choice is None or plan is None or plan.workflow is None:
            reason = _UNLIKE if choice is None else f"Its plans were right on {_counts(choice, near)}."
            yield self._handed_over(reason)
            async for item in self.base.stream(request):
                yield _with_more(item, used)
            return
        first = self.file.questions[near[0].question].question
        words = (
            f"The plan of {plan.origin}: right on {_counts(choice, near)}. The nearest one: {_quoted(first)} "
            f"({near[0].similarity:.2f})."
        )
        yield Delta(text=words)
        yield Planned(workflow=plan.workflow)
        yield Completion(text=words, usage=used)

    def _handed_over(self, reason: str) -> HandedOver:
        card = self.base.card
        return HandedOver(planner=card.name, planner_kind=card.kind, reason=reason)

    async def _near(self, query: str, client: CountedEmbeddings | None) -> tuple[Neighbour, ...]:
        from conductor.baselines.planner_file.plan_choice import neighbours  # noqa: PLC0415

        vector = await self.file.encoder.encode([query], client)
        questions = tuple(each.question for each in self.file.questions)
        if client is None:
            rows = _encoded(self.file.encoder, questions)
        else:
            rows = await self.file.encoder.encode(questions, client)
        return neighbours(vector, rows, most=self.file.neighbours)

    def _offered(self, request: PlanRequest) -> frozenset[int]:
        """The plans all of whose workers are offered."""
        names = {card.name for card in request.workers}
        return frozenset(
            at
            for at, plan in enumerate(self.file.plans)
            if plan.workflow is None or all(names.issuperset(step.workers) for step in plan.workflow.steps)
        )

    def _examples(self, near: Collection[Neighbour], plans: Collection[int]) -> tuple[SolvedExample, ...]:
        """The nearest solved questions with a plan that was right, the nearest last, next to the question."""
        from conductor.baselines.planner_file.plan_choice import best_right  # noqa: PLC0415

        examples = []
        for each in near:
            plan = best_right(self.file, each.question, plans)
            workflow = None if plan is None else self.file.plans[plan].workflow
            if workflow is not None:
                examples.append(SolvedExample(self.file.questions[each.question].question, workflow))
        return tuple(reversed(examples[:IN_PROMPT]))

    def _client(self) -> CountedEmbeddings | None:
        if self.file.encoder.kind == "tf-idf":
            return None
        client = None if self.pool is None else self.pool.embedding_client
        if client is None:
            raise PlanError(
                f"The planner {self.name} compares questions by {self.file.encoder.title}: write a table "
                "[embeddings] with base_url and model into the pool file."
            )
        return CountedEmbeddings(client)


@lru_cache(maxsize=8)
def _encoded(encoder: Encoder, questions: tuple[str, ...]) -> Matrix:
    """The rows of a file's questions, by TF-IDF: once for all that is planned by it."""
    from conductor.baselines.learning.vectors import weighted_counts  # noqa: PLC0415 - it brings numpy

    return weighted_counts(questions, encoder.weights)


def _with_more(item: Item, used: Usage) -> Item:
    return replace(item, usage=item.usage + used) if isinstance(item, Completion) else item


def _counts(choice: PlanChoice, near: Collection[Neighbour]) -> str:
    return f"{choice.right} of {choice.tried} of the {quantity(len(near), 'nearest question')}"


def _quoted(text: str) -> str:
    return f"“{shorten(text, _QUOTED, placeholder='…')}”"
