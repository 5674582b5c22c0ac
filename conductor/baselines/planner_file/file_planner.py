"""A planner by its file: the Conductor with solved questions in its prompt, or the nearest question's plan.

Knows the protocol of planners and the file. A question that is like none of the file's is handed over to the
Conductor, visibly; so are later rounds and changes in words.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from conductor.baselines.encoder import CountedEmbeddings, Encoder
from conductor.baselines.planner_file.planner_file import PlannerFile, read_planner
from conductor.errors import FormatError, PlanError
from conductor.planner.conductor import (
    Conductor,
    OutgoingPrompt,
    Planned,
    PlanRequest,
    SolvedExample,
)
from conductor.planner.model_planner import ModelConductor
from conductor.text.formatting import quantity
from conductor.values.messages import NOTHING_USED, Completion, Delta, Retried, Thought, Usage
from conductor.values.output import WorkerKind
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
    """A Conductor that plans by what the file at `path` knows when it plans, under that `name`; `base` is the
    pool's own Conductor. See `Conductor` for the protocol.
    """

    name: str
    path: Path
    base: Conductor
    pool: Pool | None = None

    @property
    def file(self) -> PlannerFile:
        """What it knows now. Raises `FormatError` where the file cannot be read."""
        return read_planner(self.path)

    @property
    def card(self) -> WorkerCard:
        """Of a file that cannot be read, which planning names, that of the Conductor under this name."""
        try:
            file = self.file
        except FormatError:
            return self.base.card.model_copy(update={"name": self.name})
        solved = quantity(file.solved, "solved question")
        if file.use == "prompt":
            about = f"Plans as {solved} of {file.card.data} taught it, by {self.base.card.name}."
            return self.base.card.model_copy(update={"name": self.name, "strengths": about})
        kind: WorkerKind = "model" if file.encoder.kind == "endpoint" else "offline"
        about = f"Plans as {solved} of {file.card.data} taught it."
        return WorkerCard(name=self.name, kind=kind, strengths=about, model=f"planner/{self.name}")

    @property
    def dialect(self) -> Dialect:
        return self.base.dialect

    def check(self) -> None:
        """Raise `PlanError` where it cannot plan for this pool, whatever the question, `FormatError` where
        its file cannot be read.
        """
        file = self.file
        if self.pool is not None:
            file.check_pool([self.pool.cards[name] for name in self.pool.names])
        self._check_texts(file)
        _ = self._client(file)

    def _check_texts(self, file: PlannerFile) -> None:
        if file.texts is not None and not isinstance(self.base, ModelConductor):
            raise PlanError(
                f"The planner {self.name} has texts for the prompt of a language model, and "
                f"{self.base.card.name} reads no prompt: name a model under [conductor] in the pool file."
            )

    async def stream(self, request: PlanRequest) -> AsyncIterator[Item]:
        """Raises `PlanError` for another pool than it learnt on, `WorkerError` where a question cannot be
        embedded.
        """
        file = self.file
        file.check_pool(request.workers)
        self._check_texts(file)
        if file.texts is not None:
            request = file.texts.applied(request)
        if request.round > 1 or request.change is not None:
            async for item in self.base.stream(request):
                yield item
            return
        client = self._client(file)
        vector, rows = await _encoded_with(file, request.query, client)
        near = _near(file, vector, rows)
        used = NOTHING_USED if client is None else client.used
        plans = _offered(file, request)
        if file.use == "prompt":
            examples = _examples(file, request.query, near, plans)
            if not examples and file.texts is None:
                yield self._handed_over(_UNLIKE)
            async for item in self.base.stream(request.model_copy(update={"examples": examples})):
                yield _with_more(item, used)
            return
        choice = _choice(file, near, plans)
        plan = None if choice is None else file.plans[choice.plan]
        if choice is None or plan is None or plan.workflow is None:
            reason = _UNLIKE if choice is None else f"Its plans were right on {_counts(choice, near)}."
            yield self._handed_over(reason)
            async for item in self.base.stream(request):
                yield _with_more(item, used)
            return
        first = file.questions[near[0].question].question
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

    def _client(self, file: PlannerFile) -> CountedEmbeddings | None:
        if file.encoder.kind == "tf-idf":
            return None
        client = None if self.pool is None else self.pool.embedding_client
        if client is None:
            raise PlanError(
                f"The planner {self.name} compares questions by {file.encoder.title}: write a table "
                "[embeddings] with base_url and model into the pool file."
            )
        return CountedEmbeddings(client)


_ROWS: dict[tuple[Encoder, tuple[str, ...]], Matrix] = {}
"""The rows of files' questions: made once for all that is planned by a file."""

_MOST_ROWS = 8


async def _encoded_with(
    file: PlannerFile, query: str, client: CountedEmbeddings | None
) -> tuple[Matrix, Matrix]:
    """The question's row, and those of the file's questions."""
    vector = await file.encoder.encode([query], client)
    questions = tuple(each.question for each in file.questions)
    key = file.encoder, questions
    rows = _ROWS.get(key)
    if rows is None:
        rows = await file.encoder.encode(questions, client)
        if len(_ROWS) >= _MOST_ROWS:
            _ROWS.clear()
        _ROWS[key] = rows
    return vector, rows


def _near(file: PlannerFile, vector: Matrix, rows: Matrix) -> tuple[Neighbour, ...]:
    from conductor.baselines.planner_file.plan_choice import neighbours, neighbours_by_plans  # noqa: PLC0415

    if _tries_all(file):
        return neighbours_by_plans(file, vector, rows)
    return neighbours(vector, rows, most=file.neighbours)


def _choice(file: PlannerFile, near: tuple[Neighbour, ...], plans: Collection[int]) -> PlanChoice | None:
    from conductor.baselines.planner_file.plan_choice import PRIOR, choose  # noqa: PLC0415 - it brings numpy

    return choose(file, near, plans, prior=0.0 if _tries_all(file) else PRIOR)


def _tries_all(file: PlannerFile) -> bool:
    """Whether all of its plans were tried on all questions, as only a search does."""
    return file.method == "search" and file.use == "nearest"


def _offered(file: PlannerFile, request: PlanRequest) -> frozenset[int]:
    """The plans all of whose workers are offered."""
    names = {card.name for card in request.workers}
    return frozenset(
        at
        for at, plan in enumerate(file.plans)
        if plan.workflow is None or all(names.issuperset(step.workers) for step in plan.workflow.steps)
    )


def _examples(
    file: PlannerFile, query: str, near: Collection[Neighbour], plans: Collection[int]
) -> tuple[SolvedExample, ...]:
    """The solved questions of the file's texts, else the nearest ones, with a plan that was right, the
    nearest last, next to the question.
    """
    from conductor.baselines.planner_file.plan_choice import best_right  # noqa: PLC0415 - it brings numpy

    chosen = () if file.texts is None else file.texts.examples
    places = [at for at, each in enumerate(file.questions) if each.question in chosen]
    examples = []
    for at in places or [each.question for each in near]:
        question = file.questions[at].question
        plan = best_right(file, at, plans)
        workflow = None if plan is None else file.plans[plan].workflow
        if workflow is not None and not (file.is_candidate and question.split() == query.split()):
            examples.append(SolvedExample(question, workflow))
    return tuple(reversed(examples[:IN_PROMPT]))


def _with_more(item: Item, used: Usage) -> Item:
    return replace(item, usage=item.usage + used) if isinstance(item, Completion) else item


def _counts(choice: PlanChoice, near: Collection[Neighbour]) -> str:
    return f"{choice.right} of {choice.tried} of the {quantity(len(near), 'nearest question')}"


def _quoted(text: str) -> str:
    return f"“{shorten(text, _QUOTED, placeholder='…')}”"
