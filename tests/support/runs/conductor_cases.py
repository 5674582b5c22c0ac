"""A Conductor that writes what a test gives it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from conductor.planner.conductor import PlanRequest
from conductor.values.messages import Completion, Delta, Usage
from conductor.workers.protocol import WorkerCard
from conductor.workflow.plan_report import Dialect

KEEP = "It is good as it is.\n\nmodel_id = []\nsubtasks = []\naccess_list = []"
BROKEN = "model_id = [9]\nsubtasks = ['do']\naccess_list = [[]]"


def plan_text(*steps: tuple[int, str, str]) -> str:
    """The three lists of steps given as worker number, subtask and access entry as written."""
    numbers = ", ".join(str(number) for number, _, _ in steps)
    subtasks = ", ".join(f'"{subtask}"' for _, subtask, _ in steps)
    access = ", ".join(entry for _, _, entry in steps)
    return f"model_id = [{numbers}]\nsubtasks = [{subtasks}]\naccess_list = [{access}]"


@dataclass
class ScriptedConductor:
    """Gives its texts one after another, the last one again and again; remembers what it was asked."""

    texts: Sequence[str]
    usage: Usage = Usage(prompt_tokens=100, completion_tokens=10, cost=0.5)
    requests: list[PlanRequest] = field(default_factory=list)
    card: WorkerCard = WorkerCard(
        name="conductor", kind="simulated", strengths="plans as told", model="scripted"
    )
    dialect: Dialect = "any"

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        """See `Conductor.stream`."""
        text = self.texts[min(len(self.requests), len(self.texts) - 1)]
        self.requests.append(request)
        yield Delta(text=text)
        yield Completion(text=text, usage=self.usage)
