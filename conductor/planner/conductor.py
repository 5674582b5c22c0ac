"""The Conductor as the planner sees it: a card, a dialect, and a stream of text for a planning request.

Knows neither how a completion is read (parse) nor who writes it.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import Protocol

from conductor.runs.request import ChangeRequest
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.message_parts.tools import ToolOffer
from conductor.values.messages import Completion, Delta, Message, Retried, SeenResponse, Thought, Value
from conductor.workers.protocol import PromptStyle, WorkerCard
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import Dialect, Form, HandedOver, PlanReport, ToolsOfWorkers

MAX_PLANNED_STEPS = 5
"""The published Conductor's limit on the steps of a plan."""


@dataclass(frozen=True)
class SolvedExample:
    """A question, and a workflow whose answer to it was right."""

    question: str
    workflow: Workflow


class PlanRequest(Value):
    """What a Conductor is sent: the query, the numbered pool (from 0) and the limit on steps.

    From `round` 2 on, `previous` is the workflow of the round before and `responses` what its steps
    answered. `rejected` are this round's earlier completions, none of them valid, oldest first.
    `economical` requires the cheapest of `workers` that can do a step. `conversation` holds the messages
    before the query, and the last step's worker may call the `tools`. With a `change` the Conductor writes no
    plan from nothing, but a changed one. `strict`: its lists are read without repairs, see `parse`.
    `varied`: other plans are requested for the same question, so they should differ. `examples` take the
    place of a prompt's own ones, `instruction` that of its sentences on how to plan; a Conductor without a
    prompt passes both over.
    """

    query: str
    workers: tuple[WorkerCard, ...]
    max_steps: int = MAX_PLANNED_STEPS
    round: int = 1
    previous: Workflow | None = None
    responses: tuple[SeenResponse, ...] = ()
    rejected: tuple[PlanReport, ...] = ()
    economical: bool = False
    conversation: Conversation = NO_CONVERSATION
    tools: ToolOffer | None = None
    change: ChangeRequest | None = None
    strict: bool = False
    varied: bool = False
    examples: tuple[SolvedExample, ...] = ()
    instruction: str = ""

    def tools_for(self, style: PromptStyle) -> ToolsOfWorkers:
        """What a Conductor with prompts of this style may name for a step: nothing where no worker has tools,
        or it was trained on plans without them.
        """
        knows = style != "research" and not self.strict and any(card.tools for card in self.workers)
        return tuple(card.tools for card in self.workers) if knows else ()


class OutgoingPrompt(Value):
    """The messages that go out now, the form in which the plan is requested, and the tools that they list.

    A Conductor that calls a model yields it before each try; the last one counts.
    """

    messages: tuple[Message, ...]
    form: Form = "lists"
    tools: ToolsOfWorkers = ()


class Planned(Value):
    """The workflow of a Conductor that computes its plan; what it writes besides is shown and not parsed."""

    workflow: Workflow


class Conductor(Protocol):
    """A writer of workflows."""

    @property
    def card(self) -> WorkerCard: ...

    @property
    def dialect(self) -> Dialect: ...

    def stream(
        self, request: PlanRequest
    ) -> AsyncIterable[OutgoingPrompt | Planned | HandedOver | Delta | Thought | Retried | Completion]:
        """Write a completion for `request`; raises a `ConductorError` when there is none.

        A `HandedOver` comes before the text that another planner writes.
        """
        ...
