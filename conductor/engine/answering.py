"""One call of a worker: its stream read to the completion, its text handed on in batches.

Knows the worker protocol, no step and no event.
"""

from __future__ import annotations

from collections.abc import Callable

from conductor.engine.deltas import DeltaBatch
from conductor.errors import WorkerError
from conductor.messages import Completion, Delta, Request, Retried, Thought
from conductor.workers.protocol import FellBack, Inner, Worker

Note = Retried | FellBack | Inner
"""What a worker tells of its side, beside text."""


async def answer(
    worker: Worker,
    request: Request,
    *,
    say: Callable[[str], None],
    think: Callable[[str], None],
    note: Callable[[Note], None],
) -> Completion:
    """What `worker` answers. Raises what it raises, and `WorkerError` where its stream has no completion.

    Text and thoughts are handed on as they come, but what the completion holds as well: of an answer that
    comes whole nothing is handed on, and of a broken one everything.
    """
    said, thought = DeltaBatch(say), DeltaBatch(think)
    stream = worker.stream(request)
    try:
        async for item in stream:
            if isinstance(item, Delta):
                said.add(item.text)
            elif isinstance(item, Completion):
                thought.drop()
                said.drop()
                return item
            elif isinstance(item, Thought):
                thought.add(item.text)
            else:
                note(item)
    finally:
        thought.flush()
        said.flush()
        # A plain async iterator has no aclose; every worker of ours is a generator and must be closed.
        await stream.aclose()  # type: ignore[attr-defined]
    raise WorkerError(f"{worker.card.name} stopped without ending its answer; run the step again.")
