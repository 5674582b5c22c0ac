"""One answer of a worker outside of a workflow, as of a judge: each request for it is admitted and charged.

Knows a meter and the stream of a worker; knows nothing of what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from conductor.engine.meter import Meter, Requests
from conductor.errors import WorkerError
from conductor.values.charge import Charge, Purpose
from conductor.values.messages import Request, Retried
from conductor.workers.pool.fallback import chain
from conductor.workers.protocol import FellBack, Worker, WorkerNote
from conductor.workers.stream import whole_answer
from conductor.workers.tools.tool_worker import without_tools

SPENT = "the budget is spent"


@dataclass(frozen=True)
class ChargedAnswer:
    """The `text`, None if there is none for this `failure`, and what each request took."""

    text: str | None
    failure: str = ""
    charges: tuple[Charge, ...] = ()


async def charged_answer(
    worker: Worker, request: Request, meter: Meter, *, purpose: Purpose
) -> ChargedAnswer:
    """What the worker answers without its tools; no text where it fails, or the budget has no room for it."""
    worker = without_tools(worker)
    prompt = [message.content for message in request.messages]
    cards = {each.card.name: each.card for each in chain(worker)}
    requests = Requests(meter, worker.card, lambda: prompt, purpose=purpose)
    if requests.refused:
        return ChargedAnswer(None, SPENT)
    charges: list[Charge] = []

    def note(charge: Charge | None) -> None:
        charges.extend([] if charge is None else [charge])

    def count_another(item: WorkerNote) -> None:
        assert isinstance(item, Retried | FellBack), "it has no tools"
        card = cards[item.worker] if isinstance(item, FellBack) else None
        note(requests.again(item.used, card=card))
        if requests.refused:
            raise WorkerError(f"{SPENT}, after: {item.message}")

    try:
        completion = await whole_answer(worker, request, note=count_another, receive=requests.receive)
    except WorkerError as error:
        note(requests.end(error.used))
        return ChargedAnswer(None, str(error), tuple(charges))
    note(requests.end(completion.usage, answer=completion.text))
    return ChargedAnswer(completion.text, charges=tuple(charges))
