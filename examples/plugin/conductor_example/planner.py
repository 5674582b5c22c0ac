"""`kind = "two-readers"` of the `[conductor]` table: two workers answer, a third step compares."""

from collections.abc import AsyncIterator

from conductor import Completion, Step, WorkerCard, Workflow
from conductor.planner.conductor import Conductor, Planned, PlanRequest
from conductor.planner.format import write_steps
from conductor.workers.pool.table import PlannerTable
from conductor.workflow.plan_report import Dialect


class TwoReadersTable(PlannerTable):
    last: str = "Compare both answers, and answer the question."

    def build(self) -> Conductor:
        return TwoReaders(self)


class TwoReaders:
    dialect: Dialect = "any"

    def __init__(self, table: TwoReadersTable) -> None:
        self.last = table.last
        self.card = WorkerCard(name=table.name, kind="offline", strengths="plans", model="two-readers")

    async def stream(self, request: PlanRequest) -> AsyncIterator[Planned | Completion]:
        if request.round > 1:
            yield Completion(text=write_steps((), form="lists", reasoning="The answer stands."))
            return
        first, second = request.workers[0].name, request.workers[-1].name
        yield Planned(
            workflow=Workflow.of(
                [
                    Step(instruction="Answer the question.", worker=first),
                    Step(instruction="Answer the question.", worker=second),
                    Step(instruction=self.last, worker=first, access=(0, 1)),
                ]
            )
        )
        yield Completion(text="Two answer, one compares.")
