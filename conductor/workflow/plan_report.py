"""The report on a Conductor's completion: values only.

`planner/parsing/parse.py` makes them, events carry them, the store stores them, the app shows them. Spans are
[start, end) character offsets into the completion's text.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from conductor.values.messages import Value
from conductor.values.output import WorkerKind
from conductor.workflow.model import Workflow

Dialect = Literal["any", "binary", "position", "worker"]
"""How a Conductor writes access lists; a setting of the Conductor, never guessed from a plan."""

Form = Literal["lists", "json", "names"]
"""How a plan is written: three Python lists, one JSON object with an object a step, or three lists whose
model_id holds names instead of numbers.
"""

ToolsOfWorkers = tuple[tuple[str, ...], ...]
"""For each worker of a numbered pool what its steps may name as tools; empty: a plan names none."""

Span = tuple[int, int]

INTERRUPTED = "Planning was interrupted"
"""How the failure of a plan begins whose process ended while its Conductor was called."""


class PromptMessage(Value):
    """One chat message of a prompt, as sent."""

    role: Literal["system", "user", "assistant"]
    content: str


class PlanPrompt(Value):
    """What a Conductor was sent: the messages, and the form that its answer must have.

    `workers` are the pool's names as the messages number them, from 0, `tools` what these list of theirs;
    `form` is how the plan is to be written. `sent` is False where the Conductor is no model: the messages are
    those that one would have had.
    """

    messages: tuple[PromptMessage, ...]
    workers: tuple[str, ...]
    max_steps: int
    round: int = 1
    form: Form = "lists"
    tools: ToolsOfWorkers = Field(default=(), exclude_if=lambda tools: not tools)
    sent: bool = True


class HandedOver(Value):
    """Another planner wrote the plan in the place of the one that was asked: who, and why."""

    planner: str
    planner_kind: WorkerKind
    reason: str


class Repair(Value):
    """Something a model wrote loosely that was understood anyway: what kind, what exactly, where."""

    kind: str
    detail: str
    span: Span


class PlanProblem(Value):
    """A reason why a plan is not valid, and what to do; `step` is 0-based, None for the whole plan."""

    step: int | None
    message: str


class Candidate(Value):
    """One complete plan found in the text: a workflow, or the problems that make it invalid.

    `worker_indices` are the pool numbers as written, None for a worker without one; `written_access` is each
    step's entry as the Conductor wrote it, empty where the plan was computed. `return_previous` marks three
    empty lists in a later round.
    """

    span: Span
    workflow: Workflow | None = None
    worker_indices: tuple[int | None, ...] = ()
    written_access: tuple[str, ...] = ()
    return_previous: bool = False
    repairs: tuple[Repair, ...] = ()
    problems: tuple[PlanProblem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether this plan can be used."""
        return not self.problems


class PlanReport(Value):
    """Everything a completion gave: the raw text, the thinking, the reasoning, the plans.

    `text` is the completion as it came. `thinking` is the text of its `<think>` blocks, `reasoning` the
    rest of the text outside the chosen plan. `chosen` is the index of the candidate that counts: the
    last valid one, else the last one, None when no complete plan was found; then `problems` give the reasons.
    `prompt` is what the Conductor was sent, None if that was not stored. `request_id` is the provider's
    name of the call, None if it has no name. `handed_over` is set where another planner wrote the text.
    """

    text: str
    thinking: str = ""
    reasoning: str = ""
    dialect: Dialect = "any"
    candidates: tuple[Candidate, ...] = ()
    chosen: int | None = None
    problems: tuple[PlanProblem, ...] = ()
    prompt: PlanPrompt | None = None
    request_id: str | None = None
    handed_over: HandedOver | None = None

    @property
    def candidate(self) -> Candidate | None:
        """The candidate that counts, valid or not."""
        return None if self.chosen is None else self.candidates[self.chosen]

    @property
    def ok(self) -> bool:
        """Whether the completion gave something to act on: a workflow, or "return the previous answer"."""
        return not self.problems

    @property
    def workflow(self) -> Workflow | None:
        """The workflow that counts, None when there is none."""
        return self.candidate.workflow if self.ok and self.candidate else None

    @property
    def return_previous(self) -> bool:
        """Whether the Conductor's plan is to return the previous round's answer as it is."""
        return self.ok and self.candidate is not None and self.candidate.return_previous

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """The repairs of the candidate that counts."""
        return self.candidate.repairs if self.candidate else ()


class ValidPlan(PlanReport):
    """A report that has a workflow."""

    @property
    def workflow(self) -> Workflow:
        """The workflow that counts."""
        workflow = super().workflow
        assert workflow is not None, "what gave no workflow is a PlanError"
        return workflow

    def __repr__(self) -> str:
        return f"<ValidPlan: {self.workflow!r}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self.workflow._repr_html_()
