"""What an answer is written from: a run of this process, or one that it reads from the store."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol

from conductor.runs.events import Event
from conductor.workers.pool.pool import Pool
from studio.api.answers.answer import Answer


class AnsweredRun(Protocol):
    """A request in its session; `answer` is what came so far. `started_at` is in Unix seconds.

    `continued`: the session is that of an earlier request, whose calls of tools this one has the results of.
    """

    @property
    def session(self) -> str: ...

    @property
    def answer_id(self) -> str:
        """The id of the answer, without its beginning."""

    @property
    def started_at(self) -> float: ...

    @property
    def answer(self) -> Answer: ...

    @property
    def pool(self) -> Pool: ...

    @property
    def continued(self) -> bool: ...

    @property
    def seconds(self) -> float: ...

    @property
    def url(self) -> str | None:
        """Where the session is in the app, or None."""

    @property
    def failure(self) -> Exception | None:
        """Once it is over: what ended it early, None if its events contain the reason or it was stopped."""

    @property
    def stopped(self) -> bool:
        """Once it is over: whether a stop broke it off. Of one that a run heeded, that run's end has it."""

    def progress(self) -> AsyncGenerator[tuple[Event, str], None]:
        """Each event with the text that it adds to the answer."""

    async def store(self, response: dict[str, Any]) -> dict[str, Any]:
        """The response as it is to be sent, which is stored."""
