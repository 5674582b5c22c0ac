"""`kind = "shout"` of a `[[worker]]` table: repeats its instruction in capitals."""

from collections.abc import AsyncIterator

from conductor import Completion, Request, Worker, WorkerCard
from conductor.workers.pool.table import WorkerTable


class ShoutTable(WorkerTable):
    mark: str = "!"

    def build(self) -> Worker:
        return Shout(self)


class Shout:
    def __init__(self, table: ShoutTable) -> None:
        self.card = WorkerCard(
            name=table.name, kind="simulated", strengths="shouts", model="shout", parameters=table.mark
        )

    async def stream(self, request: Request) -> AsyncIterator[Completion]:
        yield Completion(text=request.instruction.upper() + self.card.parameters)
